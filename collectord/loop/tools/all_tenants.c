/* SPDX-License-Identifier: MIT */
#include "collectord/loop/tools/all_tenants.h"

#include <errno.h>
#include <limits.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "collectord/channel/channel.h"
#include "collectord/loop/connections/worker.h"
#include "collectord/loop/tools/overview.h"
#include "collectord/loop/tools/merged_replies.h"
#include "collectord/loop/connections/peer.h"
#include "collectord/loop/connections/peer_limits.h"
#include "collectord/loop/connections/state.h"
#include "collectord/service/config.h"
#include "collectord/service/container.h"
#include "collectord/loop/connections/timers.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"
#include "proto/base/subordinate_uids.h"
#include "proto/base/list.h"
#include "proto/wire/frame.h"

/*
 * Timeouts: for a request that workers answer from memory, and for one that processes must answer.
 */
#define ANSWER_MS	  2000u
#define CONTROL_MS	  (CONTROL_ANSWER_MS + ANSWER_MS)
/* Timeout of a flush, in which each worker commits everything that it has received. */
#define FLUSH_MS	  30000u
#define ANSWERERS_MAX	  257u /* all workers and the index of the node */
#define ARENA_OF_REPLY	  (16u * REPLY_BYTES_MAX)
#define SILENT_TEXT_BYTES 512u
#define SILENT_REST_BYTES 32u /* for what comes after the tenants */
#define NODE		  ((uid_t)-1)

struct answerer {
	struct answerer *next;
	struct asking *asking;
	uid_t owner; /* NODE: the index of the node */
	char container[CONTAINER_NAME_BYTES];
	int fd;
	struct event *readable;
	struct frame_reader reader;
	struct msg_arena arena;
	Rtl__Frame *reply; /* NULL: no reply yet, or none at all */
	bool is_done;
};

struct asking {
	struct asking *next;
	struct server *server;
	struct peer *peer; /* NULL: the tool has hung up */
	uint64_t number;
	bool is_ctl_status; /* ctl status of all sessions: the reply begins with a line about the
			     * node */
	int kind;	    /* the message type that every reply must have */
	uint8_t *request;   /* with its length prefix */
	size_t bytes;
	struct answerer *answerers;
	unsigned n_answerers;
	unsigned n_open;    /* answerers that have not replied */
	unsigned n_workers; /* answerers that are workers */
	unsigned n_meant;   /* the number of workers that should answer */
	bool is_listed;	    /* the supervisor has named every answerer */
	struct event *deadline;
};

static struct answerer *answerer_free(struct answerer *answerer)
{
	event_done(answerer->readable);
	close_p(&answerer->fd);
	frame_reader_done(&answerer->reader);
	msg_arena_done(&answerer->arena);
	free(answerer);
	return NULL;
}

static void asking_free(struct asking *asking)
{
	LIST_REMOVE(asking->server->askings, asking, next);
	while (asking->answerers)
		answerer_free(LIST_POP(asking->answerers));
	event_done(asking->deadline);
	free(asking->request);
	free(asking);
}

/* ---- replying to the tool ---------------------------------------------------------------- */

static void send_reply(const Rtl__Frame *reply, void *data)
{
	peer_send(data, reply);
}

/* Lists the answerers that did not reply, as in "uid 1000, uid 1001". Returns NULL if all have. */
static const char *name_silent(const struct asking *asking, char ret[SILENT_TEXT_BYTES])
{
	bool has_more = !asking->is_listed || asking->n_workers < asking->n_meant;
	bool has_node = asking->kind != RTL__FRAME__BODY_SESSIONS_REPLY;
	char words[CONTAINER_WORDS_BYTES];
	size_t at = 0;

	for (const struct answerer *a = asking->answerers; a; a = a->next) {
		has_node |= a->owner == NODE && a->reply;
		if (a->reply || a->owner == NODE)
			continue;
		(void)container_words(a->owner, a->container, words);
		if (at + strlen(words) + SILENT_REST_BYTES > SILENT_TEXT_BYTES) {
			has_more = true;
			continue;
		}
		at += (size_t)snprintf(
			ret + at, SILENT_TEXT_BYTES - at, "%s%s", at ? ", " : "", words);
	}
	if (has_more)
		at += (size_t)snprintf(
			ret + at, SILENT_TEXT_BYTES - at, "%sothers", at ? ", " : "");
	if (!has_node)
		at += (size_t)snprintf(
			ret + at, SILENT_TEXT_BYTES - at, "%sindex.db", at ? ", " : "");
	return at ? ret : NULL;
}

static void write_status(const struct server *server, char *ret, size_t bytes)
{
	struct overview_totals all = overview_totals(server);

	snprintf(ret, bytes,
		"collectord " RTL_VERSION " pid %d, store %s, %u sessions, %u processes, "
		"%u connections, ",
		worker_pid(server), server->config->store_path, all.sessions, all.processes,
		all.connections);
}

/* The sessions of a container lie in the folder of its number. */
static uid_t tenant_of(const struct config *config, const Rtl__SessionInfo *info)
{
	CLEANUP(free_p) char *path = msg_string(info->has_database, &info->database, PATH_MAX);
	size_t bytes = strlen(config->store_path);
	unsigned long number = 0;

	if (path && !strncmp(path, config->store_path, bytes) && path[bytes] == '/')
		number = strtoul(path + bytes + 1, NULL, 10);
	return number <= UINT32_MAX && container_is_tenant((uid_t)number)
		       ? (uid_t)number
		       : subuids_owner(config->subuids, info->uid);
}

static bool has_told(const struct asking *asking, const Rtl__SessionInfo *info)
{
	uid_t owner = tenant_of(asking->server->config, info);

	for (const struct answerer *a = asking->answerers; a; a = a->next)
		if (a->owner == owner && a->reply)
			return true;
	return false;
}

/* Drops the index's rows of each tenant whose own worker has replied: the worker knows better. */
static void leave_out_told(struct asking *asking)
{
	for (struct answerer *a = asking->answerers; a; a = a->next) {
		Rtl__SessionsReply *reply =
			a->owner == NODE && a->reply ? a->reply->sessions_reply : NULL;
		size_t kept = 0;

		for (size_t i = 0; reply && i < reply->n_sessions; i++)
			if (!has_told(asking, reply->sessions[i]))
				reply->sessions[kept++] = reply->sessions[i];
		if (reply)
			reply->n_sessions = kept;
	}
}

/* Runs when every answerer has replied or the timeout has expired. */
static void on_deadline(evutil_socket_t fd, short what, void *data)
{
	struct asking *asking = data;
	Rtl__Frame *replies[ANSWERERS_MAX];
	char silent[SILENT_TEXT_BYTES], status[1024];
	struct merge merge = {.replies = replies, .silent = name_silent(asking, silent)};
	struct peer *peer = asking->peer;
	int r = 0;

	(void)fd;
	(void)what;
	leave_out_told(asking);
	for (const struct answerer *a = asking->answerers; a; a = a->next)
		replies[merge.count++] = a->reply;
	if (asking->is_ctl_status) {
		write_status(asking->server, status, sizeof(status));
		merge.status = status;
	}
	if (peer && !peer->is_ended)
		r = merge_replies(&merge, send_reply, peer);
	asking_free(asking);
	if (!peer || peer->is_ended)
		return;
	if (r < 0) {
		peer_close(peer);
		return;
	}
	peer_limits_request(peer);
	if (!peer->is_held && !peer->is_waiting)
		peer_resume(peer);
}

/* The reply is sent from the loop, because the caller may still be using @asking. */
static void check(struct asking *asking)
{
	if (asking->is_listed && !asking->n_open)
		event_active(asking->deadline, EV_TIMEOUT, 1);
}

/* ---- the answerers ----------------------------------------------------------------------- */

static void answered(struct answerer *answerer)
{
	if (answerer->is_done)
		return;
	answerer->is_done = true;
	event_del(answerer->readable);
	close_fd(&answerer->fd);
	answerer->asking->n_open--;
	check(answerer->asking);
}

static void on_reply(evutil_socket_t fd, short what, void *data)
{
	struct answerer *answerer = data;
	const uint8_t *frame = NULL;
	uint8_t *at = NULL;
	size_t bytes = 0, cursor = 0;
	ssize_t got;

	(void)what;
	if (frame_reader_space(&answerer->reader, &at, &bytes) < 0) {
		answered(answerer);
		return;
	}
	got = recv(fd, at, bytes, MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		answered(answerer);
		return;
	}
	frame_reader_filled(&answerer->reader, (size_t)got);
	if (frame_reader_next(&answerer->reader, &cursor, &frame, &bytes) == 0)
		return;
	if (frame && (msg_unpack(&answerer->arena, frame, bytes, &answerer->reply) < 0 ||
			     (int)answerer->reply->body_case != answerer->asking->kind))
		answerer->reply = NULL;
	answered(answerer);
}

static void add_answerer(struct asking *asking, uid_t owner, const char *container, int fd)
{
	struct answerer *answerer = calloc(1, sizeof(*answerer));

	if (!answerer) {
		close_p(&fd);
		return;
	}
	answerer->asking = asking;
	answerer->owner = owner;
	strcpy(answerer->container, container);
	answerer->fd = fd;
	frame_reader_init(&answerer->reader, REPLY_BYTES_MAX);
	msg_arena_init(&answerer->arena, ARENA_OF_REPLY);
	answerer->readable =
		event_new(asking->server->base, fd, EV_READ | EV_PERSIST, on_reply, answerer);
	answerer->next = asking->answerers;
	asking->answerers = answerer;
	asking->n_answerers++;
	asking->n_workers += owner != NODE;
	asking->n_open++;
	/* The socket buffer is empty and holds a whole request, so a short send is an error. */
	if (!answerer->readable || event_add(answerer->readable, NULL) < 0)
		answered(answerer);
	else if (owner != NODE && send(fd, asking->request, asking->bytes,
					  MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)asking->bytes)
		answered(answerer);
}

void all_tenants_take(struct server *server, const struct channel_message *message, int fd)
{
	struct asking *asking = server->askings;

	while (asking && asking->number != message->number)
		asking = asking->next;
	if (!asking || message->kind == CHANNEL_ANSWERERS_END || fd < 0 ||
		(message->kind == CHANNEL_NODE_ANSWERER &&
			asking->kind != RTL__FRAME__BODY_SESSIONS_REPLY) ||
		asking->n_answerers == ANSWERERS_MAX)
		close_p(&fd);
	else
		add_answerer(asking, message->kind == CHANNEL_NODE_ANSWERER ? NODE : message->owner,
			message->name, fd);
	if (asking && message->kind == CHANNEL_ANSWERERS_END) {
		asking->is_listed = true;
		asking->n_meant = message->owner;
		check(asking);
	}
}

/* ---- the request ------------------------------------------------------------------------- */

static unsigned classify(struct asking *asking, const Rtl__Frame *request)
{
	const Rtl__CtlRequest *ctl = request->ctl_request;

	if (request->body_case == RTL__FRAME__BODY_STAT_REQUEST) {
		asking->kind = RTL__FRAME__BODY_STAT_REPLY;
		return ANSWER_MS;
	}
	if (request->body_case == RTL__FRAME__BODY_SESSIONS_REQUEST) {
		asking->kind = RTL__FRAME__BODY_SESSIONS_REPLY;
		return ANSWER_MS;
	}
	asking->kind = RTL__FRAME__BODY_CTL_REPLY;
	if (ctl->verb.len == 6 && !memcmp(ctl->verb.data, "status", 6)) {
		asking->is_ctl_status = !ctl->has_session || !ctl->session.len;
		return ANSWER_MS;
	}
	return ctl->verb.len == 5 && !memcmp(ctl->verb.data, "flush", 5) ? FLUSH_MS : CONTROL_MS;
}

static int ask(struct peer *peer, const Rtl__Frame *request, const uint8_t *data, size_t bytes)
{
	struct server *server = peer->server;
	struct asking *asking = calloc(1, sizeof(*asking));
	unsigned ms;

	if (!asking)
		return -ENOMEM;
	asking->server = server;
	asking->peer = peer;
	asking->number = ++server->askings_ever;
	asking->next = server->askings;
	server->askings = asking;
	ms = classify(asking, request);
	asking->bytes = FRAME_PREFIX_BYTES + bytes;
	asking->request = malloc(asking->bytes);
	asking->deadline = evtimer_new(server->base, on_deadline, asking);
	if (!asking->request || !asking->deadline || timer_start(asking->deadline, ms) < 0 ||
		worker_tell(server, CHANNEL_ASK_ALL, asking->number) < 0) {
		asking_free(asking);
		return -ENOMEM;
	}
	frame_put_length(asking->request, (uint32_t)bytes);
	memcpy(asking->request + FRAME_PREFIX_BYTES, data, bytes);
	return 0;
}

void all_tenants_ask(
	struct peer *peer, const Rtl__Frame *request, const uint8_t *data, size_t bytes)
{
	if (ask(peer, request, data, bytes) < 0) {
		peer_refuse(peer, "%s", peer_no_memory);
		return;
	}
	peer_pause(peer);
}

void all_tenants_closed(struct peer *peer)
{
	for (struct asking *a = peer->server->askings; a; a = a->next)
		if (a->peer == peer)
			a->peer = NULL;
}

bool all_tenants_is_asking(const struct server *server)
{
	return server->askings != NULL;
}

void all_tenants_done(struct server *server)
{
	while (server->askings)
		asking_free(server->askings);
}
