/* SPDX-License-Identifier: MIT */
#include "collectord/loop/tools/ctl.h"

#include <errno.h>
#include <event2/event.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/loop/connections/worker.h"
#include "collectord/loop/tools/overview.h"
#include "collectord/loop/sessions/access.h"
#include "collectord/service/config.h"
#include "collectord/loop/sessions/recording_control.h"
#include "collectord/loop/tools/ctl_reply.h"
#include "collectord/loop/sessions/instance.h"
#include "collectord/loop/connections/peer.h"
#include "collectord/loop/connections/state.h"
#include "collectord/loop/sessions/session.h"
#include "collectord/store/store.h"
#include "collectord/loop/connections/timers.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/names/control.h"
#include "proto/base/limits.h"
#include "proto/base/list.h"

/* The sessions and ranks that a request selects. */
struct ctl_aim {
	char *session; /* NULL: every open session that the asking tool may see */
	struct choice_list ranks;
	char *ranks_text; /* as the user wrote it; NULL: all */
};

/* Counts the processes of one session by their response to a start or stop. */
struct ctl_count {
	unsigned processes; /* live processes */
	unsigned meant;	    /* of the ranks that the request names */
	unsigned told;	    /* can be told, now or when they reconnect */
	unsigned silent;    /* connected, but have not answered yet */
	unsigned unstored;  /* have stopped, but not all their records are stored */
	unsigned away;
	unsigned too_old;
	unsigned left_out;
	unsigned recording;
	unsigned waiting; /* told to record, but held back by time, steps or the program */
};

/* A start, stop or flush under way. One per connection. */
struct ctl_wait {
	struct server *server;
	struct ctl_wait *next;
	struct peer *peer; /* NULL: the tool has hung up */
	struct flush_ticket ticket;
	bool is_storing; /* the store holds the ticket, so this must stay allocated */
	struct event *deadline;
	struct ctl_aim aim;
	struct control control;
};

static void aim_done(struct ctl_aim *aim)
{
	free(aim->session);
	free(aim->ranks_text);
}

/* ---- selection --------------------------------------------------------------------------- */

static bool is_open(const struct session *session)
{
	return session->state == SESSION_OPENING || session->state == SESSION_OPEN;
}

static bool is_aimed_at(struct peer *peer, const struct session *session, const struct ctl_aim *aim)
{
	if (!is_open(session))
		return false;
	return aim->session ? access_is_named(peer->server, peer, session, aim->session)
			    : access_may_see(peer->server, peer, session->uid);
}

static void count_process(
	struct ctl_count *count, const struct instance *instance, const struct ctl_wait *wait)
{
	const struct control_state *state = &instance->control;

	count->meant++;
	if (!instance->store) { /* known from an earlier collector: it is expected to reconnect */
		count->told++;
		count->away++;
		return;
	}
	if (!state->has_control) {
		count->too_old++;
		return;
	}
	if (state->closed & CONTROL_RANK_OUT) {
		count->left_out++;
		return;
	}
	count->told++;
	if (!instance->peer || !instance->is_welcomed)
		count->away++;
	else if (state->seq < wait->control.seq)
		count->silent++;
	else if (!wait->control.record && !control_is_stored(instance))
		count->unstored++;
	else if (!state->closed)
		count->recording++;
	else if (!(state->closed & CONTROL_DORMANT))
		count->waiting++;
}

static struct ctl_count count_session(const struct session *session, const struct ctl_wait *wait)
{
	struct ctl_count count = {0};

	for (const struct instance *i = session->instances; i; i = i->next) {
		if (!instance_is_live(i))
			continue;
		count.processes++;
		if (control_is_meant(i, &wait->aim.ranks))
			count_process(&count, i, wait);
	}
	return count;
}

/* ---- why nothing matched ----------------------------------------------------------------- */

static void explain_session(struct peer *peer, const char *name)
{
	bool is_known = false;

	for (const struct session *s = peer->server->sessions; name && s; s = s->next)
		is_known |= access_is_named(peer->server, peer, s, name);
	if (!name)
		ctl_refuse(peer, REASON_NO_SESSION, "no session of yours is open");
	else if (!is_known)
		ctl_refuse(peer, REASON_NO_SESSION, "no session %s that you may see", name);
	else
		ctl_refuse(peer, REASON_OVER, "session %s is over", name);
}

static void explain_processes(struct peer *peer, const struct ctl_aim *aim, const char *name,
	const struct ctl_count *all, unsigned sessions)
{
	char of[LABEL_BYTES_MAX + 32];

	if (sessions == 1 && name)
		snprintf(of, sizeof(of), "session %s", name);
	else
		snprintf(of, sizeof(of), "%u session%s of yours", sessions,
			sessions == 1 ? "" : "s");
	if (!all->processes)
		ctl_refuse(peer, REASON_NO_PROCESS, "no process of %s has connected yet", of);
	else if (!all->meant)
		ctl_refuse(peer, REASON_NO_RANK, "none of the %u processes of %s has rank %s",
			all->processes, of, aim->ranks_text);
	else if (all->left_out)
		ctl_refuse(peer, REASON_LEFT_OUT,
			"all %u processes meant were left out by --ranks when they started",
			all->left_out);
	else
		ctl_refuse(peer, REASON_TOO_OLD,
			"all %u processes meant have a shim that is too old to be told",
			all->too_old);
}

/* ---- start and stop -------------------------------------------------------------------------- */

static void add_count(struct ctl_count *sum, const struct ctl_count *count)
{
	sum->processes += count->processes;
	sum->meant += count->meant;
	sum->told += count->told;
	sum->silent += count->silent;
	sum->unstored += count->unstored;
	sum->away += count->away;
	sum->too_old += count->too_old;
	sum->left_out += count->left_out;
}

/*
 * Sums over all selected sessions. *ret_sessions is their number, *ret_name the name of one of
 * them.
 */
static struct ctl_count count_all(
	const struct ctl_wait *wait, unsigned *ret_sessions, const char **ret_name)
{
	struct ctl_count sum = {0};

	*ret_sessions = 0;
	*ret_name = NULL;
	for (const struct session *s = wait->server->sessions; s; s = s->next) {
		struct ctl_count count;

		if (!is_aimed_at(wait->peer, s, &wait->aim))
			continue;
		count = count_session(s, wait);
		add_count(&sum, &count);
		++*ret_sessions;
		*ret_name = s->name;
	}
	return sum;
}

static void put_rest(FILE *out, const struct ctl_count *count)
{
	const struct {
		unsigned n;
		const char *text;
	} rest[] = {
		{count->waiting, "wait for their time, steps or program"},
		{count->away, "not connected: told when they are"},
		{count->left_out, "left out by --ranks"},
		{count->unstored, "of them with kernels under way or not stored yet"},
		{count->too_old, "with a shim too old to be told"},
		{count->silent, "did not answer in time"},
	};

	for (size_t i = 0; i < sizeof(rest) / sizeof(*rest); i++)
		if (rest[i].n)
			fprintf(out, ", %u %s", rest[i].n, rest[i].text);
}

static void put_session(FILE *out, const struct session *session, const struct ctl_wait *wait)
{
	struct ctl_count count = count_session(session, wait);
	unsigned done = wait->control.record ? count.recording
					     : count.told - count.silent - count.away -
						       count.recording - count.waiting;

	if (!count.told)
		return;
	fprintf(out, "session %s: %u of %u processes %s", session->name, done, count.meant,
		wait->control.record ? "record" : "are dormant");
	if (!wait->control.record && count.recording + count.waiting)
		fprintf(out, ", %u do again already", count.recording + count.waiting);
	count.waiting = wait->control.record ? count.waiting : 0;
	put_rest(out, &count);
	fputc('\n', out);
}

static struct ctl_wait *wait_free(struct ctl_wait *wait)
{
	LIST_REMOVE(wait->server->ctl_waits, wait, next);
	if (wait->peer)
		wait->peer->role_data = NULL;
	event_done(wait->deadline);
	aim_done(&wait->aim);
	free(wait);
	return NULL;
}

static void wait_answer(struct ctl_wait *wait)
{
	CLEANUP(free_p) char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	const char *name;
	unsigned sessions;
	struct ctl_count all = count_all(wait, &sessions, &name);

	for (const struct session *s = wait->server->sessions; out && s; s = s->next)
		if (is_aimed_at(wait->peer, s, &wait->aim))
			put_session(out, s, wait);
	if (out)
		fclose(out);
	if (!all.told)
		ctl_refuse(
			wait->peer, REASON_NO_PROCESS, "every process meant has ended meanwhile");
	else
		ctl_reply(wait->peer, !all.silent, REASON_NONE, all.told, text ? text : "");
}

static void on_deadline(evutil_socket_t fd, short what, void *data)
{
	struct ctl_wait *wait = data;

	(void)fd;
	(void)what;
	if (wait->peer) {
		wait_answer(wait);
		wait->peer->role_data = NULL;
		wait->peer = NULL;
	}
	if (!wait->is_storing)
		wait_free(wait);
}

static bool is_settled(const struct ctl_wait *wait)
{
	struct ctl_count all;
	const char *name;
	unsigned sessions;

	if (wait->is_storing || !wait->peer)
		return !wait->is_storing;
	all = count_all(wait, &sessions, &name);
	return !all.silent && !all.unstored;
}

void ctl_check(struct server *server)
{
	for (struct ctl_wait *wait = server->ctl_waits, *next; wait; wait = next) {
		next = wait->next;
		/* The answer is sent from the loop, because the caller may still be using @wait. */
		if (wait->deadline && is_settled(wait))
			event_active(wait->deadline, EV_TIMEOUT, 0);
	}
}

/* The database now holds the control. */
static void on_stored(struct flush_ticket *ticket, int error)
{
	struct ctl_wait *wait = ticket->data;

	(void)error; /* the session reports its own write errors */
	wait->is_storing = false;
	ctl_check(wait->server);
}

static struct ctl_wait *wait_new(struct peer *peer)
{
	struct ctl_wait *wait = calloc(1, sizeof(*wait));

	if (!wait)
		return NULL;
	*wait = (struct ctl_wait){.server = peer->server, .peer = peer};
	wait->next = peer->server->ctl_waits;
	peer->server->ctl_waits = wait;
	peer->role_data = wait;
	return wait;
}

static int tell_sessions(struct ctl_wait *wait)
{
	int r = 0;

	for (struct session *s = wait->server->sessions; r == 0 && s; s = s->next)
		if (is_aimed_at(wait->peer, s, &wait->aim) && count_session(s, wait).told)
			r = control_apply(s, &wait->control);
	return r;
}

static void set_control(struct ctl_wait *wait, bool record, uint64_t duration_ns)
{
	uint64_t now_ns = clock_boottime_ns();

	wait->control.record = record;
	wait->control.ranks = wait->aim.ranks;
	if (duration_ns)
		wait->control.until_ns =
			duration_ns < UINT64_MAX - now_ns ? now_ns + duration_ns : UINT64_MAX;
}

/* Takes the contents of @aim. */
static void answer_record(struct peer *peer, struct ctl_aim *aim, bool record, uint64_t duration_ns)
{
	struct ctl_wait *wait = wait_new(peer);
	struct ctl_count all;
	const char *name;
	unsigned sessions;

	if (wait) {
		wait->aim = *aim;
		*aim = (struct ctl_aim){0};
		wait->deadline = evtimer_new(peer->server->base, on_deadline, wait);
	}
	if (!wait || !wait->deadline) {
		ctl_refuse(peer, REASON_NONE, "no memory");
		goto out;
	}
	all = count_all(wait, &sessions, &name);
	if (!sessions) {
		explain_session(peer, wait->aim.session);
		goto out;
	}
	if (!all.told) {
		explain_processes(peer, &wait->aim, name, &all, sessions);
		goto out;
	}
	set_control(wait, record, duration_ns);
	if (tell_sessions(wait) < 0) {
		ctl_refuse(peer, REASON_NONE, "no memory");
		goto out;
	}
	timer_start(wait->deadline, CONTROL_ANSWER_MS);
	/* If the flush cannot be queued, the answer may precede the write to the database. */
	wait->ticket = (struct flush_ticket){.done = on_stored, .data = wait};
	wait->is_storing = store_flush(peer->server->store, access_uid(peer->server, peer),
				   &wait->ticket) == 0;
	ctl_check(peer->server);
	return;
out:
	if (wait)
		wait_free(wait);
}

/* ---- status ---------------------------------------------------------------------------------- */

static void put_status(FILE *out, const struct server *server, struct peer *peer)
{
	char state[OVERVIEW_STATE_BYTES];
	struct overview_totals all = overview_totals(server);

	/* The worker that merges the replies writes this line for the whole node. */
	if (peer->is_question) {
		fprintf(out, "%s\n", overview_state(server, peer, state));
		return;
	}
	fprintf(out,
		"collectord " RTL_VERSION " pid %d, store %s, %u sessions, %u processes, "
		"%u connections, %s\n",
		worker_pid(server), server->config->store_path, all.sessions, all.processes,
		all.connections, overview_state(server, peer, state));
}

static void put_process(FILE *out, const struct instance *instance)
{
	const char *how = instance_state_name(instance);
	bool is_here = instance->peer && instance->is_welcomed;
	uint32_t rank;

	if (control_rank(instance, &rank))
		fprintf(out, "  rank %u, pid %d: ", rank, instance->identity.pid);
	else
		fprintf(out, "  pid %d: ", instance->identity.pid);
	fprintf(out, "%s%s%s\n", is_here ? "" : how, is_here ? "" : ", ", control_text(instance));
}

static void put_session_status(
	FILE *out, const struct session *session, const struct ctl_aim *aim, struct ctl_count *all)
{
	unsigned n = session_live_instances(session);

	all->processes += n;
	fprintf(out, "session %s: %u processes\n", session->name, n);
	for (const struct instance *i = session->instances; i; i = i->next) {
		if (!instance_is_live(i) || !control_is_meant(i, &aim->ranks))
			continue;
		put_process(out, i);
		all->meant++;
	}
}

static void answer_status(struct peer *peer, const struct ctl_aim *aim)
{
	CLEANUP(free_p) char *text = NULL;
	struct ctl_count all = {0};
	unsigned sessions = 0;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	if (!out) {
		ctl_refuse(peer, REASON_NONE, "no memory");
		return;
	}
	if (!aim->session)
		put_status(out, peer->server, peer);
	for (const struct session *s = peer->server->sessions; s; s = s->next) {
		if (!is_aimed_at(peer, s, aim))
			continue;
		sessions++;
		put_session_status(out, s, aim, &all);
	}
	fclose(out);
	/* A request without a session and ranks is not refused when there are no sessions. */
	if (!sessions && (aim->session || aim->ranks_text))
		explain_session(peer, aim->session);
	else if (!all.meant && aim->ranks_text)
		explain_processes(peer, aim, aim->session, &all, sessions);
	else
		ctl_reply(peer, true, REASON_NONE, all.meant, text ? text : "");
}

/* ---- flush ----------------------------------------------------------------------------------- */

/* The text of a session that belongs to another user is not shown, only the error code. */
static const char *why_not(const char *state, int error)
{
	return strcmp(state, "ok") != 0 ? state : strerror(-error);
}

static void on_flushed(struct flush_ticket *ticket, int error)
{
	struct ctl_wait *wait = ticket->data;
	char state[OVERVIEW_STATE_BYTES];

	/*
	 * The store reports a failing session before it answers the flush, so the state is current.
	 */
	if (wait->peer)
		ctl_reply(wait->peer, error == 0, REASON_NONE, 0,
			error ? why_not(overview_state(wait->server, wait->peer, state), error)
			      : "everything received is committed");
	wait_free(wait);
}

static void answer_flush(struct peer *peer)
{
	struct ctl_wait *wait = wait_new(peer);

	if (wait) {
		wait->ticket = (struct flush_ticket){.done = on_flushed, .data = wait};
		if (store_look(peer->server->store, access_uid(peer->server, peer),
			    &wait->ticket) == 0)
			return;
		wait_free(wait);
	}
	ctl_refuse(peer, REASON_NONE, "no memory");
}

/* ---- remove, keep and release ---------------------------------------------------------------- */

enum disposal { DISPOSAL_NONE, DISPOSAL_REMOVE, DISPOSAL_KEEP, DISPOSAL_RELEASE };

static enum disposal disposal_of(const Rtl__CtlRequest *request)
{
	static const char *const verbs[] = {
		[DISPOSAL_REMOVE] = "remove",
		[DISPOSAL_KEEP] = "keep",
		[DISPOSAL_RELEASE] = "release",
	};

	for (size_t i = DISPOSAL_REMOVE; request->has_verb && i <= DISPOSAL_RELEASE; i++)
		if (request->verb.len == strlen(verbs[i]) &&
			!memcmp(request->verb.data, verbs[i], request->verb.len))
			return (enum disposal)i;
	return DISPOSAL_NONE;
}

bool ctl_is_of_owner(const Rtl__Frame *frame)
{
	return frame->body_case == RTL__FRAME__BODY_CTL_REQUEST &&
	       disposal_of(frame->ctl_request) != DISPOSAL_NONE;
}

/* Why a session was neither removed nor kept. */
static const char *explain_disposal(int error)
{
	switch (error) {
	case -ETXTBSY:
		return "it is live; it can be removed when its job has ended";
	case -EROFS:
		return "it is kept; rtl keep --off ends that";
	case -EBUSY:
		return "it is being read";
	case -EALREADY:
		return "another session of yours is being removed; try again";
	case -EAGAIN:
		return "the collector cannot read its index now; its log says why";
	case -EOPNOTSUPP:
		return "this collector removes nothing";
	case -EDQUOT:
		return "you keep too many sessions, or too much of your quota; rtl keep --off ends "
		       "that for one";
	default:
		return store_explain(error);
	}
}

static void on_disposed(struct flush_ticket *ticket, int error)
{
	struct ctl_wait *wait = ticket->data;

	if (wait->peer && (error == 0 || error == -EINPROGRESS))
		ctl_reply(wait->peer, true, REASON_NONE, 1,
			error ? "its files are being removed" : "");
	else if (wait->peer && (error == -ENOENT || error == -EOPNOTSUPP))
		ctl_refuse(wait->peer, REASON_NO_SESSION, "no session of yours is called that");
	else if (wait->peer)
		ctl_refuse(wait->peer, error == -EALREADY ? REASON_LATER : REASON_NOT_SO, "%s",
			explain_disposal(error));
	wait_free(wait);
}

/* True if it is open and @peer owns it: a collector without an index has no other sessions. */
static bool is_own_open(const struct peer *peer, const char *name, const char *database)
{
	for (const struct session *s = peer->server->sessions; s; s = s->next)
		if (s->uid == peer->uid && s->state != SESSION_CLOSED &&
			s->state != SESSION_FAILED &&
			(database ? s->database && !strcmp(s->database, database)
				  : !strcmp(s->name, name)))
			return true;
	return false;
}

static int post_disposal(
	struct ctl_wait *wait, enum disposal what, const char *name, const char *database)
{
	struct store *store = wait->server->store;
	uid_t uid = wait->peer->uid;

	return what == DISPOSAL_REMOVE ? store_remove(store, uid, name, database, &wait->ticket)
				       : store_keep(store, uid, name, database,
						 what == DISPOSAL_KEEP, &wait->ticket);
}

/* One of @name and @database is given. */
static void answer_disposal(
	struct peer *peer, enum disposal what, const char *name, const char *database)
{
	struct ctl_wait *wait;

	if (what == DISPOSAL_REMOVE && is_own_open(peer, name, database)) {
		ctl_refuse(peer, REASON_NOT_SO, "%s", explain_disposal(-ETXTBSY));
		return;
	}
	wait = wait_new(peer);
	if (wait) {
		wait->ticket = (struct flush_ticket){.done = on_disposed, .data = wait};
		if (post_disposal(wait, what, name, database) == 0)
			return;
		wait_free(wait);
	}
	ctl_refuse(peer, REASON_NONE, "no memory");
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Returns 0, -ENOMEM, or -EINVAL if the ranks are not a valid list. */
static int take_aim(const Rtl__CtlRequest *request, struct ctl_aim *ret)
{
	*ret = (struct ctl_aim){0};
	if (request->has_ranks) {
		ret->ranks_text = msg_string(true, &request->ranks, REQUEST_BYTES_MAX);
		if (!ret->ranks_text)
			return -ENOMEM;
		if (choice_parse_list(ret->ranks_text, &ret->ranks))
			return -EINVAL;
	}
	if (request->has_session && request->session.len) {
		ret->session = msg_string(true, &request->session, LABEL_BYTES_MAX);
		if (!ret->session)
			return -ENOMEM;
	}
	return 0;
}

static void take_disposal(struct peer *peer, const Rtl__CtlRequest *request, const char *name)
{
	CLEANUP(free_p)
	char *database = msg_string(request->has_database, &request->database, PATH_MAX);

	if (!name && !database)
		ctl_refuse(peer, REASON_NONE, "it needs the name of a session, or its database");
	else
		answer_disposal(peer, disposal_of(request), name, database);
}

void ctl_answer(struct peer *peer, const Rtl__CtlRequest *request)
{
	CLEANUP(free_p) char *verb = msg_string(request->has_verb, &request->verb, LABEL_BYTES_MAX);
	CLEANUP(aim_done) struct ctl_aim aim = {0};
	int r = take_aim(request, &aim);

	if (r < 0)
		ctl_refuse(peer, REASON_NONE, "%s",
			r == -EINVAL ? "the ranks are not a list like 0,3-5" : "no memory");
	else if (peer->role_data)
		ctl_refuse(peer, REASON_NONE, "a request of this connection is under way");
	else if (verb && !strcmp(verb, "status"))
		answer_status(peer, &aim);
	else if (verb && !strcmp(verb, "flush"))
		answer_flush(peer);
	else if (verb && (!strcmp(verb, "start") || !strcmp(verb, "stop")))
		answer_record(peer, &aim, !strcmp(verb, "start"),
			request->has_duration_ns ? request->duration_ns : 0);
	else if (disposal_of(request) != DISPOSAL_NONE)
		take_disposal(peer, request, aim.session);
	else
		ctl_refuse(peer, REASON_NONE, "unknown verb: this collector is older than rtl");
}

void ctl_closed(struct peer *peer)
{
	struct ctl_wait *wait = peer->role_data;

	if (wait)
		wait->peer = NULL;
	peer->role_data = NULL;
}

void ctl_done(struct server *server)
{
	while (server->ctl_waits)
		wait_free(server->ctl_waits);
}
