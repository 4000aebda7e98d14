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
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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
static inline int fd_move(int fd)
{
	int moved, saved;

	if (fd < 0 || fd >= FD_OUT_OF_THE_WAY)
		return fd;
	moved = fcntl(fd, F_DUPFD_CLOEXEC, FD_OUT_OF_THE_WAY);
	/* Beyond a low limit: then just not the standard ones. */
	if (moved < 0)
		moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	saved = errno;
	close(fd);
	errno = saved;
	return moved;
}

/* The same of one that stays, for which the program has to have enough left. */
static inline int fd_keep(int fd)
{
	if (fd < 0 || fd_is_affordable(fd))
		return fd_move(fd);
	close(fd);
	errno = EMFILE;
	return -1;
}

/* printf() is not for signal handlers, and a doorbell may ring in one. */
static inline void fd_put_number(char *at, unsigned number)
{
	unsigned digits = 1;

	for (unsigned rest = number; rest >= 10; rest /= 10)
		digits++;
	at[digits] = '\0';
	for (; digits; number /= 10)
		at[--digits] = (char)('0' + number % 10);
}

/* Of one eventfd; they all are of one inode. 0: the kernel does not say (before 5.2). */
static inline uint64_t fd_eventfd_id(int fd)
{
	char path[40] = "/proc/self/fdinfo/", text[256];
	const char *at;
	ssize_t bytes;
	int info;

	fd_put_number(path + strlen(path), (unsigned)fd);
	info = open(path, O_RDONLY | O_CLOEXEC);
	if (info < 0)
		return 0;
	bytes = read(info, text, sizeof(text) - 1);
	close(info);
	text[bytes > 0 ? bytes : 0] = '\0';
	at = strstr(text, "eventfd-id:");
	return at ? strtoull(at + sizeof("eventfd-id:") - 1, NULL, 10) + 1 : 0;
}

/* Which file @fd is of, for fd_is(); 0: of none. Async-signal-safe. */
static inline uint64_t fd_mark(int fd)
{
	struct stat file;

	/* Not fstat(): its symbol is newer than what we bind to. */
	if (fd < 0 || syscall(SYS_fstat, fd, &file))
		return 0;
	/* Neither a file nor a socket: an anonymous inode. */
	if (!(file.st_mode & S_IFMT))
		return 1ull << 63 | fd_eventfd_id(fd) << 32 | (uint32_t)file.st_ino;
	return 1ull << 62 | (uint64_t)file.st_dev << 48 | (file.st_ino & 0xffffffffffff);
}

/*
 * Whether @fd still is what it was at @mark. A program may have closed all it could find since, and
 * have a file of its own there, which we may neither write to nor close.
 */
static inline bool fd_is(int fd, uint64_t mark)
{
	return mark && fd_mark(fd) == mark;
}
