/* SPDX-License-Identifier: MIT */
#include "collectord/notify.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "proto/cleanup.h"

#ifdef RTL_SYSTEMD
#include <systemd/sd-daemon.h>

void notify_ready(const char *status)
{
	(void)sd_notifyf(0, "READY=1\nSTATUS=%s", status); /* a manager that is gone is no error */
}

void notify_stopping(void)
{
	(void)sd_notify(0, "STOPPING=1");
}

void notify_alive(void)
{
	(void)sd_notify(0, "WATCHDOG=1");
}

uint64_t notify_watchdog_us(void)
{
	uint64_t us = 0;

	return sd_watchdog_enabled(0, &us) > 0 ? us : 0;
}
#else
void notify_ready(const char *status)
{
	(void)status;
}

void notify_stopping(void)
{
}

void notify_alive(void)
{
}

uint64_t notify_watchdog_us(void)
{
	return 0;
}
#endif

static bool is_passing(int error)
{
	switch (error) {
	case EAGAIN: /* not read as fast as it is written */
	case EINTR:
	case ENOBUFS:
	case ENOMEM:
	case ETOOMANYREFS: /* descriptors that nobody has taken out of their sockets yet */
		return true;
	default:
		return false;
	}
}

/* Not sd_pid_notify_with_fds(): that waits, and rtl run may be stopped at its terminal. */
static int send_state(const char *state, int fd)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec text = {(void *)state, strlen(state)};
	struct msghdr message = {.msg_name = &address, .msg_iov = &text, .msg_iovlen = 1};
	CLEANUP(close_p) int socket_fd = -1;
	size_t bytes = path ? strlen(path) : 0;

	if (!bytes)
		return -ENOTCONN;
	if (bytes >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, bytes);
	if (address.sun_path[0] == '@')
		address.sun_path[0] = 0;
	message.msg_namelen = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes);
	if (fd >= 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	socket_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (socket_fd < 0)
		return -EAGAIN;
	if (sendmsg(socket_fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	return is_passing(errno) ? -EAGAIN : -errno;
}

int notify_keep(int fd, const char *name)
{
	char state[160];

	snprintf(state, sizeof(state), "FDSTORE=1\nFDNAME=%s", name);
	return send_state(state, fd);
}

int notify_drop(const char *name)
{
	char state[160];

	snprintf(state, sizeof(state), "FDSTOREREMOVE=1\nFDNAME=%s", name);
	return send_state(state, -1);
}
