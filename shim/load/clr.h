/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Tells about CLR, HIP's runtime on top of ROCr: whether its host code reads packets again after it
 * has submitted them, and so sees our signal in them (docs/capture.md, rule 10). Any thread; cold.
 */
#include <stdbool.h>
#include <stdint.h>

#include "shim/load/runtime.h"

/* A library named "hip" has registered its dispatch table, whose first word is its size. */
void clr_registered(const void *hip_table);

/*
 * Whether one of the loaded CLRs does. The release is taken from the file's name
 * (libamdhip64.so.7.2.53211), else from the registered table, else from the release of ROCr, @kind,
 * with which it was packaged. Asked for each queue, because HIP may be loaded after other libraries
 * have created queues.
 */
bool clr_reads_packets_back(enum runtime_kind kind);

/* Each of these by itself. A release is 100 times its major version plus its minor one. */
unsigned clr_release_of_file(const char *path); /* 0 if the name has none */
/* CLR_UNKNOWN if it is that of no release that was examined */
unsigned clr_release_of_table(uint64_t bytes);
bool clr_release_reads_back(unsigned release);

#define CLR_UNKNOWN 9999u
