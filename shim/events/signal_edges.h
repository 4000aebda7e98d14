/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What waits for what, by the signals of the program (mode barriers): packets and copies that
 * complete a signal or wait for some, and threads that have waited for one. Each becomes an event
 * (events.h) of a kind of HOST_CALLS_HSA. Any application thread may call, on the dispatch path
 * too; nothing here waits, allocates or makes a system call but that for a thread's first id.
 */
#include <stdbool.h>
#include <stdint.h>

#include <hsa/hsa.h>

struct packet_note;
struct copy;

/* Whether the mode asks for them. The functions below are called only then. */
bool signal_edges_are_recorded(void);

void signal_edge_of_packet(const struct packet_note *note);
void signal_edge_of_copy(const struct copy *copy);
/* The calling thread has waited for @signal since @start_ns (CLOCK_BOOTTIME), and has seen it. */
void signal_edge_of_wait(hsa_signal_t signal, uint64_t start_ns);
