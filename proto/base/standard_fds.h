/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * For programs that may be started with standard input, output or error closed: what they open next
 * would get that number, and what they say would go into a connection or a file. First thing in
 * main(); not for the shim, whose numbers are the program's.
 */
#include <fcntl.h>
#include <unistd.h>

/* Held by what can be neither read nor written, so that each fails as on a closed one; who is
 * started finds them closed. */
static inline void standard_fds_hold(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/", O_PATH | O_CLOEXEC); /* the lowest free number is this */
}
