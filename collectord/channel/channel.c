/* SPDX-License-Identifier: MIT */
#include "collectord/channel/channel.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "collectord/channel/passing.h"
#include "proto/base/cleanup.h"

/* The most that an unprivileged process may set. */
#define CHANNEL_BUFFER_BYTES (1 << 20)
/* The kernel takes twice as much, and counts at least 512 bytes and a header for a message. */
#define DOOR_BUFFER_BYTES    (16 << 10)

static_assert(sizeof(struct channel_message) == 16 + CHANNEL_NAME_BYTES, "no padding");

static int make_pair(int bytes, int ret[2])
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ret) < 0)
		return -errno;
	for (int i = 0; i < 2; i++) /* a smaller buffer only holds a smaller burst */
		(void)setsockopt(ret[i], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	return 0;
}

int channel_pair(int ret[2])
{
	return make_pair(CHANNEL_BUFFER_BYTES, ret);
}

int channel_door(int ret[2])
{
	return make_pair(DOOR_BUFFER_BYTES, ret);
}

int channel_send(int channel, const struct channel_message *message, int fd)
{
	struct iovec data = {(void *)message, sizeof(*message)};
	struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};

	if (passing_send(channel, &header, fd, MSG_DONTWAIT) >= 0)
		return 0;
	switch (errno) {
	case EAGAIN:
	case EINTR:
	case ENOBUFS:
	case ENOMEM:
	case ETOOMANYREFS:
		return -EAGAIN;
	default:
		return -EPIPE;
	}
}

int channel_receive(int channel, struct channel_message *ret, int *ret_fd)
{
	int fds[PASSING_MAX];
	unsigned count;
	ssize_t got = passing_receive(channel, ret, sizeof(*ret), MSG_DONTWAIT, fds, &count);
	CLEANUP(close_p) int fd = -1;

	if (got < 0)
		return got == -EAGAIN || got == -EINTR || got == -ENOMEM ? -EAGAIN : 0;
	if (count > 1)
		passing_close(fds);
	else
		fd = fds[0];
	if (got == 0)
		return 0;
	if (count > 1)
		return -EMFILE;
	if (got != (ssize_t)sizeof(*ret) || ret->kind == 0 || ret->kind >= CHANNEL_KINDS ||
		ret->name[CHANNEL_NAME_BYTES - 1])
		return -EBADMSG;
	*ret_fd = TAKE_FD(fd);
	return 1;
}
