/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The shim's thread, with a socket that the test plays the collector on. Tests; asserts through
 * cmocka.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/send/worker.h"
#include "tests/shim/capture/synth.h"

#define WAIT_MS	    300000
#define BRIEF_NS    500000000u
#define DEADLINE_NS (WAIT_MS * 1000000ull)
#define TICK_HZ	    1000000000u

struct fixture {
	char directory[64];
	char path[96];
	int listener;
	unsigned sockets; /* that are not the shim's */
	struct identity identity;
	struct rank_info rank;
	struct agents agents;
	struct clock_source clocks;
	struct strings strings;
	struct capture *capture;
	struct synth_queue *queue; /* of those tests that have one */
	hsa_signal_t signal;
};

/* In libc's place: BOOTTIME as the test wants it, and a time at which every clock stands still. */
extern _Atomic int64_t boottime_offset_ns;
extern _Atomic uint64_t standing_ns;
/* The thread that ends the shim has looked at when it began to. */
extern __thread bool is_ending;
extern _Atomic bool has_begun;
/* The shim's thread is to wait where it begins or asks for the time, and does. */
extern _Atomic bool has_no_processor, is_kept;
/* The runtime does not say how fast the GPU counts. */
extern bool has_no_rate;

/* cmocka fixtures; the second: an end that gives up long before a doubt is over. */
int fixture_setup(void **state);
int fixture_setup_brief(void **state);
int fixture_teardown(void **state);

/* Descriptors of this process by what /proc calls them; the last of them. */
unsigned count_open(const char *kind, int *ret_last);
unsigned count_sockets(void);

/* The next connection; -1: none within @ms. */
int accept_next(const struct fixture *f, int ms);
/* Until so many frames are published. */
void wait_for_frame(const struct fixture *f, uint64_t number);
