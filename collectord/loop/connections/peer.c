/* SPDX-License-Identifier: MIT */
#include "collectord/loop/connections/peer.h"

#include <errno.h>
#include <event2/buffer.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "collectord/channel/channel.h"
#include "collectord/service/log.h"
#include "collectord/loop/connections/state.h"
#include "collectord/loop/connections/timers.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* Time that a peer has to read the reason why it is being closed. */
#define FINISH_MS_MAX  2000u
#define REFUSAL_BYTES  256
/* Smallest read from a peer that should send no more; a frame is processed when it is complete. */
#define READ_BYTES_MIN 4096u

static void on_deadline(evutil_socket_t fd, short what, void *data)
{
	struct peer *peer = data;

	(void)fd;
	(void)what;
	if (peer->is_finishing) {
		peer_close(peer);
	} else if (peer->is_held) {
		log_refusal(peer->uid, peer->pid, "it does not read its replies");
		peer_close(peer);
	} else if (!peer->role) {
		peer_refuse(peer, "no first frame within %u ms", GREETING_MS_MAX);
	} else {
		peer_refuse(peer, "a frame took longer than %u ms", PARTIAL_FRAME_MS_MAX);
	}
}

static void on_readable(evutil_socket_t fd, short what, void *data)
{
	(void)fd;
	(void)what;
	peer_read(data);
}

/* Reads requests again once the peer has read all its replies. */
static void release(struct peer *peer)
{
	if (!peer->is_held)
		return;
	peer->is_held = false;
	event_del(peer->deadline);
	if (!peer->is_waiting)
		peer_resume(peer);
}

static void write_output(struct peer *peer)
{
	int written = evbuffer_write(peer->output, peer->fd);

	if (written < 0 && errno != EAGAIN && errno != EINTR) {
		peer_close(peer);
		return;
	}
	if (evbuffer_get_length(peer->output))
		event_add(peer->write_event, NULL);
	else if (peer->is_finishing)
		peer_close(peer);
	else
		release(peer);
}

static void on_writable(evutil_socket_t fd, short what, void *data)
{
	(void)fd;
	(void)what;
	write_output(data);
}

static int read_credentials(struct peer *peer)
{
	struct ucred ucred;
	socklen_t bytes = sizeof(ucred);

	if (getsockopt(peer->fd, SOL_SOCKET, SO_PEERCRED, &ucred, &bytes) < 0)
		return -errno;
	peer->uid = ucred.uid;
	peer->gid = ucred.gid;
	peer->pid = ucred.pid;
	/*
	 * The pidfd is right even if the process is gone and its pid is in use again (Linux 6.5).
	 */
	bytes = sizeof(peer->pidfd);
	if (getsockopt(peer->fd, SOL_SOCKET, SO_PEERPIDFD, &peer->pidfd, &bytes) < 0)
		peer->pidfd = -1;
	return 0;
}

const char peer_no_memory[] = "the collector has no memory for that now";

int peer_new(struct server *server, int fd, struct peer **ret)
{
	struct peer *peer = calloc(1, sizeof(*peer));
	uint8_t *at = NULL;
	size_t room = 0;
	int r = -ENOMEM;

	if (!peer)
		return -ENOMEM;
	*peer = (struct peer){.server = server,
		.fd = fd,
		.pidfd = -1,
		.passed_fd = -1,
		.known = server->seat ? server->arriving
				      : CHANNEL_PEER_KNOWN | CHANNEL_PEER_OF_HOST};
	frame_reader_init(&peer->reader, HELLO_BYTES_MAX);
	peer->output = evbuffer_new();
	peer->read_event = event_new(server->base, fd, EV_READ | EV_PERSIST, on_readable, peer);
	peer->write_event = event_new(server->base, fd, EV_WRITE, on_writable, peer);
	peer->deadline = evtimer_new(server->base, on_deadline, peer);
	if (peer->output && peer->read_event && peer->write_event && peer->deadline)
		r = read_credentials(peer);
	/*
	 * Reserves the buffer for the first frame, so that an accepted peer is not closed for lack
	 * of memory.
	 */
	if (r == 0)
		r = frame_reader_space(&peer->reader, &at, &room);
	if (r == 0 && event_add(peer->read_event, NULL) < 0)
		r = -ENOMEM;
	if (r < 0) {
		peer->fd = -1;
		peer_free(peer);
		return r;
	}
	timer_start(peer->deadline, GREETING_MS_MAX);
	*ret = peer;
	return 0;
}

void peer_greeted(struct peer *peer, const struct peer_role *role, void *data, size_t limit)
{
	peer->role = role;
	peer->role_data = data;
	peer->reader.limit = limit;
	/*
	 * Closes what the role did not take: a second descriptor of a known recorder, or the pidfd
	 * of a tool.
	 */
	close_p(&peer->passed_fd);
	close_p(&peer->pidfd);
	peer->passed_fd = -1;
	peer->pidfd = -1;
	event_del(peer->deadline);
}

/* Only the first frame may carry a descriptor, and only once. */
static ssize_t receive(struct peer *peer, uint8_t *at, size_t bytes)
{
	ssize_t got = receiver_read(peer->fd, at, bytes);

	if (got != -EBADMSG || peer->role || peer->n_passed)
		return got;
	return receiver_take(
		&peer->server->receiver, peer->fd, at, bytes, &peer->passed_fd, &peer->n_passed);
}

static void refuse_passed(struct peer *peer, int error)
{
	if (error == -EBUSY)
		peer_refuse(peer, "descriptors that this user has passed are not closed yet");
	else if (peer->role)
		peer_refuse(peer, "only a first frame may carry a file descriptor");
	else
		peer_refuse(peer, "Hello must carry exactly one file descriptor, the recorder");
}

/* The deadline runs from the first byte of a frame; partial progress does not extend it. */
static void watch_partial(struct peer *peer, bool has_advanced)
{
	bool is_partial = peer->reader.fill > 0 && !peer->is_paused;

	if (!peer->role || peer->is_finishing || peer->is_ended)
		return;
	if (is_partial && (has_advanced || !peer->is_partial))
		timer_start(peer->deadline, PARTIAL_FRAME_MS_MAX);
	else if (!is_partial && peer->is_partial)
		event_del(peer->deadline);
	peer->is_partial = is_partial;
}

/* One reply at a time: the next request is processed when the peer has read this reply. */
static void hold(struct peer *peer)
{
	if (peer->is_held || peer->is_ended || !evbuffer_get_length(peer->output))
		return;
	peer->is_held = true;
	peer_pause(peer);
}

/* True if the role copies its frames at once. All such peers read into one shared buffer. */
static bool borrows(const struct peer *peer)
{
	return peer->role && peer->role->frames;
}

static void deliver(struct peer *peer)
{
	const uint8_t *frame = NULL;
	size_t bytes = 0;
	size_t cursor = 0;
	size_t bulk_from = 0;
	int r = 0;

	while (!peer->is_finishing && !peer->is_ended && !peer->is_paused) {
		r = frame_reader_next(&peer->reader, &cursor, &frame, &bytes);
		if (r != 1)
			break;
		if (!peer->role) {
			peer->server->calls->greet(peer->server, peer, frame, bytes);
			bulk_from = cursor;
		} else if (peer->role->frame) {
			peer->role->frame(peer, frame, bytes);
		}
		if (peer->role && peer->role->frame && !peer->is_finishing)
			hold(peer);
	}
	if (peer->role && peer->role->frames && cursor > bulk_from && !peer->is_finishing &&
		!peer->is_ended)
		peer->role->frames(peer, peer->reader.buffer + bulk_from, cursor - bulk_from);
	if (r < 0 && !peer->is_finishing && !peer->is_ended)
		peer_refuse(peer, "a frame of this length is not allowed (at most %zu bytes)",
			peer->reader.limit);
	frame_reader_compact(&peer->reader, cursor);
	if (borrows(peer) && frame_reader_give_back(&peer->reader) < 0) {
		peer_close(peer); /* the peer sends again what was not taken */
		return;
	}
	watch_partial(peer, cursor > 0);
	if (peer->is_held)
		timer_start(peer->deadline, UNREAD_MS_MAX);
}

/*
 * Limits a read of @bytes to what the role has room for. It never goes below READ_BYTES_MIN,
 * because a peer learns that it must wait only when a whole frame is processed.
 */
static size_t welcome(struct peer *peer, size_t bytes)
{
	size_t room = peer->role && peer->role->room ? peer->role->room(peer) : bytes;

	if (room < READ_BYTES_MIN)
		room = READ_BYTES_MIN;
	return room < bytes ? room : bytes;
}

void peer_read(struct peer *peer)
{
	uint8_t *at = NULL;
	size_t bytes = 0;
	ssize_t got;
	int r;

	if (peer->is_ended || peer->is_finishing || peer->is_paused)
		return;
	if (borrows(peer))
		frame_reader_lend(&peer->reader, peer->server->received, SERVER_RECEIVED_BYTES);
	r = frame_reader_space(&peer->reader, &at, &bytes);
	if (r < 0) {
		peer_close(peer);
		return;
	}
	got = receive(peer, at, welcome(peer, bytes));
	if (got <= 0 && borrows(peer))
		(void)frame_reader_give_back(&peer->reader);
	if (got == -EAGAIN || got == -EINTR)
		return;
	if (got == -EBADMSG || got == -EBUSY) {
		refuse_passed(peer, (int)got);
		return;
	}
	if (got <= 0) {
		peer_close(peer);
		return;
	}
	frame_reader_filled(&peer->reader, (size_t)got);
	deliver(peer);
}

/* Bytes that have not been read yet, over all connections. */
static size_t unread_bytes(const struct server *server)
{
	size_t sum = 0;

	for (const struct peer *p = server->peers; p; p = p->next)
		sum += evbuffer_get_length(p->output);
	return sum;
}

static bool is_too_much(const struct peer *peer, size_t more)
{
	size_t bytes = evbuffer_get_length(peer->output) + more;

	return bytes > OUTPUT_BYTES_MAX ||
	       (bytes > OUTPUT_SMALL_BYTES &&
		       unread_bytes(peer->server) + more > OUTPUT_UID_BYTES_MAX);
}

void peer_send(struct peer *peer, const Rtl__Frame *frame)
{
	size_t bytes = msg_packed_bytes(frame);
	struct evbuffer_iovec space;

	if (peer->is_ended || peer->is_finishing)
		return;
	if (is_too_much(peer, bytes)) {
		log_refusal(peer->uid, peer->pid, "it does not read its replies");
		peer_close(peer);
		return;
	}
	if (evbuffer_reserve_space(peer->output, (ev_ssize_t)bytes, &space, 1) != 1) {
		peer_close(peer);
		return;
	}
	space.iov_len = msg_pack(frame, space.iov_base);
	evbuffer_commit_space(peer->output, &space, 1);
	write_output(peer);
}

void peer_refuse(struct peer *peer, const char *format, ...)
{
	Rtl__Refusal refusal = RTL__REFUSAL__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;
	char text[REFUSAL_BYTES];
	va_list arguments;

	if (peer->is_ended || peer->is_finishing)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	log_refusal(peer->uid, peer->pid, text);
	msg_set_bytes(&refusal.has_text, &refusal.text, text);
	frame.body_case = RTL__FRAME__BODY_REFUSAL;
	frame.refusal = &refusal;
	peer_send(peer, &frame);
	peer_finish(peer);
}

void peer_finish(struct peer *peer)
{
	if (peer->is_ended || peer->is_finishing)
		return;
	peer->is_finishing = true;
	event_del(peer->read_event);
	timer_start(peer->deadline, FINISH_MS_MAX);
	if (!evbuffer_get_length(peer->output))
		peer_close(peer);
}

void peer_close(struct peer *peer)
{
	if (peer->is_ended)
		return;
	peer->is_ended = true;
	event_del(peer->read_event);
	event_del(peer->write_event);
	event_del(peer->deadline);
	receiver_drop(&peer->server->receiver, TAKE_FD(peer->fd));
	if (peer->role && peer->role->closed)
		peer->role->closed(peer);
	peer->server->calls->peer_ended(peer->server, peer);
}

void peer_pause(struct peer *peer)
{
	if (peer->is_paused || peer->is_ended)
		return;
	peer->is_paused = true;
	event_del(peer->read_event);
}

void peer_resume(struct peer *peer)
{
	if (!peer->is_paused || peer->is_ended)
		return;
	peer->is_paused = false;
	if (peer->is_finishing)
		return;
	event_add(peer->read_event, NULL);
	deliver(peer); /* processes what is buffered and sets the deadline for the rest */
}

void peer_free(struct peer *peer)
{
	if (peer->output)
		evbuffer_free(peer->output);
	event_done(peer->read_event);
	event_done(peer->write_event);
	event_done(peer->deadline);
	close_p(&peer->fd);
	close_p(&peer->pidfd);
	close_p(&peer->passed_fd);
	frame_reader_done(&peer->reader);
	free(peer);
}
