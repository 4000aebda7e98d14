/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * For descriptors that the shim keeps. Programs count on getting the lowest free numbers, and one
 * that was started with its standard input, output or error closed must not find one of ours
 * there: what it prints would go into the recorder. Any thread; inline only.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Below 64: a table of descriptors that has to grow makes all threads of a process wait. */
#define FD_OUT_OF_THE_WAY 48
/* A program that is this close to its limit needs what is left itself. */
#define FD_LEFT_MIN	  16u

/* The lowest free number says how many below it are in use. */
static inline bool fd_is_affordable(int fd)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > (rlim_t)fd + FD_LEFT_MIN;
}

/* @fd as open() and its like return it, moved out of the program's way; -1 and errno. */
static inline int fd_keep(int fd)
{
	int kept = -1, saved;

	if (fd < 0 || fd >= FD_OUT_OF_THE_WAY) {
		if (fd < 0 || fd_is_affordable(fd))
			return fd;
		close(fd);
		errno = EMFILE;
		return -1;
	}
	if (fd_is_affordable(fd)) {
		kept = fcntl(fd, F_DUPFD_CLOEXEC, FD_OUT_OF_THE_WAY);
		/* Beyond a low limit: then just not the standard ones. */
		if (kept < 0)
			kept = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	} else {
		errno = EMFILE;
	}
	saved = errno;
	close(fd);
	errno = saved;
	return kept;
}

#define FD_WAKE	    "anon_inode:[eventfd]"
#define FD_RECORDER "/memfd:rtl-recorder"

/* Whether @fd still is what we made. A program may have closed all it could find since, and have
 * a file of its own there. */
static inline bool fd_is(int fd, const char *what)
{
	char path[32], target[64];
	ssize_t bytes;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	bytes = readlink(path, target, sizeof(target) - 1);
	target[bytes > 0 ? bytes : 0] = '\0';
	return !strncmp(target, what, strlen(what));
}
