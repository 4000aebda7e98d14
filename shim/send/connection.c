/* SPDX-License-Identifier: MIT */
#include "shim/send/connection.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/base/cleanup.h"
#include "proto/base/fault.h"
#include "shim/send/connect.h"
#include "shim/base/fd.h"
#include "shim/base/gate.h"
#include "shim/base/log.h"

/* Most bytes that one step writes, so that the harvest is never late. */
#define STEP_BYTES_MAX	(1u << 20)
/* What a collector sends to a shim is small. */
#define REPLY_FRAME_MAX REQUEST_BYTES_MAX
/* A connection that lasted this long, or on which something was stored, worked. */
#define LASTED_NS	1000000000u

int conn_init(struct conn *conn, struct recorder *recorder, const char *socket,
	const uint8_t *hello, size_t hello_bytes)
{
	memset(conn, 0, sizeof(*conn));
	conn->fd = -1;
	conn->telemetry = malloc(CONN_TELEMETRY_BYTES);
	if (!conn->telemetry)
		return -ENOMEM;
	conn->recorder = recorder;
	conn->hello = hello;
	conn->hello_bytes = hello_bytes;
	conn->paths = dial_paths(socket, conn->path);
	frame_reader_init(&conn->reader, REPLY_FRAME_MAX);
	msg_arena_init(&conn->arena, ARENA_BYTES_MAX);
	return 0;
}

void conn_done(struct conn *conn)
{
	conn_forget(conn);
	frame_reader_done(&conn->reader);
	msg_arena_done(&conn->arena);
	free(conn->telemetry);
	conn->telemetry = NULL;
}

void conn_forget(struct conn *conn)
{
	/*
	 * Cleared before the close: a child forked in between must not close a file that reuses the
	 * number.
	 */
	int fd = TAKE_FD(conn->fd);

	if (fd_is(fd, conn->fd_mark))
		close(fd);
	conn->state = CONN_AWAY;
	conn->next_try_ns = UINT64_MAX;
}

/* ---- connecting and closing ------------------------------------------------------------ */

static void conn_schedule(struct conn *conn, uint64_t now_ns, uint64_t least_ns)
{
	uint64_t away_ns = now_ns - conn->away_since_ns;
	uint64_t most_ns = away_ns < RECONNECT_FAST_FOR_NS ? RECONNECT_NS_FAST : RECONNECT_NS_MAX;
	uint64_t delay_ns = away_ns / 4 < most_ns ? away_ns / 4 : most_ns;

	conn->next_try_ns = now_ns + (delay_ns > least_ns ? delay_ns : least_ns);
}

static void conn_close(struct conn *conn, uint64_t now_ns)
{
	bool has_lasted = conn->state == CONN_STREAMING &&
			  (conn->has_stored || now_ns - conn->welcome_ns > LASTED_NS);

	conn_forget(conn);
	conn->item = CONN_NOTHING;
	conn->out_left = 0;
	conn->has_telemetry = false;
	frame_reader_done(&conn->reader);
	frame_reader_init(&conn->reader, REPLY_FRAME_MAX);
	if (has_lasted || !conn->away_since_ns)
		conn->away_since_ns = now_ns;
	/* The refusal need not last, but there is no reason to hurry either. */
	conn->has_last_try &= !conn->is_refused;
	conn_schedule(conn, now_ns, conn->is_refused ? RECONNECT_NS_MAX : RECONNECT_NS_MIN);
}

/*
 * Prints one line, and only once there are queues whose records would be lost, since many programs
 * only query the GPUs. The line must remain true if a collector comes later and finds earlier
 * records in the recorder.
 */
static void conn_complain(struct conn *conn)
{
	const char *path = conn->path[conn->failed_path];

	if (conn->has_complained || !conn->failed_error || !recorder_queues_used(conn->recorder))
		return;
	conn->has_complained = true;
	if (conn->failed_error == EKEYREJECTED)
		slog_tell("the collector at %s runs as a user that is not trusted; it is given "
			  "nothing",
			path);
	else if (conn->is_quiet)
		slog_debug(1, "no collector at %s: %s", path, strerror(conn->failed_error));
	else
		slog_tell("no collector at %s: %s; nothing is stored unless one comes", path,
			strerror(conn->failed_error));
}

static void conn_connect(struct conn *conn, uint64_t now_ns)
{
	unsigned i;
	int fd;

	if (!conn->away_since_ns)
		conn->away_since_ns = now_ns;
	fd = dial(conn->path, conn->paths, true, &i);
	conn->has_last_try &= fd == -EAGAIN;
	/* The collector that refused us is gone, or has been asked again. */
	conn->is_refused &= fd == -EAGAIN;
	if (fd < 0) {
		/* A full backlog means that the collector is busy, not that there is none. */
		if (fd != -EAGAIN) {
			conn->failed_error = -fd;
			conn->failed_path = i < conn->paths ? i : 0;
		}
		conn_complain(conn);
		conn_schedule(conn, now_ns, RECONNECT_NS_MIN);
		return;
	}
	conn->fd = fd;
	conn->fd_mark = fd_mark(fd);
	conn->state = CONN_GREETING;
	conn->item = CONN_HELLO;
	conn->out = conn->hello;
	conn->out_bytes = conn->out_left = conn->hello_bytes;
	slog_debug(1, "connected to %s", conn->path[i]);
}

/* ---- reading ------------------------------------------------------------------------------ */

static int conn_welcome(struct conn *conn, const Rtl__Welcome *welcome, uint64_t now_ns)
{
	int r;

	if (conn->state != CONN_GREETING || !welcome->has_version ||
		welcome->version < PROTO_VERSION_MIN || welcome->version > PROTO_VERSION_MAX)
		return -EPROTO;
	r = recorder_resume(conn->recorder, welcome->has_last_frame ? welcome->last_frame : 0);
	if (r)
		return r;
	recorder_count(conn->recorder, RTL_P_connects, 1);
	conn->state = CONN_STREAMING;
	conn->welcome_ns = now_ns;
	conn->define_bytes = 0;
	conn->limit = 0;
	conn->is_fresh = true;
	conn->has_stored = false;
	conn->has_said_bye = false;
	conn->wants_state = true;
	conn->has_complained = true; /* it has recorded: a later absence needs no message */
	slog_debug(1, "welcomed; %llu frames are stored", (unsigned long long)welcome->last_frame);
	return 0;
}

static int conn_refused(struct conn *conn, const Rtl__Refusal *refusal)
{
	char text[256] = "no reason given";
	size_t bytes = refusal->text.len < sizeof(text) ? refusal->text.len : sizeof(text) - 1;

	/* An empty text has no bytes to copy. */
	if (refusal->has_text && bytes) {
		memcpy(text, refusal->text.data, bytes);
		text[bytes] = '\0';
	}
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
	recorder_count(conn->recorder, RTL_P_refused, 1);
	if (conn->has_complained)
		slog_debug(1, "refused: %s", text);
	else
		slog_tell("the collector refused: %s; nothing is stored while it does", text);
	conn->has_complained = true;
	conn->is_refused = true;
	return -ECONNREFUSED;
}

static int conn_controlled(struct conn *conn, const Rtl__Control *control)
{
	if (conn->state != CONN_STREAMING || !control->has_seq || !control->has_record)
		return -EPROTO;
	if (gate_control(control->seq, control->record != 0,
		    control->has_duration_ns ? control->duration_ns : 0))
		slog_debug(1, "told to %s recording", control->record ? "start" : "stop");
	conn->wants_state = true;
	return 0;
}

/* A peer that speaks another version or another protocol is treated like one that refuses. */
static void conn_misunderstood(struct conn *conn, int error)
{
	if (!error || conn->state != CONN_GREETING || error == -ECONNRESET ||
		error == -ECONNREFUSED || error == -ENOMEM)
		return;
	if (!conn->has_complained)
		slog_tell("the collector says what this shim does not understand; nothing is "
			  "stored while it does");
	conn->has_complained = true;
	conn->is_refused = true;
}

/* Returns 0, or -errno if the connection has to end. */
static int conn_frame(struct conn *conn, const uint8_t *data, size_t bytes, uint64_t now_ns)
{
	Rtl__Frame *frame;
	int r = msg_unpack(&conn->arena, data, bytes, &frame);

	if (r)
		return r;
	switch (frame->body_case) {
	case RTL__FRAME__BODY_WELCOME:
		return conn_welcome(conn, frame->welcome, now_ns);
	case RTL__FRAME__BODY_ACK:
		if (conn->state != CONN_STREAMING || !frame->ack->has_frame)
			return -EPROTO;
		r = recorder_acked(conn->recorder, frame->ack->frame);
		conn->has_stored |= !r;
		return r;
	case RTL__FRAME__BODY_CONTROL:
		return conn_controlled(conn, frame->control);
	case RTL__FRAME__BODY_REFUSAL:
		return conn_refused(conn, frame->refusal);
	default:
		return -EPROTO;
	}
}

/* Returns 0 if there is nothing more to read now; otherwise the connection ends. */
static int conn_read(struct conn *conn, uint64_t now_ns)
{
	for (;;) {
		const uint8_t *frame;
		size_t room, bytes, cursor = 0;
		uint8_t *at;
		ssize_t got;
		int r = frame_reader_space(&conn->reader, &at, &room);

		if (r)
			return r;
		got = recv(conn->fd, at, room, MSG_DONTWAIT);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
		if (!got)
			return -ECONNRESET;
		frame_reader_filled(&conn->reader, (size_t)got);
		while ((r = frame_reader_next(&conn->reader, &cursor, &frame, &bytes)) > 0) {
			r = conn_frame(conn, frame, bytes, now_ns);
			if (r)
				return r;
		}
		if (r < 0)
			return r;
		frame_reader_compact(&conn->reader, cursor);
	}
}

/* ---- writing ------------------------------------------------------------------------------ */

static bool item_set(struct conn *conn, enum conn_item item, const uint8_t *out, size_t bytes)
{
	conn->item = item;
	conn->out = out;
	conn->out_bytes = conn->out_left = bytes;
	return true;
}

/* Encodes the current state, which answers every Control up to its seq. */
static size_t state_encode(struct conn *conn)
{
	uint64_t closed = gate_load(&gate_word) & GATE_CLOSED;
	Rtl__ControlDone done = RTL__CONTROL_DONE__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	done.has_seq = done.has_is_recording = done.has_closed = 1;
	done.seq = gate_control_seq();
	done.is_recording = !closed;
	done.closed = (uint32_t)closed;
	done.has_settles = done.settles = 1;
	done.has_settled_frame = closed && conn->is_settled;
	done.settled_frame = recorder_published(conn->recorder);
	frame.body_case = RTL__FRAME__BODY_CONTROL_DONE;
	frame.control_done = &done;
	return msg_packed_bytes(&frame) <= sizeof(conn->control_done)
		       ? msg_pack(&frame, conn->control_done)
		       : 0;
}

/*
 * Chooses what to send next, in the order of the protocol: definitions before what uses them,
 * anchors and counters before the records of a flush. The log is read after the frame was seen
 * published, so it contains everything that the frame uses.
 */
static bool item_next(struct conn *conn)
{
	static const uint8_t bye[] = {2, 0, 0, 0, 10 << 3 | 2, 0};
	const uint8_t *frame, *defines;
	size_t frame_bytes = 0, define_bytes;
	uint64_t number = 0;
	bool has_frame;

	if (conn->state != CONN_STREAMING)
		return false;
	if (conn->wants_state) {
		conn->wants_state = false;
		return item_set(conn, CONN_STATE, conn->control_done, state_encode(conn));
	}
	if (conn->is_fresh)
		return false;
	has_frame = recorder_next_unsent(conn->recorder, &number, &frame, &frame_bytes);
	defines = recorder_defines_from(conn->recorder, conn->define_bytes, &define_bytes);
	if (define_bytes)
		return item_set(conn, CONN_DEFINES, defines, define_bytes);
	if (conn->has_telemetry)
		return item_set(conn, CONN_TELEMETRY, conn->telemetry, conn->telemetry_bytes);
	if (has_frame && number <= conn->limit) {
		conn->out_number = number;
		return item_set(conn, CONN_RECORDS, frame, frame_bytes);
	}
	if (!has_frame && conn->wants_bye && !conn->has_said_bye)
		return item_set(conn, CONN_BYE, bye, sizeof(bye));
	return false;
}

static void item_done(struct conn *conn)
{
	switch (conn->item) {
	case CONN_DEFINES:
		conn->define_bytes += conn->out_bytes;
		break;
	case CONN_TELEMETRY:
		conn->has_telemetry = false;
		conn->limit = conn->next_limit;
		break;
	case CONN_RECORDS:
		recorder_sent(conn->recorder, conn->out_number);
		break;
	case CONN_BYE:
		conn->has_said_bye = true;
		break;
	default:
		break;
	}
	conn->item = CONN_NOTHING;
}

/* The first bytes of Hello carry the memfd. */
static ssize_t hello_send(struct conn *conn)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {.bytes = {0}};
	struct iovec vector = {(void *)(uintptr_t)conn->out, conn->out_left};
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	/* The descriptor must not be a file of the program. */
	if (!fd_is(conn->recorder->fd, conn->recorder->fd_mark)) {
		errno = EBADF;
		return -1;
	}
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &conn->recorder->fd, sizeof(int));
	return sendmsg(conn->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int conn_write(struct conn *conn)
{
	size_t written = 0;

	while (written < STEP_BYTES_MAX) {
		ssize_t put;

		if (conn->item == CONN_NOTHING && !item_next(conn))
			return 0;
		if (conn->item == CONN_HELLO && conn->out_left == conn->out_bytes)
			put = hello_send(conn);
		else
			put = send(
				conn->fd, conn->out, conn->out_left, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
		FAULT_POINT("mid_send");
		conn->out += put;
		conn->out_left -= (size_t)put;
		written += (size_t)put;
		if (!conn->out_left)
			item_done(conn);
	}
	return 0;
}

void conn_greet(struct conn *conn, uint64_t now_ns)
{
	conn_connect(conn, now_ns);
	/* The next step handles an error. */
	if (conn->state != CONN_AWAY)
		(void)conn_write(conn);
}

void conn_step(struct conn *conn, uint64_t now_ns)
{
	int r;

	if (conn->state == CONN_AWAY) {
		if (now_ns < conn->next_try_ns && !conn->has_last_try)
			return;
		conn_connect(conn, now_ns);
		if (conn->state == CONN_AWAY)
			return;
	} else if (!fd_is(conn->fd, conn->fd_mark)) {
		slog_debug(1, "connection ended: the program closed it");
		conn_close(conn, now_ns);
		return;
	}
	/* The peer's last message is read even if writing to it fails. */
	r = conn_write(conn);
	if (!r || r == -EPIPE || r == -ECONNRESET) {
		int read_r = conn_read(conn, now_ns);

		/*
		 * The program may have closed the descriptor and opened a file of its own under the
		 * number.
		 */
		if (fd_is(conn->fd, conn->fd_mark))
			conn_misunderstood(conn, read_r);
		r = read_r ? read_r : r;
	}
	if (r) {
		slog_debug(1, "connection ended: %s", strerror(-r));
		conn_close(conn, now_ns);
	}
}

short conn_events(const struct conn *conn)
{
	return (short)(POLLIN | (conn->out_left ? POLLOUT : 0));
}

uint8_t *conn_telemetry(const struct conn *conn, bool *ret_is_whole)
{
	if (conn->state != CONN_STREAMING || conn->has_telemetry)
		return NULL;
	*ret_is_whole = conn->is_fresh;
	return conn->telemetry;
}

void conn_put_telemetry(struct conn *conn, size_t bytes)
{
	uint64_t limit = recorder_published(conn->recorder);

	conn->is_fresh = false;
	conn->telemetry_bytes = bytes;
	conn->has_telemetry = bytes != 0;
	if (bytes)
		conn->next_limit = limit;
	else
		conn->limit = limit;
}

bool conn_wants_telemetry(const struct conn *conn)
{
	return conn->state == CONN_STREAMING && !conn->has_telemetry &&
	       (conn->is_fresh || recorder_published(conn->recorder) > conn->limit);
}

void conn_tell_state(struct conn *conn)
{
	conn->wants_state = true;
}

void conn_settle(struct conn *conn, bool is_settled)
{
	conn->wants_state |= is_settled && !conn->is_settled;
	conn->is_settled = is_settled;
}

void conn_bye(struct conn *conn)
{
	conn->wants_bye = true;
}

void conn_hurry(struct conn *conn)
{
	/* A collector that has refused us recently would do so again, and count it. */
	conn->has_last_try = !conn->is_refused;
}

void conn_last_words(struct conn *conn)
{
	if (conn->state == CONN_AWAY)
		conn_complain(conn);
}

/* Whether nothing is left to write. */
static bool is_drained(const struct conn *conn)
{
	const uint8_t *frame;
	size_t bytes;
	uint64_t number;

	return conn->item == CONN_NOTHING && !conn->has_telemetry &&
	       !recorder_next_unsent(conn->recorder, &number, &frame, &bytes) &&
	       (!conn->wants_bye || conn->has_said_bye);
}

bool conn_is_busy(const struct conn *conn)
{
	switch (conn->state) {
	case CONN_STREAMING:
		return !is_drained(conn);
	case CONN_GREETING:
		return conn->item == CONN_HELLO;
	default:
		return conn->has_last_try;
	}
}
