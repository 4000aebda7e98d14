/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Descriptors that the shim keeps open. Programs expect the lowest free numbers, and a program that
 * was started with its standard input, output or error closed must not get one of our descriptors
 * in their place: its output would go into the recorder. Any thread may call; everything is inline.
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

/* Below 64, because all threads of the process wait while the kernel grows its descriptor table. */
#define FD_OUT_OF_THE_WAY 48
/* A program that is this close to its limit needs the remaining descriptors itself. */
#define FD_LEFT_MIN	  16u

/* A new descriptor has the lowest free number, so about @fd descriptors are in use. */
static inline bool fd_is_affordable(int fd)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > (rlim_t)fd + FD_LEFT_MIN;
}

/*
 * Moves @fd, as open() and the like return it, out of the program's way. -1 and errno on failure.
 */
static inline int fd_move(int fd)
{
	int moved, saved;

	if (fd < 0 || fd >= FD_OUT_OF_THE_WAY)
		return fd;
	moved = fcntl(fd, F_DUPFD_CLOEXEC, FD_OUT_OF_THE_WAY);
	/* The limit is lower than that: only avoid the standard descriptors. */
	if (moved < 0)
		moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	saved = errno;
	close(fd);
	errno = saved;
	return moved;
}

/*
 * Like fd_move(), for a descriptor that stays open: fails with EMFILE if the program would have too
 * few left.
 */
static inline int fd_keep(int fd)
{
	if (fd < 0 || fd_is_affordable(fd))
		return fd_move(fd);
	close(fd);
	errno = EMFILE;
	return -1;
}

/*
 * Not printf(), which is not async-signal-safe: a program may ring a doorbell in a signal handler.
 */
static inline void fd_put_number(char *at, unsigned number)
{
	unsigned digits = 1;

	for (unsigned rest = number; rest >= 10; rest /= 10)
		digits++;
	at[digits] = '\0';
	for (; digits; number /= 10)
		at[--digits] = (char)('0' + number % 10);
}

/*
 * Tells eventfds apart, which all share one inode. 0 if the kernel does not report it (before 5.2).
 */
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

/* Identifies the open file behind @fd, for fd_is(); 0 if @fd is not open. Async-signal-safe. */
static inline uint64_t fd_mark(int fd)
{
	struct stat file;

	/* Not fstat(): its symbol is newer than the glibc that we support. */
	if (fd < 0 || syscall(SYS_fstat, fd, &file))
		return 0;
	/* No file type: an anonymous inode, such as an eventfd. */
	if (!(file.st_mode & S_IFMT))
		return 1ull << 63 | fd_eventfd_id(fd) << 32 | (uint32_t)file.st_ino;
	return 1ull << 62 | (uint64_t)file.st_dev << 48 | (file.st_ino & 0xffffffffffff);
}

/*
 * Whether @fd still is the file of @mark. A program may have closed every descriptor it could find
 * and opened a file of its own under our number, which we may neither write to nor close.
 */
static inline bool fd_is(int fd, uint64_t mark)
{
	return mark && fd_mark(fd) == mark;
}
