/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Whether a collector still has an output file: that of a job that runs, or of one that was just
 * ended and whose last rows are on their way. One thread; says on stderr when it waits.
 */
#include <sys/types.h>

/*
 * Waits, for some seconds at most, while a collector that no job holds has @path open, and not once
 * the user wants to end. 0: no process has the file; else the pid of the process that has it, -1 if
 * that is in another pid namespace.
 */
pid_t run_output_wait_unused(const char *path, const char *display);
