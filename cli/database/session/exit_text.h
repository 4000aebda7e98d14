/* SPDX-License-Identifier: MIT */
#pragma once
/* How a process ended, as tables show it. Pure functions. */
#include <stdbool.h>
#include <stdint.h>

#define ENDED_BYTES 32

/*
 * Writes "exited 0", "killed by 9" or "exec". @ended is rtl_process.ended, or NULL if no end was
 * seen: then the process is "live" if a collector has the file open (@is_in_use), otherwise
 * "unknown". @status, valid if @has_status, is that of a shell: 128 plus the number of the signal,
 * but only for a process that was killed, since others may exit with 255, too.
 */
void ended_describe(
	const char *ended, bool has_status, int64_t status, bool is_in_use, char ret[ENDED_BYTES]);
