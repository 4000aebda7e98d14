/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Tells whether a collector still uses an output file: that of a running job, or of a job that was
 * just ended and whose last rows are being written. One thread; prints a message on stderr when it
 * waits.
 */
#include <sys/types.h>

/*
 * Waits, for some seconds at most, while a collector without a job has @path open, but not once the
 * user wants to end. Returns 0 if no process has the file; otherwise the pid of the process that
 * has it, or -1 if that process is in another pid namespace.
 */
pid_t run_output_wait_unused(const char *path, const char *display);
