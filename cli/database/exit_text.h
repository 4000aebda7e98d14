/* SPDX-License-Identifier: MIT */
#pragma once
/* How a process ended, as tables say it. Pure. */
#include <stdbool.h>
#include <stdint.h>

#define ENDED_BYTES 32

/*
 * "exited 0", "killed by 9", "exec". @ended: rtl_process.ended; NULL: nobody saw an end, so it is
 * "live" where somebody writes the file (@is_in_use), else "unknown". @status: as a shell has it,
 * 128 and the signal, where @has_status; but only of who was killed: others exit with 255, too.
 */
void ended_describe(
	const char *ended, bool has_status, int64_t status, bool is_in_use, char ret[ENDED_BYTES]);
