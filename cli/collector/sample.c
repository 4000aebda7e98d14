// SPDX-License-Identifier: MIT
#include "cli/collector/sample.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/collector/places.h"
#include "proto/base/cleanup.h"
#include "proto/names/control.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"

#define SAMPLE_PATH_BYTES 4096

void sample_drop_session(struct sample *sample)
{
	struct sample_session *session = sample->sessions + --sample->session_count;

	free(session->socket);
	free(session->name);
	free(session->job);
	free(session->database);
	free(session->command);
	free(session->line);
	free(session->removed_why);
	free(session->container);
	free(session->hang);
}

void sample_free_p(struct sample **sample)
{
	struct sample *s = *sample;

	if (!s)
		return;
	while (s->session_count)
		sample_drop_session(s);
	for (size_t i = 0; i < s->row_count; i++) {
		free(s->rows[i].state);
		free(s->rows[i].exe);
	}
	for (size_t i = 0; i < s->kept_count; i++)
		free(s->kept[i]);
	free(s->kept);
	free(s->sessions);
	free(s->rows);
	free(s->trouble);
	free(s);
	*sample = NULL;
}

struct sample_session *sample_add_session(struct sample *sample)
{
	struct sample_session *grown =
		grow_by_one(sample->sessions, sample->session_count, sizeof(*grown));

	if (!grown)
		return NULL;
	sample->sessions = grown;
	grown += sample->session_count++;
	memset(grown, 0, sizeof(*grown));
	return grown;
}

/* A later message is as good as the first one. */
static void note_trouble(struct sample *sample, const char *socket, const char *text)
{
	char *line;

	if (asprintf(&line, "%s%s%s", socket ? socket : "", socket ? ": " : "", text) < 0)
		return;
	free(sample->trouble);
	sample->trouble = line;
}

void sample_note(struct sample *sample, const char *text)
{
	note_trouble(sample, NULL, text);
}

static int add_session(struct sample *sample, const char *socket, const Rtl__SessionInfo *info)
{
	struct sample_session *s = sample_add_session(sample);

	if (!s)
		return -ENOMEM;
	s->socket = strdup(socket);
	s->name = msg_string(info->has_session, &info->session, LABEL_BYTES_MAX);
	s->job = msg_string(info->has_job, &info->job, LABEL_BYTES_MAX);
	s->database = msg_string(info->has_database, &info->database, SAMPLE_PATH_BYTES);
	s->command = msg_string(info->has_command, &info->command, COMMAND_BYTES_MAX);
	s->line = msg_string(info->has_complete, &info->complete, COMMAND_BYTES_MAX);
	s->has_counts = info->has_dispatched;
	s->has_uid = info->has_uid;
	s->uid = info->uid;
	s->processes = info->processes;
	s->live_processes = info->live_processes;
	s->start_realtime_ns = info->start_realtime_ns;
	s->dispatched = info->dispatched;
	s->stored = info->stored;
	s->lost = info->lost;
	/* An older collector reports only one of them. */
	s->is_missing = info->lost || info->missing;
	s->bytes = info->database_bytes;
	s->is_closed = info->closed;
	s->is_simulated = info->simulated;
	s->removed_realtime_ns = info->removed_realtime_ns;
	s->removed_why = msg_string(info->has_removed_why, &info->removed_why, COMMAND_BYTES_MAX);
	s->container = msg_string(info->has_container, &info->container, LABEL_BYTES_MAX);
	return 0;
}

/*
 * Two users may have a session of the same name; an older collector does not tell which user a row
 * belongs to.
 */
static bool is_of(const Rtl__StatRow *row, const struct sample_session *session, const char *name)
{
	return session->name && name && !strcmp(session->name, name) &&
	       (!row->has_uid || !session->has_uid || row->uid == session->uid);
}

/* A row names its session; for one that the reply does not list, an empty session is added. */
static int find_session(struct sample *sample, const char *socket, size_t first,
	const Rtl__StatRow *row, size_t *ret)
{
	CLEANUP(free_p) char *name = msg_string(row->has_session, &row->session, LABEL_BYTES_MAX);
	struct sample_session *added;

	for (size_t i = first; i < sample->session_count; i++)
		if (is_of(row, &sample->sessions[i], name)) {
			*ret = i;
			return 0;
		}
	added = sample_add_session(sample);
	if (!added)
		return -ENOMEM;
	added->socket = strdup(socket);
	added->name = TAKE(name);
	added->has_uid = row->has_uid;
	added->uid = row->uid;
	*ret = sample->session_count - 1;
	return 0;
}

static int add_row(struct sample *sample, const char *socket, size_t first, uint64_t time_ns,
	const Rtl__StatRow *in)
{
	struct sample_row *grown = grow_by_one(sample->rows, sample->row_count, sizeof(*grown));
	struct sample_row row = {
		.process_id = in->process_id,
		.pid = in->pid,
		.has_rank = in->has_rank,
		.rank = in->rank,
		.has_gpu = in->has_gpu_id,
		.gpu_id = in->gpu_id,
		.dispatched = in->dispatched,
		.stored = in->stored,
		.untimed = in->untimed,
		.dropped = in->dropped,
		.skipped = in->skipped,
		.outstanding = in->outstanding,
		.pending = in->pending,
		.busy_ns = in->busy_ns,
		.has_last = in->has_last_dispatch_ns && in->last_dispatch_ns,
		.last_ns = in->last_dispatch_ns,
		.time_ns = time_ns,
		.records = in->has_closed ? control_state_name(in->closed) : NULL,
	};

	if (!grown)
		return -ENOMEM;
	sample->rows = grown;
	if (find_session(sample, socket, first, in, &row.session))
		return -ENOMEM;
	row.state = msg_string(in->has_state, &in->state, LABEL_BYTES_MAX);
	row.exe = msg_string(in->has_exe, &in->exe, LABEL_BYTES_MAX);
	grown[sample->row_count++] = row;
	return 0;
}

static void add_totals(struct sample *sample, const Rtl__NodeTotals *node)
{
	if (!node)
		return;
	sample->has_node = true;
	sample->node_sessions += node->sessions;
	sample->node_processes += node->processes;
	sample->node_connections += node->connections;
}

static void note_left_out(struct sample *sample, const char *socket, const Rtl__StatReply *reply)
{
	char text[80];

	if (!reply->left_out)
		return;
	snprintf(text, sizeof(text), "%u processes are not shown: too many for one reply",
		reply->left_out);
	note_trouble(sample, socket, text);
}

static int take_stat(void *data, const char *socket, const Rtl__Frame *frame)
{
	const Rtl__StatReply *reply = frame->stat_reply;
	struct sample *sample = data;
	size_t first = sample->session_count;
	CLEANUP(free_p) char *state = msg_string(reply->has_state, &reply->state, 512);
	int r = 0;

	note_left_out(sample, socket, reply);
	if (state && strcmp(state, "ok") != 0)
		note_trouble(sample, socket, state);
	add_totals(sample, reply->node);
	for (size_t i = 0; i < reply->n_sessions && !r; i++)
		r = add_session(sample, socket, reply->sessions[i]);
	for (size_t i = 0; i < reply->n_rows && !r; i++)
		r = add_row(sample, socket, first, reply->time_ns, reply->rows[i]);
	return r;
}

static int add_kept(struct sample *sample, const ProtobufCBinaryData *path)
{
	char **grown = grow_by_one(sample->kept, sample->kept_count, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	sample->kept = grown;
	grown[sample->kept_count] = msg_string(true, path, SAMPLE_PATH_BYTES);
	sample->kept_count += grown[sample->kept_count] != NULL;
	return 0;
}

static int take_sessions(void *data, const char *socket, const Rtl__Frame *frame)
{
	const Rtl__SessionsReply *reply = frame->sessions_reply;
	int r = 0;

	for (size_t i = 0; i < reply->n_sessions && !r; i++)
		r = add_session(data, socket, reply->sessions[i]);
	for (size_t i = 0; i < reply->n_kept && !r; i++)
		r = add_kept(data, reply->kept + i);
	return r;
}

static int compare_rows(const void *a, const void *b)
{
	const struct sample_row *x = a, *y = b;

	if (x->session != y->session)
		return x->session < y->session ? -1 : 1;
	if (x->has_rank != y->has_rank)
		return x->has_rank ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->process_id != y->process_id)
		return x->process_id < y->process_id ? -1 : 1;
	return (x->gpu_id > y->gpu_id) - (x->gpu_id < y->gpu_id);
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

/* True for job- and a checksum of the job, which the service calls a session; more may follow. */
static bool is_checksum(const char *name)
{
	return name && !strncmp(name, "job-", 4) && strspn(name + 4, "0123456789abcdef") == 16;
}

/* True if a verb takes @other rather than @session where it gets the name of its job. */
static bool is_found_before(
	const struct sample_session *other, const struct sample_session *session)
{
	if (other->is_aside)
		return false;
	if (!other->removed_why != !session->removed_why)
		return !other->removed_why && (is_same_text(other->name, session->job) ||
						      is_same_text(other->job, session->job));
	return is_same_text(other->name, session->job) ||
	       (is_same_text(other->job, session->job) &&
		       other->start_realtime_ns >= session->start_realtime_ns);
}

/* A name means the session that is itself called so; else the newest session of a job of that
 * name. */
static bool is_found_by_job(const struct sample *sample, const struct sample_session *session)
{
	const char *job = session->job;

	if (!is_checksum(session->name) || !job || !places_is_session_name(job))
		return false;
	for (size_t i = 0; i < sample->session_count; i++) {
		const struct sample_session *other = sample->sessions + i;

		if (other != session && is_found_before(other, session))
			return false;
	}
	return true;
}

void sample_name_sessions(struct sample *sample)
{
	for (size_t i = 0; i < sample->session_count; i++)
		sample->sessions[i].is_found_by_job = is_found_by_job(sample, sample->sessions + i);
}

const char *sample_shown_name(const struct sample_session *session)
{
	return session->is_found_by_job ? session->job : session->name;
}

static int take(const char *option, const Rtl__Frame *request, Rtl__Frame__BodyCase expect,
	ask_reply *reply, struct sample **ret)
{
	CLEANUP(sample_free_p) struct sample *sample = calloc(1, sizeof(*sample));
	struct ask_result result;
	int r;

	if (!sample)
		return -ENOMEM;
	r = ask_all(option, request, expect, reply, sample, &result);
	if (r)
		return r;
	sample->time_ns = clock_boottime_ns();
	sample->collectors = result.answered;
	if (result.error && (!result.answered || !ask_is_absent(result.error)))
		note_trouble(sample, NULL, result.text);
	sample_name_sessions(sample);
	if (sample->row_count)
		qsort(sample->rows, sample->row_count, sizeof(*sample->rows), compare_rows);
	sample_rate(sample, NULL);
	*ret = TAKE(sample);
	return 0;
}

int sample_take(const char *option, const char *session, struct sample **ret)
{
	Rtl__StatRequest body = RTL__STAT_REQUEST__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	body.has_version_min = body.has_version_max = 1;
	body.version_min = PROTO_VERSION_MIN;
	body.version_max = PROTO_VERSION_MAX;
	if (session)
		msg_set_bytes(&body.has_session, &body.session, session);
	frame.body_case = RTL__FRAME__BODY_STAT_REQUEST;
	frame.stat_request = &body;
	return take(option, &frame, RTL__FRAME__BODY_STAT_REPLY, take_stat, ret);
}

int sample_take_sessions(const char *option, struct sample **ret)
{
	Rtl__SessionsRequest body = RTL__SESSIONS_REQUEST__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	body.has_version_min = body.has_version_max = 1;
	body.version_min = PROTO_VERSION_MIN;
	body.version_max = PROTO_VERSION_MAX;
	frame.body_case = RTL__FRAME__BODY_SESSIONS_REQUEST;
	frame.sessions_request = &body;
	return take(option, &frame, RTL__FRAME__BODY_SESSIONS_REPLY, take_sessions, ret);
}

/* Process ids are unique only within a database, so the session must be the same, too. */
static const struct sample_row *find_before(
	const struct sample *now, const struct sample_row *row, const struct sample *before)
{
	const struct sample_session *session = now->sessions + row->session;

	for (size_t i = 0; before && i < before->row_count; i++) {
		const struct sample_row *other = before->rows + i;
		const struct sample_session *its = before->sessions + other->session;

		if (other->process_id == row->process_id && other->pid == row->pid &&
			other->has_gpu == row->has_gpu && other->gpu_id == row->gpu_id &&
			is_same_text(session->name, its->name) &&
			is_same_text(session->socket, its->socket))
			return other;
	}
	return NULL;
}

void sample_rate(struct sample *now, const struct sample *before)
{
	for (size_t i = 0; i < now->row_count; i++) {
		struct sample_row *row = now->rows + i;
		const struct sample_row *old = find_before(now, row, before);
		double span_ns, kernels, timed, busy_ns;

		row->kernels_per_s = row->load_pct = row->mean_ns = NAN;
		if (!old || row->time_ns <= old->time_ns || row->stored < old->stored)
			continue;
		span_ns = (double)(row->time_ns - old->time_ns);
		kernels = (double)(row->stored - old->stored);
		timed = kernels - ((double)row->untimed - (double)old->untimed);
		busy_ns = (double)row->busy_ns - (double)old->busy_ns;
		row->kernels_per_s = kernels * 1e9 / span_ns;
		row->load_pct = busy_ns * 100 / span_ns;
		if (timed > 0)
			row->mean_ns = busy_ns / timed;
	}
}
