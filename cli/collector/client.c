// SPDX-License-Identifier: MIT
#include "cli/collector/client.h"

#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"
#include "proto/base/user_namespace.h"

/*
 * A reply of thousands of rows unpacks to several times its size. It comes from a collector that we
 * trust, so any limit is sufficient.
 */
#define CLIENT_ARENA_BYTES_MAX (16u * REPLY_BYTES_MAX)

static bool is_trusted(uid_t uid)
{
	const struct passwd *rtl;

	if (uid == 0 || uid == geteuid())
		return true;
	rtl = getpwnam("rtl");
	return rtl && rtl->pw_uid == uid;
}

static int check_peer(struct client *client)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	if (getsockopt(client->fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0)
		return -errno;
	client->pid = peer.pid;
	client->uid = peer.uid;
	if (is_trusted(peer.uid) || namespace_is_from_outside(client->path, peer.uid))
		return 0;
	return -EPERM;
}

int client_connect(struct client *client, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	CLEANUP(close_p) int fd = -1;
	int r;

	*client = (struct client)CLIENT_NONE;
	snprintf(client->path, sizeof(client->path), "%s", path);
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* The socket is non-blocking: EAGAIN means a full backlog, as of a collector in trouble. */
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	client->fd = fd;
	r = check_peer(client);
	if (r < 0) {
		client->fd = -1;
		return r;
	}
	TAKE_FD(fd);
	frame_reader_init(&client->reader, REPLY_BYTES_MAX);
	msg_arena_init(&client->arena, CLIENT_ARENA_BYTES_MAX);
	return 0;
}

int client_connect_first(struct client *client, const char *option)
{
	char **paths;
	int r = places_sockets(option, &paths);

	*client = (struct client)CLIENT_NONE;
	if (r < 0)
		return r;
	r = -ENOENT;
	for (size_t i = 0; paths[i]; i++) {
		r = client_connect(client, paths[i]);
		if (r == 0)
			break;
	}
	places_sockets_free(paths);
	return r;
}

void client_close(struct client *client)
{
	if (client->fd < 0)
		return;
	close(client->fd);
	client->fd = -1;
	frame_reader_done(&client->reader);
	msg_arena_done(&client->arena);
}

/*
 * Returns the milliseconds until @deadline_ns, rounded up; 0 if it has passed. UINT64_MAX is no
 * deadline.
 */
static int left_ms(uint64_t deadline_ns)
{
	uint64_t now = clock_monotonic_ns();

	if (deadline_ns == UINT64_MAX)
		return -1;
	return now >= deadline_ns ? 0 : (int)((deadline_ns - now + 999999u) / 1000000u);
}

static uint64_t deadline_in(int timeout_ms)
{
	if (timeout_ms < 0)
		return UINT64_MAX;
	return clock_monotonic_ns() + (uint64_t)timeout_ms * 1000000u;
}

/* Returns 0 if the socket is ready (or hung up, which the next call finds), or -ETIMEDOUT. */
static int wait_for(int fd, short events, uint64_t deadline_ns)
{
	struct pollfd entry = {.fd = fd, .events = events};
	int n;

	do {
		n = poll(&entry, 1, left_ms(deadline_ns));
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n ? 0 : -ETIMEDOUT;
}

int client_send(struct client *client, const Rtl__Frame *frame)
{
	uint64_t deadline = deadline_in(CLIENT_REPLY_MS);
	CLEANUP(free_p) uint8_t *data = NULL;
	size_t bytes, sent = 0;

	data = msg_pack_new(frame, &bytes);
	if (!data)
		return -ENOMEM;
	while (sent < bytes) {
		ssize_t n = send(client->fd, data + sent, bytes - sent, MSG_NOSIGNAL);
		int r;

		if (n >= 0) {
			sent += (size_t)n;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return -errno;
		r = wait_for(client->fd, POLLOUT, deadline);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Takes a whole frame that has arrived. Returns 1 with *ret in the arena, 0 if there is none yet,
 * or an error such as -EBADMSG.
 */
static int take_frame(struct client *client, Rtl__Frame **ret)
{
	const uint8_t *data = NULL;
	size_t cursor = 0, bytes = 0;
	int r = frame_reader_next(&client->reader, &cursor, &data, &bytes);

	if (r <= 0)
		return r;
	r = msg_unpack(&client->arena, data, bytes, ret);
	frame_reader_compact(&client->reader, cursor);
	if (r < 0)
		return r;
	if ((*ret)->body_case != RTL__FRAME__BODY_REFUSAL)
		return 1;
	snprintf(client->refusal, sizeof(client->refusal), "%.*s", (int)(*ret)->refusal->text.len,
		(const char *)(*ret)->refusal->text.data);
	return -ECONNABORTED;
}

/* Receives what is there. Returns 0, -EAGAIN, or -ECONNRESET (also for an orderly end). */
static int fill(struct client *client)
{
	uint8_t *at;
	size_t room;
	ssize_t n;
	int r = frame_reader_space(&client->reader, &at, &room);

	if (r < 0)
		return r;
	do {
		n = recv(client->fd, at, room, 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (n == 0)
		return -ECONNRESET;
	frame_reader_filled(&client->reader, (size_t)n);
	return 0;
}

int client_receive(struct client *client, int timeout_ms, Rtl__Frame **ret)
{
	uint64_t deadline = deadline_in(timeout_ms);

	for (;;) {
		int r = take_frame(client, ret);

		if (r)
			return r < 0 ? r : 0;
		r = fill(client);
		if (r == -EAGAIN)
			r = wait_for(client->fd, POLLIN, deadline);
		if (r < 0)
			return r;
	}
}

int client_call(struct client *client, const Rtl__Frame *request, Rtl__Frame__BodyCase expect,
	Rtl__Frame **ret)
{
	Rtl__Frame *reply;
	int sent = client_send(client, request);
	int r = client_receive(client, sent < 0 ? 0 : CLIENT_REPLY_MS, &reply);

	/* A refusal that was sent before our request arrived explains the broken pipe. */
	if (sent < 0 && r != -ECONNABORTED)
		return sent;
	if (r < 0)
		return r;
	if (reply->body_case != expect)
		return -EBADMSG;
	*ret = reply;
	return 0;
}

const char *client_error(const struct client *client, int error)
{
	switch (-error) {
	case ENOENT:
		return "no such socket";
	case ECONNREFUSED:
		return "no process listens there";
	case EACCES:
		return "permission denied";
	case EPERM:
		return "it belongs to another user";
	case EAGAIN:
		return "too many connections wait there";
	case ETIMEDOUT:
		return "no answer in time";
	case ECONNRESET:
	case EPIPE:
		return "the collector hung up";
	case ECONNABORTED:
		return client->refusal;
	case EBADMSG:
	case EMSGSIZE:
		return "not an rtl collector, or of another version";
	default:
		return strerror(-error);
	}
}
