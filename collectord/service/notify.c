/* SPDX-License-Identifier: MIT */
#include "collectord/service/notify.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "collectord/channel/channel.h"
#include "collectord/channel/passing.h"
#include "proto/base/cleanup.h"
#include "proto/base/format.h"

static bool is_transient(int error)
{
	switch (error) {
	case EAGAIN: /* the receiver reads more slowly than we write */
	case EINTR:
	case ENOBUFS:
	case ENOMEM:
	case ETOOMANYREFS: /* too many descriptors are in sockets that were not read yet */
		return true;
	default:
		return false;
	}
}

/*
 * libsystemd is not used: it would load seven more libraries into a process that starts with each
 * job.
 */
static int send_state(const char *state, int fd, int flags)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct iovec text = {(void *)state, strlen(state)};
	struct msghdr message = {.msg_name = &address, .msg_iov = &text, .msg_iovlen = 1};
	CLEANUP(close_p) int socket_fd = -1;
	size_t bytes = path ? strlen(path) : 0;

	/*
	 * The address is a path or an abstract name; the vsock addresses of a virtual machine are
	 * not supported.
	 */
	if (!bytes || (*path != '/' && *path != '@'))
		return -ENOTCONN;
	if (bytes >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, bytes);
	if (address.sun_path[0] == '@')
		address.sun_path[0] = 0;
	message.msg_namelen = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes);
	socket_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (socket_fd < 0)
		return -EAGAIN;
	if (passing_send(socket_fd, &message, fd, flags) >= 0)
		return 0;
	return is_transient(errno) ? -EAGAIN : -errno;
}

/*
 * In a worker of the service, the channel to its supervisor, which passes recorders on to the
 * keeper. -1: there is none.
 */
static int supervisor = -1;

void notify_to(int channel)
{
	supervisor = channel;
}

static int tell_supervisor(enum channel_kind kind, const char *name, int fd)
{
	struct channel_message message = {.kind = kind};
	int r;

	if (strlen(name) >= sizeof(message.name))
		return -ENAMETOOLONG;
	strcpy(message.name, name);
	r = channel_send(supervisor, &message, fd);
	return r == -EPIPE ? -ENOTCONN : r;
}

/* It is no error if the service manager is gone. */
static void tell(const char *state)
{
	if (supervisor < 0)
		(void)send_state(state, -1, 0);
}

void notify_ready(const char *status)
{
	CLEANUP(free_p) char *state = format_new("READY=1\nSTATUS=%s", status);

	tell(state ? state : "READY=1");
}

void notify_stopping(void)
{
	tell("STOPPING=1");
}

void notify_alive(void)
{
	tell("WATCHDOG=1");
}

/* Returns 0 if the variable is missing or not a number. */
static uint64_t number_of(const char *name)
{
	const char *text = getenv(name);
	char *end = NULL;
	uint64_t value;

	if (!text || *text < '0' || *text > '9')
		return 0;
	errno = 0;
	value = strtoull(text, &end, 10);
	return errno || *end ? 0 : value;
}

uint64_t notify_watchdog_us(void)
{
	if (supervisor >= 0)
		return 0;
	/* The variables are meant for another process, and we inherited them. */
	if (getenv("WATCHDOG_PID") && number_of("WATCHDOG_PID") != (uint64_t)getpid())
		return 0;
	return number_of("WATCHDOG_USEC");
}

/* These do not block: rtl run may be stopped at its terminal. */
int notify_keep(int fd, const char *name)
{
	char state[160];

	if (supervisor >= 0)
		return tell_supervisor(CHANNEL_KEEP, name, fd);
	snprintf(state, sizeof(state), "FDSTORE=1\nFDNAME=%s", name);
	return send_state(state, fd, MSG_DONTWAIT);
}

int notify_drop(const char *name)
{
	char state[160];

	if (supervisor >= 0)
		return tell_supervisor(CHANNEL_DROP, name, -1);
	snprintf(state, sizeof(state), "FDSTOREREMOVE=1\nFDNAME=%s", name);
	return send_state(state, -1, MSG_DONTWAIT);
}
