/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Clocks that a test sets while a process runs: RTL_CLOCKS names a file of this struct, which the
 * process maps. Linked into a program, its clock_gettime() takes libc's place; without RTL_CLOCKS
 * it is libc's. CLOCK_MONOTONIC is never touched: no program can set it.
 */
#include <stdint.h>

struct stepped_clocks {
	_Atomic int64_t realtime_ns; /* added to CLOCK_REALTIME: the clock was set */
	_Atomic int64_t boottime_ns; /* added to CLOCK_BOOTTIME: the machine was suspended */
};
