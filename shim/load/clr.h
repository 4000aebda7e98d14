/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * CLR, which is HIP's runtime above ROCr: whether its host code looks once more at packets that it
 * has handed over, and so at our signal in them (rule 10 of docs/shadow.md). Any thread; cold.
 */
#include <stdbool.h>
#include <stdint.h>

#include "shim/load/runtime.h"

/* HIP's dispatch table, as a library named "hip" registers it: its size is the first word. */
void clr_registered(const void *hip_table);

/*
 * Of those that are loaded at the moment, by what they are: the number in the file's name
 * (libamdhip64.so.7.2.53211), else the registered table, else by the release of ROCr below, @kind,
 * with which such a file came in one package. Asked for each queue, because HIP may come after
 * others have made queues.
 */
bool clr_reads_packets_back(enum runtime_kind kind);

/* The same by each of these alone. A release is 100 times its major version and its minor one. */
unsigned clr_release_of_file(const char *path); /* 0: it carries none */
unsigned clr_release_of_table(uint64_t bytes);	/* CLR_UNKNOWN: that of no release that was read */
bool clr_release_reads_back(unsigned release);

#define CLR_UNKNOWN 9999u
