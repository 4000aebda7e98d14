/* SPDX-License-Identifier: MIT */
#pragma once
/* Passes descriptors over Unix sockets (SCM_RIGHTS). Any thread. */
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

/* SCM_MAX_FD of the kernel: with room for so many, the kernel discards none of them. */
#define PASSING_MAX 253u

/* As sendmsg(), with @fd unless it is -1. @header has no control data. */
ssize_t passing_send(int socket, struct msghdr *header, int fd, int flags);
/*
 * As recv(), with the descriptors that came: *@ret_count is their number, which is above one if
 * some did not fit; @fds has those that did, and -1 in the rest. Returns -errno.
 */
ssize_t passing_receive(
	int socket, void *data, size_t bytes, int flags, int fds[PASSING_MAX], unsigned *ret_count);
/* Closes all descriptors that came. */
void passing_close(const int fds[PASSING_MAX]);
