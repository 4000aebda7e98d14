/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Whether a collector still has an output file: that of a job that runs, or of one that was just
 * ended and whose last rows are on their way. One thread; says on stderr when it waits.
 */
#include <sys/types.h>

/*
 * Waits, for some seconds at most, while a collector that no job holds has @path open, and not once
 * the user wants to end. 0: the file is in nobody's hands; else the process that has it, -1 where
 * that is of another namespace.
 */
pid_t run_output_wait_unused(const char *path, const char *display);
