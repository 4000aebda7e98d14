/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * For programs that may be started with standard input, output or error closed. The next file they
 * open would get that number, and their messages would go into a connection or a database. To be
 * called first in main(); not for the shim, where descriptors belong to the program.
 */
#include <fcntl.h>
#include <unistd.h>

/* Fills each closed number with a descriptor that can be neither read nor written, so that both
 * fail as on a closed one. Programs that are started find the number closed. */
static inline void standard_fds_hold(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/", O_PATH | O_CLOEXEC); /* the lowest free number is this */
}
