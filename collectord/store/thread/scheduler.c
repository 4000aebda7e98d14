/* SPDX-License-Identifier: MIT */
/*
 * Decides which work comes next. Commands wait in the queue of their database, and sessions to be
 * opened in a queue of the store. In a round each database has one turn, so a frame waits for at
 * most one turn of every other database. Store thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/store/retention.h"
#include "collectord/store/thread/thread.h"
#include "proto/base/cleanup.h"
#include "proto/base/fault.h"
#include "proto/base/list.h"

/* ---- sessions -------------------------------------------------------------------------------- */

/* Commands that came after the session's last answer may still be queued. */
static void drop_commands(
	struct store *store, struct command_list *list, const struct store_session *session)
{
	struct command_list kept = {0};
	struct command *command;

	while ((command = command_list_take(list))) {
		if (command->session != session) {
			command_list_add(&kept, command);
			continue;
		}
		answer_release(store, command);
		command_free(command);
	}
	*list = kept;
}

static unsigned count_stalled(const struct store_process *p)
{
	unsigned count = 0;

	for (; p; p = p->next)
		count += p->is_stalled;
	return count;
}

static void forget_session(struct store *store, struct store_session *session)
{
	for (struct store_database *d = store->databases; d; d = d->next)
		drop_commands(store, &d->todo, session);
	/* The lock guards the count; the loop thread has freed the session and no longer walks its
	 * list. */
	pthread_mutex_lock(&store->lock);
	store->stalled -= count_stalled(session->processes) + count_stalled(session->ended);
	pthread_mutex_unlock(&store->lock);
	LIST_REMOVE(store->sessions, session, next);
	destroy_session(session);
}

/* False: it failed, and the failure is answered. */
static bool open_file(struct store *store, struct command *open)
{
	struct store_session *session = open->session;
	char why[256] = "";
	int r = session_file_open(session, why, sizeof(why));

	session->next = store->sessions;
	store->sessions = session;
	if (r == -ENOSPC || r == -EDQUOT)
		retention_want_room(store);
	if (r < 0) {
		session->is_over = true;
		answer_session(session, STORE_FAILED, r, why);
		return false;
	}
	open->text = why[0] ? strdup(why) : NULL; /* a warning */
	return true;
}

static void tell_opened(struct store *store, const struct command *open)
{
	struct store_session *session = open->session;

	FAULT_POINT("session_not_listed");
	session_put_index(store, session);
	stat_fill_session(session, true);
	/* What cannot be read here is handled when the session closes. */
	if (session->create == STORE_RESUME)
		(void)recover_processes(session);
	if (session->create == STORE_RESUME)
		(void)recover_controls(session);
	if (session->create == STORE_RESUME && session->command)
		answer_session(session, STORE_CALLED, 0, session->command);
	answer_session(session, STORE_OPENED, 0, open->text);
	work_rest(store, session->database);
}

/* ---- from the store's queue into those of databases --------------------------------------- */

static void refuse(struct store *store, struct command *command)
{
	struct store_process *p = command->process;

	if (command->kind == COMMAND_PROCESS_OPEN || command->kind == COMMAND_PROCESS_LEFT) {
		p->is_over = true;
		answer_process(p, STORE_PROCESS_FAILED, -EBADF, "its session is not open");
	}
	answer_release(store, command);
	command_free(command);
}

static void add_flush_part(struct command_list *list, struct flush *flush)
{
	struct command *part = command_new(COMMAND_FLUSH, NULL, NULL);

	if (!part) {
		flush->error = -ENOMEM;
		return;
	}
	part->flush = flush;
	flush->parts++;
	command_list_add(list, part);
}

static bool is_meant(const struct flush *flush, const struct store_session *session)
{
	return flush->uid == STORE_EVERYBODY || flush->uid == session->uid;
}

/* Adds a part of the flush to each queue, behind everything that is in it now. */
static void route_flush(struct store *store, struct command *command)
{
	struct flush *flush = command->flush;

	store->flushes++;
	for (struct command *open = store->opens.first; open; open = open->next)
		if (is_meant(flush, open->session))
			add_flush_part(&open->session->waiting, flush);
	for (struct store_session *s = store->sessions; s; s = s->next) {
		if (!s->database || s->database->flushed == store->flushes || !is_meant(flush, s))
			continue;
		s->database->flushed = store->flushes;
		add_flush_part(&s->database->todo, flush);
	}
	command_free(command);
}

static void free_session(struct store *store, struct command *command)
{
	forget_session(store, command->session);
	command_free(command);
}

/*
 * Merges a note into one of its kind that is queued: the last text of a session counts, but the
 * first of its commands, and numbers are added. A client that repeats notes while the file cannot
 * be written has only one queued. True: @command was consumed.
 */
static bool join_note(struct command_list *line, struct command *command)
{
	struct command *c = command_is_note(command) ? line->first : NULL;

	while (c && (c->kind != command->kind || c->session != command->session))
		c = c->next;
	if (!c)
		return false;
	c->count += command->count;
	if (c->kind != COMMAND_SESSION_COMMAND) {
		free(c->text);
		c->text = TAKE(command->text);
	}
	command_free(command);
	return true;
}

static void add_to_line(struct command_list *line, struct command *command)
{
	if (command->process)
		command->process->last = NULL;
	if (!join_note(line, command))
		command_list_add(line, command);
}

/*
 * Inserts frames after the queued frames of the same process, until these are a lot. Frames that
 * are taken in a row find what they need in the cache.
 */
static void add_frames(struct command_list *line, struct command *command)
{
	struct store_process *p = command->process;

	if (p->last && p->lot_bytes + command->count <= STORE_LOT_BYTES) {
		command_list_insert(line, p->last, command);
		p->lot_bytes += command->count;
	} else {
		command_list_add(line, command);
		p->lot_bytes = command->count;
	}
	p->last = command;
}

/* Queues the command for @session if it waits to be opened, else for its database. */
static void route_to_session(
	struct store *store, struct store_session *session, struct command *command)
{
	if (session->is_waiting)
		add_to_line(&session->waiting, command);
	else if (command->kind == COMMAND_SESSION_FREE)
		free_session(store, command);
	else if (session->database && command->kind == COMMAND_PROCESS_FRAMES)
		add_frames(&session->database->todo, command);
	else if (session->database)
		add_to_line(&session->database->todo, command);
	else
		refuse(store, command);
}

void turns_route(struct store *store, struct command *command)
{
	struct store_session *session = command->session;

	switch (command->kind) {
	case COMMAND_RECOVER:
		recover_sessions(store, command->text);
		command_free(command);
		break;
	case COMMAND_GIVE_BACK:
		retention_want_room(store);
		command_free(command);
		break;
	case COMMAND_WEIGH:
		retention_hurry(store);
		command_free(command);
		break;
	case COMMAND_LIMITS:
		over_quota_limit(store, command->limits);
		command_free(command);
		break;
	case COMMAND_REMOVE:
	case COMMAND_KEEP:
	case COMMAND_RELEASE:
		retention_dispose(store, command);
		command_free(command);
		break;
	case COMMAND_FLUSH:
		route_flush(store, command);
		break;
	case COMMAND_SESSION_OPEN:
		session->is_waiting = true;
		command_list_add(&store->opens, command);
		break;
	case COMMAND_PROCESS_OPEN:
	case COMMAND_PROCESS_LEFT:
		command->process->next = session->processes;
		session->processes = command->process;
		route_to_session(store, session, command);
		break;
	default:
		route_to_session(store, session, command);
	}
}

/* ---- turns ----------------------------------------------------------------------------------- */

static bool has_close_before(const struct command_list *list, uint64_t before_ns)
{
	for (const struct command *c = list->first; c; c = c->next)
		if (c->kind == COMMAND_SESSION_CLOSE && c->made_ns <= before_ns)
			return true;
	return false;
}

/* True if a session is closed in the database before @before_ns, or it is sealed. A database that
 * itself has to wait is not busy, unless it is sealed: a session that joined it then would leave it
 * without a WAL. */
static bool is_busy(const struct store_database *database, uint64_t before_ns)
{
	return database->is_sealed ||
	       (!database->not_before_ns && has_close_before(&database->todo, before_ns));
}

/* In a folder, a database is continued by a session of the same user and job. */
static bool is_of_job(const struct store_session *a, const struct store_session *b)
{
	return a->uid == b->uid && (a->job && b->job ? !strcmp(a->job, b->job) : a->job == b->job);
}

/* A session waits while its file, or what may become its file, is busy: a close writes the end of
 * the same row. */
static bool can_be_opened(struct store *store, const struct command *open)
{
	const struct store_session *session = open->session;
	const struct store_database *file =
		session->path ? session_file_find_open(store, session->path) : NULL;

	if (session->path)
		return !file || !is_busy(file, open->made_ns);
	for (const struct store_session *s = store->sessions; s; s = s->next)
		if (s->database && is_of_job(s, session) && is_busy(s->database, open->made_ns))
			return false;
	return true;
}

bool turns_has_opens(struct store *store)
{
	for (const struct command *c = store->opens.first; c; c = c->next)
		if (can_be_opened(store, c))
			return true;
	return false;
}

/* Takes the first opening that need not wait. NULL: there is none. */
static struct command *take_open(struct store *store, bool is_last)
{
	struct command_list before = {0};
	struct command *open;

	while ((open = command_list_take(&store->opens)) && !is_last && !can_be_opened(store, open))
		command_list_add(&before, open);
	command_list_prepend(&store->opens, &before);
	return open;
}

static void end_wait(struct store *store, struct command *open)
{
	struct store_session *session = open->session;
	struct command *command;

	session->is_waiting = false;
	command_free(open);
	while ((command = command_list_take(&session->waiting)))
		route_to_session(store, session, command);
}

/* Opens one session. False: there is none to open, or all have to wait. */
static bool open_next(struct store *store, bool is_last)
{
	struct command *open = take_open(store, is_last);

	if (!open)
		return false;
	store_beat(store);
	if (open_file(store, open))
		tell_opened(store, open);
	end_wait(store, open);
	return true;
}

/* True if only closes are left whose rows are written, and which wait for readers, and flushes. */
static bool is_written(const struct command_list *list)
{
	for (const struct command *c = list->first; c; c = c->next)
		if (c->kind != COMMAND_FLUSH &&
			(c->kind != COMMAND_SESSION_CLOSE || !c->deadline_ns))
			return false;
	return true;
}

/* A client that asks for a flush learns at once that it has to wait, not when the wait is over. */
static void end_flushes(struct store *store, struct store_database *database)
{
	int error = database->trouble ? database->trouble
		    : !is_written(&database->todo) || work_commit(store, database) < 0 ? -EIO
										       : 0;
	struct command_list kept = {0};
	struct command *command;

	while ((command = command_list_take(&database->todo))) {
		if (command->kind != COMMAND_FLUSH) {
			command_list_add(&kept, command);
			continue;
		}
		if (error)
			command->flush->error = error;
		command_free(command);
	}
	database->todo = kept;
}

static bool has_flush(const struct store_database *database)
{
	for (const struct command *c = database->todo.first; c; c = c->next)
		if (c->kind == COMMAND_FLUSH)
			return true;
	return false;
}

void turns_round(struct store *store)
{
	struct store_database *database, *next;

	(void)open_next(store, false);
	for (database = store->databases; database; database = next) {
		next = database->next;
		(void)work_database(store, database, false);
	}
	for (database = store->databases; database; database = database->next)
		if (database->not_before_ns && has_flush(database))
			end_flushes(store, database);
}

static void work_all(struct store *store)
{
	struct store_database *database, *next;

	for (database = store->databases; database; database = next) {
		next = database->next;
		(void)work_database(store, database, true);
	}
}

void turns_finish(struct store *store)
{
	work_all(store);
	while (open_next(store, true))
		;
	work_all(store);
	for (struct store_database *d = store->databases; d; d = d->next)
		(void)work_commit(store, d);
}
