/* SPDX-License-Identifier: MIT */
#include "collectord/channel/channel.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/base/cleanup.h"

/* The most that an unprivileged process may set. */
#define CHANNEL_BUFFER_BYTES (1 << 20)
/* The kernel takes twice as much, and counts at least 512 bytes and a header for a message. */
#define DOOR_BUFFER_BYTES    (16 << 10)

static_assert(sizeof(struct channel_message) == 16 + CHANNEL_NAME_BYTES, "no padding");

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

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
	union control control = {0};
	struct iovec data = {(void *)message, sizeof(*message)};
	struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};

	if (fd >= 0) {
		header.msg_control = control.bytes;
		header.msg_controllen = sizeof(control.bytes);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	if (sendmsg(channel, &header, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
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
	union control control;
	struct iovec data = {ret, sizeof(*ret)};
	struct msghdr header = {.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	CLEANUP(close_p) int fd = -1;
	const struct cmsghdr *c;
	ssize_t got = recvmsg(channel, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR || errno == ENOMEM ? -EAGAIN : 0;
	if (got == 0)
		return 0;
	c = CMSG_FIRSTHDR(&header);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
		c->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	if (header.msg_flags & MSG_CTRUNC)
		return -EMFILE;
	if (got != (ssize_t)sizeof(*ret) || ret->kind == 0 || ret->kind >= CHANNEL_KINDS ||
		ret->name[CHANNEL_NAME_BYTES - 1])
		return -EBADMSG;
	*ret_fd = TAKE_FD(fd);
	return 1;
}
