/* SPDX-License-Identifier: MIT */
#include "collectord/channel/passing.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

ssize_t passing_send(int socket, struct msghdr *header, int fd, int flags)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.header = {.cmsg_level = SOL_SOCKET,
			     .cmsg_type = SCM_RIGHTS,
			     .cmsg_len = CMSG_LEN(sizeof(fd))}};

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	if (fd >= 0) {
		header->msg_control = control.bytes;
		header->msg_controllen = sizeof(control.bytes);
	}
	return sendmsg(socket, header, flags | MSG_NOSIGNAL);
}

ssize_t passing_receive(
	int socket, void *data, size_t bytes, int flags, int fds[PASSING_MAX], unsigned *ret_count)
{
	union {
		char bytes[CMSG_SPACE(PASSING_MAX * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {.iov_base = data, .iov_len = bytes};
	struct msghdr message = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	ssize_t got = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);

	memset(fds, -1, PASSING_MAX * sizeof(*fds));
	*ret_count = 0;
	if (got < 0)
		return -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
			n > PASSING_MAX - *ret_count)
			continue;
		memcpy(fds + *ret_count, CMSG_DATA(c), n * sizeof(int));
		*ret_count += (unsigned)n;
	}
	if (message.msg_flags & MSG_CTRUNC)
		*ret_count += 2; /* the exact number does not matter, only that it exceeds one */
	return got;
}

void passing_close(const int fds[PASSING_MAX])
{
	for (unsigned i = 0; i < PASSING_MAX && fds[i] >= 0; i++)
		(void)close(fds[i]);
}
