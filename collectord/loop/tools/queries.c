/* SPDX-License-Identifier: MIT */
#include "collectord/loop/tools/queries.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/loop/tools/overview.h"
#include "collectord/loop/sessions/access.h"
#include "collectord/loop/tools/all_tenants.h"
#include "collectord/service/config.h"
#include "collectord/loop/tools/ctl.h"
#include "collectord/loop/sessions/instance.h"
#include "collectord/loop/tools/kept_sessions.h"
#include "collectord/loop/connections/peer.h"
#include "collectord/loop/tools/removed_sessions.h"
#include "collectord/loop/sessions/runner.h"
#include "collectord/loop/connections/state.h"
#include "collectord/loop/connections/worker.h"
#include "collectord/loop/sessions/session.h"
#include "collectord/store/store.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"

#define REPLY_ROWS_MAX	     16384u
#define REPLY_SESSIONS_MAX   2048u
/*
 * Bytes for the command lines of all sessions; the rest of so many SessionInfos takes twice as
 * much.
 */
#define REPLY_COMMANDS_BYTES (1u << 20)
/* Room for the remaining, short fields of a reply. */
#define REPLY_SPARE_BYTES    (64u << 10)
/* Tag and length of a field in a message. */
#define PART_BYTES	     4u

/* A reply under construction. Its rows borrow their texts from the sessions or from @texts. */
struct reply {
	Rtl__SessionInfo *infos;
	Rtl__SessionInfo **info_list;
	struct store_session_stat *stats;
	const struct session **sessions; /* parallel to infos; removed sessions have none */
	size_t n_infos;
	Rtl__StatRow *rows;
	Rtl__StatRow **row_list;
	char **texts; /* one per row at most */
	size_t n_texts;
	size_t n_rows;
	size_t rows_capacity;
	size_t bytes;	   /* packed size of infos and rows */
	uint32_t left_out; /* processes without a row */
	char container[CONTAINER_NAME_BYTES];
	bool is_container; /* all sessions are of @container */
};

/* What the rows of one session may use. */
struct share {
	size_t rows;
	size_t bytes;
	bool is_full;
};

static void reply_done(struct reply *reply)
{
	for (size_t i = 0; i < reply->n_texts; i++)
		free(reply->texts[i]);
	free(reply->texts);
	free(reply->infos);
	free(reply->info_list);
	free(reply->stats);
	free(reply->sessions);
	free(reply->rows);
	free(reply->row_list);
}

static size_t count_sessions(const struct server *server)
{
	size_t n = 0;

	for (const struct session *s = server->sessions; s && n < REPLY_SESSIONS_MAX; s = s->next)
		n++;
	for (const struct removed *r = server->removed; r && n < REPLY_SESSIONS_MAX; r = r->next)
		n++;
	return n;
}

static int reply_init(struct reply *reply, const struct server *server)
{
	size_t n = count_sessions(server) + 1;

	*reply = (struct reply){0};
	reply->is_container = worker_container(server, reply->container) != NULL;
	reply->infos = calloc(n, sizeof(*reply->infos));
	reply->info_list = calloc(n, sizeof(Rtl__SessionInfo *));
	reply->stats = calloc(n, sizeof(*reply->stats));
	reply->sessions = calloc(n, sizeof(const struct session *));
	return reply->infos && reply->info_list && reply->stats && reply->sessions ? 0 : -ENOMEM;
}

static void begin_info(struct reply *reply, Rtl__SessionInfo *info)
{
	*info = (Rtl__SessionInfo)RTL__SESSION_INFO__INIT;
	reply->info_list[reply->n_infos++] = info;
	if (reply->is_container)
		msg_set_bytes(&info->has_container, &info->container, reply->container);
}

static void add_session(struct reply *reply, const struct session *session)
{
	Rtl__SessionInfo *info = &reply->infos[reply->n_infos];
	struct store_session_stat *stat = &reply->stats[reply->n_infos];

	reply->sessions[reply->n_infos] = session;
	begin_info(reply, info);
	msg_set_bytes(&info->has_session, &info->session, session->name);
	msg_set_bytes(&info->has_job, &info->job, session->job);
	msg_set_bytes(&info->has_database, &info->database, session->database);
	msg_set_bytes(&info->has_command, &info->command, session->command);
	MSG_SET(info, uid, session->uid);
	MSG_SET(info, start_realtime_ns, session->start_realtime_ns);
	MSG_SET(info, closed, session->state == SESSION_CLOSED);
	MSG_SET(info, live_processes, session_live_instances(session));
	MSG_SET(info, runners, session_waiting_runners(session));
	msg_set_bytes(&info->has_complete, &info->complete, session->line);
	if (!session->store)
		return;
	store_session_stat(session->store, stat);
	MSG_SET(info, simulated, stat->simulated);
	info->has_processes = true;
	/* New processes may not be stored yet. */
	info->processes =
		stat->processes > info->live_processes ? stat->processes : info->live_processes;
	MSG_SET(info, dispatched, stat->dispatched);
	MSG_SET(info, stored, stat->stored);
	MSG_SET(info, lost, stat->lost);
	MSG_SET(info, missing, stat->missing);
	MSG_SET(info, database_bytes, stat->database_bytes);
	if (stat->start_realtime_ns)
		info->start_realtime_ns = stat->start_realtime_ns;
	msg_set_bytes(&info->has_complete, &info->complete, stat->line);
}

static void add_removed(struct reply *reply, const struct removed *removed)
{
	Rtl__SessionInfo *info = &reply->infos[reply->n_infos];

	begin_info(reply, info);
	msg_set_bytes(&info->has_session, &info->session, removed->name);
	msg_set_bytes(&info->has_job, &info->job, removed->job);
	MSG_SET(info, uid, removed->uid);
	MSG_SET(info, start_realtime_ns, removed->start_realtime_ns);
	MSG_SET(info, closed, true);
	MSG_SET(info, stored, removed->stored);
	MSG_SET(info, database_bytes, removed->bytes);
	MSG_SET(info, removed_realtime_ns, removed->removed_realtime_ns);
	msg_set_bytes(&info->has_removed_why, &info->removed_why, removed->why);
}

static int make_room(struct reply *reply, size_t n)
{
	size_t capacity = reply->rows_capacity ? reply->rows_capacity * 2 : 256;
	Rtl__StatRow *rows;
	char **texts;

	if (reply->n_rows + n <= reply->rows_capacity)
		return 0;
	while (capacity < reply->n_rows + n)
		capacity *= 2;
	rows = reallocarray(reply->rows, capacity, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	reply->rows = rows;
	texts = reallocarray(reply->texts, capacity, sizeof(*texts));
	if (!texts)
		return -ENOMEM;
	reply->texts = texts;
	reply->rows_capacity = capacity;
	return 0;
}

static void fill_numbers(Rtl__StatRow *row, const struct store_gpu_stat *gpu)
{
	MSG_SET(row, gpu_id, gpu->gpu_id);
	MSG_SET(row, dispatched, gpu->dispatched);
	MSG_SET(row, stored, gpu->stored);
	MSG_SET(row, untimed, gpu->untimed);
	MSG_SET(row, dropped, gpu->dropped + gpu->torn);
	MSG_SET(row, skipped, gpu->skipped);
	MSG_SET(row, outstanding, gpu->outstanding);
	MSG_SET(row, pending, gpu->pending);
	MSG_SET(row, busy_ns, gpu->busy_ns);
	row->has_last_dispatch_ns = gpu->last_end_ns != 0;
	row->last_dispatch_ns = gpu->last_end_ns;
}

static void fill_row(Rtl__StatRow *row, const struct instance *instance,
	const struct store_process_stat *stat, const char *exe)
{
	*row = (Rtl__StatRow)RTL__STAT_ROW__INIT;
	msg_set_bytes(&row->has_session, &row->session, instance->session->name);
	MSG_SET(row, uid, instance->session->uid);
	row->has_process_id = stat->process_id != 0;
	row->process_id = stat->process_id;
	MSG_SET(row, pid, instance->identity.pid);
	row->has_rank = stat->has_rank;
	row->rank = stat->rank;
	msg_set_bytes(&row->has_state, &row->state, instance_state_name(instance));
	msg_set_bytes(&row->has_exe, &row->exe, exe);
	row->has_closed = instance->control.is_told;
	row->closed = instance->control.closed;
}

/*
 * Adds one row for each GPU, or one row without a GPU for a process that has none yet. Adds all of
 * them or none.
 */
static int add_instance(struct reply *reply, const struct instance *instance, struct share *share)
{
	static struct store_process_stat stat; /* static because it has 6 KiB; only the loop
						* thread uses it */
	size_t n, bytes = 0;
	char *exe;

	stat = (struct store_process_stat){0};
	if (instance->store)
		store_process_stat(instance->store, &stat);
	n = stat.gpus ? stat.gpus : 1;
	if (make_room(reply, n) < 0)
		return -ENOMEM;
	exe = strdup(stat.exe);
	if (!exe)
		return -ENOMEM;
	reply->texts[reply->n_texts++] = exe;
	for (size_t i = 0; i < n; i++) {
		Rtl__StatRow *row = &reply->rows[reply->n_rows + i];

		fill_row(row, instance, &stat, exe);
		if (stat.gpus)
			fill_numbers(row, &stat.gpu[i]);
		bytes += PART_BYTES + rtl__stat_row__get_packed_size(row);
	}
	share->is_full = n > share->rows || bytes > share->bytes;
	if (share->is_full) {
		free(reply->texts[--reply->n_texts]);
		return 0;
	}
	share->rows -= n;
	share->bytes -= bytes;
	reply->n_rows += n;
	reply->bytes += bytes;
	return 0;
}

/* When one process does not fit, the remaining ones of the session are only counted. */
static int add_instances(
	struct reply *reply, const struct session *session, bool is_live, struct share *share)
{
	for (const struct instance *i = session->instances; i; i = i->next) {
		if (instance_is_live(i) != is_live)
			continue;
		if (!share->is_full && add_instance(reply, i, share) < 0)
			return -ENOMEM;
		reply->left_out += share->is_full;
	}
	return 0;
}

static int compare_sizes(const void *a, const void *b)
{
	const struct session *const *x = a, *const *y = b;

	return ((*x)->n_instances > (*y)->n_instances) - ((*x)->n_instances < (*y)->n_instances);
}

/*
 * Gives the session an equal share of what is left for the @sessions still to come. Live processes
 * come first.
 */
static int add_rows_of(struct reply *reply, const struct session *session, size_t sessions)
{
	const size_t most = REPLY_BYTES_MAX - REPLY_SPARE_BYTES;
	struct share share = {
		.rows = (REPLY_ROWS_MAX - reply->n_rows) / sessions,
		.bytes = reply->bytes < most ? (most - reply->bytes) / sessions : 0,
	};
	int r = add_instances(reply, session, true, &share);

	return r < 0 ? r : add_instances(reply, session, false, &share);
}

/*
 * Takes the smallest sessions first: the share that they do not use goes to the larger ones, so a
 * session with many processes does not displace the rows of others.
 */
static int add_rows(struct reply *reply)
{
	size_t n = reply->n_infos;
	int r = 0;

	qsort(reply->sessions, n, sizeof(*reply->sessions), compare_sizes);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_rows_of(reply, reply->sessions[i], n - i);
	return r;
}

/* Cuts the text without splitting a UTF-8 character. */
static void cut(ProtobufCBinaryData *text, size_t bytes)
{
	if (text->len <= bytes)
		return;
	while (bytes && (text->data[bytes] & 0xc0) == 0x80)
		bytes--;
	text->len = bytes;
}

/*
 * Shortens the command lines so that every session fits, and drops the sessions that still do not.
 */
static void fit_infos(struct reply *reply)
{
	size_t n = 0, most = REPLY_BYTES_MAX - REPLY_SPARE_BYTES;

	for (; n < reply->n_infos; n++) {
		Rtl__SessionInfo *info = reply->info_list[n];
		size_t bytes;

		cut(&info->command, REPLY_COMMANDS_BYTES / reply->n_infos);
		bytes = PART_BYTES + rtl__session_info__get_packed_size(info);
		if (bytes > most - reply->bytes)
			break;
		reply->bytes += bytes;
	}
	reply->n_infos = n;
}

static int list_rows(struct reply *reply)
{
	reply->row_list = calloc(reply->n_rows + 1, sizeof(Rtl__StatRow *));
	if (!reply->row_list)
		return -ENOMEM;
	for (size_t i = 0; i < reply->n_rows; i++)
		reply->row_list[i] = &reply->rows[i];
	return 0;
}

/*
 * Without a name, selects the open sessions; with a name, that session, closed or not: of those
 * that were closed before the service started by their own name, since many may have one job's.
 */
static bool is_asked_for(struct peer *peer, const struct session *session, const char *name)
{
	if (!name)
		return session->state != SESSION_CLOSED &&
		       access_may_see(peer->server, peer, session->uid);
	if (session->state == SESSION_CLOSED && session->is_past && strcmp(session->name, name))
		return false;
	return access_is_named(peer->server, peer, session, name);
}

static int collect_stat(struct peer *peer, const char *name, struct reply *reply)
{
	int r;

	for (const struct session *s = peer->server->sessions; s; s = s->next)
		if (is_asked_for(peer, s, name) && reply->n_infos < REPLY_SESSIONS_MAX)
			add_session(reply, s);
	fit_infos(reply);
	r = add_rows(reply);
	return r < 0 ? r : list_rows(reply);
}

/* Only the service reports totals: a private collector serves one session. */
static void put_totals(const struct server *server, Rtl__NodeTotals *totals, Rtl__StatReply *stat)
{
	struct overview_totals all = overview_totals(server);

	if (server->config->is_private)
		return;
	*totals = (Rtl__NodeTotals)RTL__NODE_TOTALS__INIT;
	totals->has_sessions = totals->has_processes = totals->has_connections = true;
	totals->sessions = all.sessions;
	totals->processes = all.processes;
	totals->connections = all.connections;
	stat->node = totals;
}

static void answer_stat(struct peer *peer, const Rtl__StatRequest *request)
{
	CLEANUP(free_p)
	char *name = msg_string(
		request->has_session && request->session.len, &request->session, LABEL_BYTES_MAX);
	CLEANUP(reply_done) struct reply reply = {0};
	Rtl__StatReply stat = RTL__STAT_REPLY__INIT;
	char state[OVERVIEW_STATE_BYTES];
	Rtl__NodeTotals totals;
	Rtl__Frame frame = RTL__FRAME__INIT;

	if (reply_init(&reply, peer->server) < 0 || collect_stat(peer, name, &reply) < 0) {
		peer_close(peer);
		return;
	}
	MSG_SET(&stat, time_ns, clock_boottime_ns());
	stat.n_sessions = reply.n_infos;
	stat.sessions = reply.info_list;
	stat.n_rows = reply.n_rows;
	stat.rows = reply.row_list;
	stat.has_left_out = reply.left_out > 0;
	stat.left_out = reply.left_out;
	msg_set_bytes(&stat.has_state, &stat.state, overview_state(peer->server, peer, state));
	put_totals(peer->server, &totals, &stat);
	frame.body_case = RTL__FRAME__BODY_STAT_REPLY;
	frame.stat_reply = &stat;
	peer_send(peer, &frame);
}

static void answer_sessions(struct peer *peer)
{
	CLEANUP(reply_done) struct reply reply = {0};
	Rtl__SessionsReply sessions = RTL__SESSIONS_REPLY__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	if (reply_init(&reply, peer->server) < 0) {
		peer_close(peer);
		return;
	}
	for (const struct session *s = peer->server->sessions; s; s = s->next)
		if (access_may_see(peer->server, peer, s->uid) &&
			reply.n_infos < REPLY_SESSIONS_MAX)
			add_session(&reply, s);
	for (const struct removed *r = peer->server->removed; r; r = r->next)
		if (access_may_see(peer->server, peer, r->uid) &&
			reply.n_infos < REPLY_SESSIONS_MAX)
			add_removed(&reply, r);
	fit_infos(&reply);
	if (kept_sessions_list(peer->server, peer,
		    REPLY_BYTES_MAX - REPLY_SPARE_BYTES - reply.bytes, &sessions) < 0) {
		peer_close(peer);
		return;
	}
	sessions.n_sessions = reply.n_infos;
	sessions.sessions = reply.info_list;
	frame.body_case = RTL__FRAME__BODY_SESSIONS_REPLY;
	frame.sessions_reply = &sessions;
	peer_send(peer, &frame);
	free(sessions.kept);
}

int tool_is_request(const Rtl__Frame *frame)
{
	return frame->body_case == RTL__FRAME__BODY_STAT_REQUEST ||
	       frame->body_case == RTL__FRAME__BODY_SESSIONS_REQUEST ||
	       frame->body_case == RTL__FRAME__BODY_CTL_REQUEST;
}

static bool has_common_version(const Rtl__Frame *frame)
{
	const Rtl__StatRequest *stat = frame->stat_request;
	const Rtl__SessionsRequest *sessions = frame->sessions_request;
	const Rtl__CtlRequest *ctl = frame->ctl_request;

	switch (frame->body_case) {
	case RTL__FRAME__BODY_STAT_REQUEST:
		return msg_common_version((int)stat->has_version_min, stat->version_min,
			(int)stat->has_version_max, stat->version_max);
	case RTL__FRAME__BODY_SESSIONS_REQUEST:
		return msg_common_version((int)sessions->has_version_min, sessions->version_min,
			(int)sessions->has_version_max, sessions->version_max);
	default:
		return msg_common_version((int)ctl->has_version_min, ctl->version_min,
			(int)ctl->has_version_max, ctl->version_max);
	}
}

static void answer(struct peer *peer, const Rtl__Frame *frame, const uint8_t *data, size_t bytes)
{
	if (!has_common_version(frame)) {
		peer_refuse(peer, "this collector speaks protocol %u-%u only", PROTO_VERSION_MIN,
			PROTO_VERSION_MAX);
		return;
	}
	/* Only the workers of other tenants know what this peer may see there. */
	if (peer->server->seat && !peer->is_question && !ctl_is_of_owner(frame) &&
		access_uid(peer->server, peer) == STORE_EVERYBODY) {
		all_tenants_ask(peer, frame, data, bytes);
		return;
	}
	if (frame->body_case == RTL__FRAME__BODY_STAT_REQUEST)
		answer_stat(peer, frame->stat_request);
	else if (frame->body_case == RTL__FRAME__BODY_SESSIONS_REQUEST)
		answer_sessions(peer);
	else
		ctl_answer(peer, frame->ctl_request);
	peer_limits_request(peer);
}

static void tool_frame(struct peer *peer, const uint8_t *data, size_t bytes)
{
	Rtl__Frame *frame = NULL;
	int r = msg_unpack(&peer->server->arena, data, bytes, &frame);

	if (r < 0 || !tool_is_request(frame))
		peer_refuse(peer, "%s", r == -ENOMEM ? peer_no_memory : "that is no request");
	else
		answer(peer, frame, data, bytes);
}

static void tool_closed(struct peer *peer)
{
	all_tenants_closed(peer);
	ctl_closed(peer);
}

static const struct peer_role tool_role = {.frame = tool_frame, .closed = tool_closed};

void tool_greet(struct peer *peer, const Rtl__Frame *frame, const uint8_t *data, size_t bytes)
{
	peer_greeted(peer, &tool_role, NULL, REQUEST_BYTES_MAX);
	answer(peer, frame, data, bytes);
}
