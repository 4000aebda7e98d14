/* SPDX-License-Identifier: MIT */
#pragma once
/* How a process ended, as tables say it. Pure. */
#include <stdbool.h>
#include <stdint.h>

#define ENDED_BYTES 32

/*
 * "exited 0", "killed by 9", "exec". @ended: rtl_process.ended; NULL: no end was seen, so the
 * process is "live" if a collector has the file open (@is_in_use), else "unknown". @status, if
 * @has_status: as in a shell, 128 and the number of the signal; only for a process that was killed,
 * since others may exit with 255, too.
 */
void ended_describe(
	const char *ended, bool has_status, int64_t status, bool is_in_use, char ret[ENDED_BYTES]);
