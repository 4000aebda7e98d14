/* SPDX-License-Identifier: MIT */
#include "collectord/loop/sessions/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "collectord/service/config.h"
#include "collectord/loop/sessions/recording_control.h"
#include "collectord/loop/sessions/detached.h"
#include "collectord/loop/sessions/instance.h"
#include "collectord/loop/sessions/instances.h"
#include "collectord/service/listen.h"
#include "collectord/service/log.h"
#include "collectord/loop/sessions/runner.h"
#include "collectord/loop/connections/worker.h"
#include "collectord/loop/connections/state.h"
#include "collectord/store/store.h"
#include "collectord/loop/connections/timers.h"
#include "proto/recorder/checksum.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"
#include "proto/base/format.h"
#include "proto/base/list.h"

/* Interval at which a connection that has not sent its first frame is checked. */
#define SETTLE_MS 20u

static bool is_open(const struct session *session)
{
	return session->state == SESSION_OPENING || session->state == SESSION_OPEN;
}

/*
 * True if connections made while no collector ran were kept in a backlog: because the process that
 * started us passed the sockets, or because the supervisor has lived longer than the session.
 */
static bool was_held(const struct session *session)
{
	const struct server *server = session->server;
	static struct store_session_stat stat; /* only the loop thread uses it */

	if (server->sockets->is_passed && !server->sockets->places[0].is_missing)
		return true;
	if (!server->seat || !session->store || session->is_older)
		return false;
	store_session_stat(session->store, &stat);
	return worker_has_watched_since(server, stat.start_realtime_ns);
}

/*
 * True if a process may have come and gone without our knowledge, or may connect after the close.
 */
static bool was_unwatched(const struct session *session)
{
	const struct listen_sockets *sockets = session->server->sockets;

	return session->is_widowed || (session->was_left && !was_held(session)) ||
	       !(session->server->seat ? worker_is_reachable(session->server)
				       : listen_is_reachable(sockets));
}

static void close_session(struct session *session)
{
	int r;

	session->state = SESSION_CLOSING;
	event_del(session->linger);
	if (was_unwatched(session))
		r = store_session_close_unwatched(session->store, session->exit_status);
	else
		r = store_session_close(session->store, session->exit_status);
	if (r == 0)
		return;
	log_error("no memory to close session %s now: it waits", session->name);
	timer_start(session->linger, MEMORY_TRY_MS);
}

unsigned session_waiting_runners(const struct session *session)
{
	unsigned count = 0;

	for (const struct runner *r = session->runners; r; r = r->next)
		count += !r->is_done;
	return count;
}

static bool has_unended(const struct session *session)
{
	return session->n_ended < session->n_instances;
}

unsigned session_live_instances(const struct session *session)
{
	return session->n_live;
}

static void detach_all(struct session *session)
{
	for (struct instance *i = session->instances; i; i = i->next)
		instance_end(i, INSTANCE_END_DETACHED);
}

static void forget(struct session *session)
{
	LIST_REMOVE(session->server->sessions, session, next);
	if (session->store)
		store_session_free(session->store);
	session_free(session);
}

/* True if neither a runner nor a process holds @session open. */
static bool is_abandoned(struct session *session)
{
	if (session_waiting_runners(session)) {
		event_del(session->linger);
		return false;
	}
	if (session->wants_now)
		detach_all(session);
	return !has_unended(session);
}

static void on_linger(evutil_socket_t fd, short what, void *data)
{
	struct session *session = data;

	(void)fd;
	(void)what;
	if (session->state == SESSION_CLOSING) {
		close_session(session);
		return;
	}
	if (!is_open(session) || !is_abandoned(session)) {
		session->settle_ticket = 0;
		return;
	}
	if (!session->server->calls->is_settled(
		    session->server, session->uid, &session->settle_ticket))
		timer_start(session->linger, SETTLE_MS);
	else if (is_open(session) && is_abandoned(session))
		close_session(session);
}

void session_settled(struct server *server)
{
	for (struct session *s = server->sessions; s; s = s->next)
		if (s->settle_ticket)
			event_active(s->linger, EV_TIMEOUT, 1);
}

static bool had_processes(const struct session *session)
{
	return session->instances || session->had_unrecorded || session->was_left;
}

void session_check(struct session *session)
{
	if (session->state == SESSION_FAILED && !has_unended(session)) {
		forget(session);
		return;
	}
	if (!is_open(session) || !is_abandoned(session))
		return;
	/*
	 * A runner that has sent RunnerDone knows that its command has ended. Otherwise we cannot
	 * know, so the session lingers.
	 */
	if (session->had_runner && (!session->is_widowed || session->wants_now))
		timer_start(session->linger, 0);
	else if (!event_pending(session->linger, EV_TIMEOUT, NULL))
		timer_start(session->linger,
			had_processes(session) ? SESSION_LINGER_MS : PRIVATE_WAIT_MS);
}

void session_close_now(struct session *session)
{
	for (struct runner *r = session->runners; r; r = r->next)
		r->is_done = true;
	session->had_runner = true;
	session->wants_now = true;
	session_check(session);
}

void session_end_execed(struct server *server, const struct instance_identity *id)
{
	struct instance *execed;

	while ((execed = instances_find_other(server->instances, id, false)))
		instance_end(execed, INSTANCE_END_EXEC);
}

bool session_has_successor(const struct server *server, const struct instance_identity *id)
{
	return instances_find_other(server->instances, id, true) != NULL;
}

/*
 * Derives the name from the job by a checksum: a restarted collector must find the same name, and
 * the name becomes a file name, so it must hold no byte that a peer chose.
 */
static char *name_of_job(const char *job)
{
	size_t bytes = strlen(job);

	return format_new("job-%08x%08x", checksum32(job, bytes, 1), checksum32(job, bytes, 2));
}

static int open_in_store(struct session *session, const char *path)
{
	const struct config *config = session->server->config;
	struct store_session_params params = {
		.name = session->name,
		.job = session->job,
		.command = session->command,
		.path = path		  ? path
			: config->db_file ? config->store_path
					  : NULL,
		.uid = session->uid,
		.create = STORE_RESUME,
	};
	struct utsname host;

	if (!params.path)
		params.dir = config->store_path;
	if (uname(&host) == 0)
		params.host = host.nodename;
	return store_session_open(session->server->store, &params, session, &session->store);
}

static bool has_room(const struct server *server)
{
	unsigned n = 0;

	for (const struct session *s = server->sessions; s; s = s->next)
		n += s->state != SESSION_CLOSED;
	return n < SESSIONS_MAX;
}

/* Takes @name, which is allocated, in every case. @path is a file to resume, or NULL. */
static int session_new(struct server *server, uid_t uid, const char *job, const char *command,
	char *name, const char *path, struct session **ret)
{
	struct session *session = calloc(1, sizeof(*session));
	int r = -ENOMEM;

	if (!session) {
		free(name);
		return -ENOMEM;
	}
	*session = (struct session){.server = server, .uid = uid, .name = name, .exit_status = -1};
	session->job = text_copy(job);
	session->command = text_copy(command);
	session->linger = evtimer_new(server->base, on_linger, session);
	session->start_realtime_ns = clock_realtime_ns();
	if (name && session->linger && (session->job || !job) && (session->command || !command))
		r = open_in_store(session, path);
	if (r < 0) {
		session_free(session);
		return r;
	}
	session->next = server->sessions;
	server->sessions = session;
	*ret = session;
	return 0;
}

int session_open_private(struct server *server, struct session **ret)
{
	int r = session_new(
		server, geteuid(), NULL, NULL, strdup(server->config->private_session), NULL, ret);

	if (r == 0)
		session_check(*ret);
	return r;
}

void session_take_left(struct server *server, struct store_answer *answer)
{
	struct session *session = NULL;
	int r = answer->name && answer->database
			? session_new(server, answer->left.uid, answer->job, answer->text,
				  TAKE(answer->name), answer->database, &session)
			: -ENOMEM;

	if (r < 0) {
		log_error("cannot go on with %s: %s",
			answer->database ? answer->database : "a session", strerror(-r));
		return;
	}
	session->was_left = true;
	/* A database that the user named is resumed even after a reboot. */
	session->is_past = !answer->left.is_this_boot && !server->config->db_file;
}

static void take_left_process(struct session *session, const struct store_answer *answer)
{
	struct instance_identity identity = {
		.uid = answer->left.uid,
		.pid = answer->left.pid,
		.start_time = answer->left.start_time,
	};

	memcpy(identity.token, answer->left.token, sizeof(identity.token));
	/* Its Hello came before this answer, so it is known already. */
	if (instances_find(session->server->instances, &identity))
		return;
	if (instance_new_left(session, &identity, answer->process_id, answer->left.is_this_boot) <
		0)
		log_error("no memory to wait for pid %d", identity.pid);
}

void session_forget_file(struct server *server, const char *database)
{
	struct session *next;

	for (struct session *s = server->sessions; s; s = next) {
		next = s->next;
		if (s->state == SESSION_CLOSED && s->database && !strcmp(s->database, database))
			forget(s);
	}
}

/* Returns the newest usable session of that key. */
static struct session *find(const struct server *server, uid_t uid, const char *job)
{
	for (struct session *s = server->sessions; s; s = s->next)
		if (s->uid == uid && s->state != SESSION_FAILED && !s->is_past && s->job &&
			!strcmp(s->job, job))
			return s;
	return NULL;
}

/* Sets a command that the first process did not know. */
static int add_command(struct session *session, const char *command)
{
	if (!command || session->command)
		return 0;
	session->command = strdup(command);
	return session->command ? store_session_command(session->store, command) : -ENOMEM;
}

int session_get(struct server *server, uid_t uid, const char *job, const char *command,
	struct session **ret)
{
	struct session *old = server->private_session;
	int r;

	if (server->is_stopping || (old && !is_open(old)))
		return -ESHUTDOWN;
	if (!old)
		old = find(server, uid, job);
	if (old && is_open(old)) {
		event_del(old->linger); /* the linger starts over after the new process */
		*ret = old;
		r = add_command(old, command);
		if (r < 0)
			session_check(old);
		return r;
	}
	if (!has_room(server))
		return -EDQUOT;
	/*
	 * The store's queue is ordered: a session being closed is closed before its file is opened
	 * again.
	 */
	r = session_new(server, uid, job, command, old ? strdup(old->name) : name_of_job(job),
		old ? old->database : NULL, ret);
	if (r == 0 && old && old->state == SESSION_CLOSED)
		forget(old);
	return r;
}

/* Keeps a limited number of closed sessions, so that a late process finds its file. */
static void trim_closed(struct server *server)
{
	struct session *oldest = NULL;
	unsigned n = 0;

	for (struct session *s = server->sessions; s; s = s->next) {
		if (s->state != SESSION_CLOSED)
			continue;
		n++;
		oldest = s;
	}
	if (n > SESSIONS_CLOSED_MAX)
		forget(oldest);
}

static bool is_closed_past(const struct session *session)
{
	return session->state == SESSION_CLOSED && session->is_past;
}

/* Those that were closed before the service started go behind all others, which began later. */
static void insert(struct server *server, struct session *session)
{
	struct session **at = &server->sessions;

	while (is_closed_past(session) && *at && !is_closed_past(*at))
		at = &(*at)->next;
	session->next = *at;
	*at = session;
}

void session_take_closed(struct server *server, struct store_answer *answer)
{
	bool is_past = !answer->left.is_recent;
	struct session *old =
		answer->job && !is_past ? find(server, answer->left.uid, answer->job) : NULL;
	struct session *session = calloc(1, sizeof(*session));

	/* A late process then joins the open session instead. */
	if (!session || !answer->name || !answer->database || (old && is_open(old))) {
		free(session);
		return;
	}
	if (old)
		forget(old);
	*session = (struct session){.server = server,
		.uid = answer->left.uid,
		.job = TAKE(answer->job),
		.name = TAKE(answer->name),
		.database = TAKE(answer->database),
		.command = TAKE(answer->text),
		.line = TAKE(answer->line),
		.is_complete = answer->complete,
		.start_realtime_ns = answer->removed.start_ns,
		.state = SESSION_CLOSED,
		.is_past = is_past,
		.exit_status = -1};
	session->linger = evtimer_new(server->base, on_linger, session);
	if (!session->linger) {
		session_free(session);
		return;
	}
	insert(server, session);
	trim_closed(server);
}

static void free_instances(struct session *session)
{
	while (session->instances) {
		struct instance *i = session->instances;
		struct instance *next = i->next;

		if (instance_was_detached(i))
			detached_add(&session->server->detached, session->server->base,
				&i->identity, &i->pidfd);
		instances_remove(session->server->instances, i);
		instance_free(i);
		session->instances = next;
	}
}

/* Replaces *@at with the text of the store, if there is one. */
static void take_text(char **at, char **text)
{
	if (!*text)
		return;
	free(*at);
	*at = TAKE(*text);
}

static void on_opened(struct session *session)
{
	log_event("session %s of uid %u: %s", session->name, session->uid, session->database);
	if (session->state == SESSION_OPENING)
		session->state = SESSION_OPEN;
	for (struct runner *r = session->runners, *next; r; r = next) {
		next = r->next; /* sending may free it */
		runner_send_status(r, false, session->n_runners);
	}
	if (session->was_left)
		session_check(session);
}

/* Logs each change once, not each retry of the store. */
static void on_trouble(struct session *session, char *text)
{
	struct server *server = session->server;

	server->n_degraded += !session->trouble;
	free(session->trouble);
	session->trouble = text ? text : strdup("the database cannot be written");
	log_warning("session %s: degraded: %s", session->name,
		session->trouble ? session->trouble : "no memory");
	server->n_degraded -= !session->trouble;
	runner_send_trouble(session);
}

static void end_trouble(struct session *session)
{
	session->server->n_degraded -= session->trouble != NULL;
	free(session->trouble);
	session->trouble = NULL;
}

static void on_closed(struct session *session)
{
	struct server *server = session->server;
	bool is_private = session == server->private_session;

	session->state = SESSION_CLOSED;
	end_trouble(session);
	free(TAKE(session->held));
	free(TAKE(session->over_quota));
	log_event("session %s closed: %s", session->name, session->line ? session->line : "");
	runner_send_closed_all(session);
	free_instances(session);
	session->store = store_session_free(session->store);
	/* If a newer session has this key, late processes find that one. */
	if (session->job && find(server, session->uid, session->job) != session)
		forget(session);
	trim_closed(server);
	if (is_private)
		server->calls->stop(server, 0);
}

static void on_failed(struct session *session, const struct store_answer *answer)
{
	const char *text = answer->text ? answer->text : "the database cannot be opened";
	struct server *server = session->server;
	bool is_private = session == server->private_session;

	/*
	 * A private collector logs only the reason: if a refusal cannot reach the runner, this line
	 * tells its user.
	 */
	if (is_private)
		log_peer("%s", text);
	else
		log_peer("session %s of uid %u: %s", session->name, session->uid, text);
	session->state = SESSION_FAILED;
	event_del(session->linger);
	runner_refuse_all(session, text);
	if (is_private)
		server->calls->stop(server, 1);
	else
		session_check(session);
}

/* The file of a resumed session holds the time of its start. */
static void take_start(struct session *session)
{
	struct store_session_stat stat;

	store_session_stat(session->store, &stat);
	if (stat.start_realtime_ns)
		session->start_realtime_ns = stat.start_realtime_ns;
}

void session_answer(struct session *session, struct store_answer *answer)
{
	switch (answer->kind) {
	case STORE_LEFT_PROCESS:
		take_left_process(session, answer);
		break;
	case STORE_CONTROLS:
		if (answer->text)
			control_restore(session, answer->text);
		break;
	case STORE_CALLED:
		take_text(&session->command, &answer->text);
		break;
	case STORE_MADE:
		session->is_made = true;
		runner_send_made(session);
		break;
	case STORE_OPENED:
		session->is_made = false;
		take_text(&session->name, &answer->name);
		take_text(&session->database, &answer->database);
		log_debug("session %s: open", session->name);
		take_start(session);
		on_opened(session);
		break;
	case STORE_CLOSED:
		take_text(&session->database, &answer->database);
		take_text(&session->line, &answer->text);
		session->is_complete = answer->complete;
		on_closed(session);
		break;
	case STORE_FAILED:
		on_failed(session, answer);
		break;
	case STORE_DEGRADED:
		on_trouble(session, TAKE(answer->text));
		break;
	case STORE_HELD:
		/* Logged once. The current size is reported on request. */
		if (!session->held)
			log_warning("session %s: %s", session->name,
				answer->text ? answer->text : "a reader holds its log");
		take_text(&session->held, &answer->text);
		break;
	case STORE_LET_GO:
		log_event("session %s: its log is let go again", session->name);
		free(TAKE(session->held));
		break;
	case STORE_OVER_QUOTA:
		log_peer("session %s: %s", session->name,
			answer->text ? answer->text : "over quota");
		take_text(&session->over_quota, &answer->text);
		break;
	case STORE_WITHIN_QUOTA:
		log_peer("session %s: %s", session->name, answer->text ? answer->text : "");
		free(TAKE(session->over_quota));
		break;
	case STORE_RECOVERED:
		end_trouble(session);
		log_warning("session %s: storing again", session->name);
		runner_send_trouble(session);
		break;
	default:
		break;
	}
}

struct session *session_free(struct session *session)
{
	if (!session)
		return NULL;
	while (session->runners)
		free(LIST_POP(session->runners));
	free_instances(session);
	event_done(session->linger);
	control_forget(session);
	end_trouble(session);
	free(session->job);
	free(session->name);
	free(session->database);
	free(session->command);
	free(session->held);
	free(session->over_quota);
	free(session->line);
	free(session);
	return NULL;
}

/* ---- limits ------------------------------------------------------------------------------ */

unsigned session_count_instances(const struct server *server)
{
	unsigned n = 0;

	for (const struct session *s = server->sessions; s; s = s->next)
		n += session_live_instances(s);
	return n;
}

unsigned session_count_all_instances(const struct server *server)
{
	unsigned n = 0;

	for (const struct session *s = server->sessions; s; s = s->next)
		n += s->n_instances;
	return n;
}

bool session_has_many_unread(const struct server *server)
{
	uint64_t bytes = 0;
	unsigned n = 0;

	for (const struct session *s = server->sessions; s; s = s->next) {
		n += s->n_instances - s->n_live - s->n_ended;
		bytes += s->unread_bytes;
	}
	return n >= UNREAD_PROCESSES_MAX || (n && bytes >= UNREAD_BYTES_MAX);
}
