/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Ownership in one line: CLEANUP(free_p) releases at scope exit, TAKE(p) moves the value out.
 * Usable by every module; inline only.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(function) __attribute__((cleanup(function)))
#define TAKE(pointer)                                                                              \
	({                                                                                         \
		__typeof__(pointer) taken_ = (pointer);                                            \
		(pointer) = NULL;                                                                  \
		taken_;                                                                            \
	})
#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int taken_ = (fd);                                                                 \
		(fd) = -1;                                                                         \
		taken_;                                                                            \
	})

static inline void free_p(void *pointer)
{
	free(*(void **)pointer);
}

/* Keeps errno, so that it can stand between a failing call and its report. */
static inline void close_p(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

/* Closes *@fd, if it is open, and forgets it. */
static inline void close_fd(int *fd)
{
	close_p(fd);
	*fd = -1;
}
