/* SPDX-License-Identifier: MIT
 *
 * A program that closes all it finds, as daemons do, and has files of its own under those numbers:
 * what is in them is its own.
 */
#include "tests/shim/guest/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* Higher than any number that a profiler may have kept for itself. */
#define NUMBERS	   128
#define FILE_BYTES 4096

enum kind { NOTHING, PLAIN, SOCKET, PIPE_READ, PIPE_WRITE, EVENT };

static enum kind kinds[NUMBERS + 8];

static void note(int fd, enum kind kind)
{
	guest_require(fd >= 0, "no descriptor");
	if (fd < NUMBERS + 8)
		kinds[fd] = kind;
}

static void pattern(char *bytes, int fd)
{
	for (int i = 0; i < FILE_BYTES; i++)
		bytes[i] = (char)(fd * 7 + i);
}

static int open_file(void)
{
	char path[] = "/tmp/shim-guest-XXXXXX", bytes[FILE_BYTES];
	int fd = mkstemp(path);

	guest_require(fd >= 0 && !unlink(path), "no file");
	pattern(bytes, fd);
	guest_require(write(fd, bytes, sizeof(bytes)) == sizeof(bytes), "no room");
	return fd;
}

/* @turn makes every number each kind of file once. */
static void open_all(int turn)
{
	int last = 0, pair[2];

	for (int i = turn; last < NUMBERS; i++) {
		switch (i % 4) {
		case 0:
			note(last = open_file(), PLAIN);
			break;
		case 1:
			guest_require(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "no sockets");
			note(pair[0], SOCKET);
			note(last = pair[1], SOCKET);
			break;
		case 2:
			guest_require(!pipe(pair), "no pipe");
			note(pair[0], PIPE_READ);
			note(last = pair[1], PIPE_WRITE);
			break;
		default:
			note(last = eventfd(0, EFD_NONBLOCK), EVENT);
		}
	}
}

static bool is_untouched(int fd, enum kind kind)
{
	char bytes[FILE_BYTES + 1], expected[FILE_BYTES];

	switch (kind) {
	case PLAIN:
		pattern(expected, fd);
		return lseek(fd, 0, SEEK_CUR) == FILE_BYTES &&
		       pread(fd, bytes, sizeof(bytes), 0) == FILE_BYTES &&
		       !memcmp(bytes, expected, FILE_BYTES);
	case SOCKET:
		return recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) < 0 && errno == EAGAIN;
	case PIPE_READ:
		return !fcntl(fd, F_SETFL, O_NONBLOCK) && read(fd, bytes, 1) < 0 && errno == EAGAIN;
	case EVENT:
		return read(fd, bytes, 8) < 0 && errno == EAGAIN;
	default:
		return fcntl(fd, F_GETFD) >= 0;
	}
}

static void close_all(void)
{
	for (int fd = 3; fd < NUMBERS + 8; fd++)
		close(fd);
	memset(kinds, 0, sizeof(kinds));
}

static void look(const char *when)
{
	unsigned checked = 0;

	for (int fd = 3; fd < NUMBERS; fd++) {
		guest_require(kinds[fd] != NOTHING, "a number that the program cannot have");
		if (!is_untouched(fd, kinds[fd]))
			printf("%s: descriptor %d is not as it was\n", when, fd);
		checked++;
	}
	printf("%s: %u looked at\n", when, checked);
}

static int descriptors_closed(char **arguments)
{
	(void)arguments;
	guest_open();
	guest_dispatch(50);
	for (int turn = 0; turn < 4; turn++) {
		close_all();
		open_all(turn);
		guest_dispatch(1500);
		look("while it dispatches");
	}
	guest_close();
	look("after the runtime's end");
	fflush(stdout);
	return 0;
}

/* The same for a program that forks afterwards: what the child closes is its own, too. */
static int descriptors_forked(char **arguments)
{
	int pid;

	(void)arguments;
	guest_open();
	guest_dispatch(50);
	close_all();
	open_all(1);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		look("in a child");
		fflush(stdout);
		_exit(0);
	}
	printf("child %d\n", guest_reap(pid));
	guest_dispatch(500);
	look("in its parent");
	guest_close();
	look("after the runtime's end");
	return 0;
}

const struct guest_mode guest_descriptors[] = {
	{"descriptors_closed", descriptors_closed},
	{"descriptors_forked", descriptors_forked},
	{NULL, NULL},
};
