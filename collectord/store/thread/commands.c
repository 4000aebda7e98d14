/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectord/db/database.h"
#include "collectord/ingest/ingest.h"
#include "collectord/store/thread/thread.h"
#include "collectord/store/degraded.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/wire/frame.h"
#include "proto/base/limits.h"

/* Results of a step besides 0 (done), STEP_UNDONE and a database error (roll back, try again). */
#define STEP_TAKEN 1 /* done in the open transaction: kept until it is committed */
#define STEP_GONE  2 /* done, and the database is closed */

/* Limits of one turn of a database, after which other databases have theirs. */
#define WORK_TURN_COMMANDS 256
#define WORK_TURN_NS	   5000000u

static bool commit_is_full(const struct writer *writer)
{
	return writer->is_open &&
	       (writer->rows >= COMMIT_ROWS_MAX ||
		       clock_monotonic_ns() - writer->began_ns >= COMMIT_MS_MAX * 1000000ull);
}

static int refuse_frame(struct store_process *p, const char *why)
{
	p->is_bad = true;
	answer_process(p, STORE_BAD_FRAME, -EBADMSG, why);
	return 0;
}

static const char *explain_unpack(int r)
{
	return r == -ENOBUFS  ? "a frame unfolds to too much"
	       : r == -EINVAL ? "a frame's columns do not match"
			      : "not a frame";
}

/* 0: the frame was taken, or refused and the refusal answered. */
static int take_frame(
	struct store *store, struct store_process *p, const uint8_t *bytes, size_t count)
{
	char why[INGEST_WHY_BYTES] = "";
	Rtl__Frame *frame;
	int r = msg_unpack(&store->arena, bytes, count, &frame);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return refuse_frame(p, explain_unpack(r));
	r = ingest_frame(p->session->database->writer, p->process, frame, count, why);
	if (r == -EBADMSG)
		return refuse_frame(p, why);
	return r < 0 ? r : 0;
}

static bool have_all_said_bye(const struct store_database *database)
{
	for (const struct store_session *s = database->first_session; s; s = s->sibling)
		for (const struct store_process *p = s->processes; p; p = p->next)
			if (p->process && !p->process->said_bye)
				return false;
	return true;
}

static int take_frames(struct store *store, const struct command *command)
{
	struct store_process *p = command->process;
	size_t at = 0;
	int r;

	if (!p->process || p->is_bad || p->given_up)
		return 0;
	/* PROCESS_OPENED is answered before any answer about its frames. */
	r = p->is_opening ? work_commit(store, p->session->database) : 0;
	if (r == 0)
		r = writer_begin(p->session->database->writer);
	if (r < 0)
		return r;
	p->is_touched = true;
	while (r == 0 && !p->is_bad && command->count - at > FRAME_PREFIX_BYTES) {
		uint32_t bytes = frame_get_length(command->bytes + at);

		at += FRAME_PREFIX_BYTES;
		if (!bytes || bytes > command->count - at)
			r = refuse_frame(p, "a frame is cut off");
		else
			r = take_frame(store, p, command->bytes + at, bytes);
		at += bytes;
	}
	if (r == 0 && p->process->said_bye)
		p->session->database->is_parting = have_all_said_bye(p->session->database);
	return r < 0 ? r : STEP_TAKEN;
}

/* Openings that come together share a transaction: its commit answers PROCESS_OPENED. */
static int open_process(
	struct store *store, struct store_database *database, const struct command *command)
{
	struct store_process *p = command->process;
	Rtl__Frame *frame;
	int r = writer_begin(database->writer);

	if (r < 0)
		return r;
	r = msg_unpack(&store->arena, command->bytes, command->count, &frame);
	if (r == 0 && frame->body_case == RTL__FRAME__BODY_HELLO)
		r = process_open(database->writer, p->session->id, frame->hello, command->uid,
			command->pid, command->start_time, &p->process);
	else if (r != -ENOMEM)
		r = -EBADMSG;
	if (r == -EBADMSG || r == -EALREADY) {
		p->is_over = true;
		answer_process(p, STORE_PROCESS_FAILED, r,
			r == -EALREADY ? "this process was read to its end already"
				       : "its Hello makes no sense");
		return 0;
	}
	if (r < 0)
		return r;
	p->is_opening = p->is_touched = true;
	database->has_openings = true;
	return STEP_TAKEN;
}

static int reopen_process(
	struct store *store, struct store_database *database, const struct command *command)
{
	struct store_process *p = command->process;
	int r;

	if (!p->process)
		return 0;
	r = work_commit(store, database);
	if (r < 0)
		return r;
	p->is_bad = false;
	p->process->said_bye = false;
	answer_process(p, STORE_PROCESS_OPENED, 0, NULL);
	return 0;
}

static int watch_process(struct command *command)
{
	in_flight_init(&command->process->in_flight, command->memfd);
	command->memfd = -1;
	return 0;
}

/* Replaces *@kept by a copy of @text. */
static int keep_text(char **kept, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(*kept);
	*kept = copy;
	return 0;
}

/* Stores the command, unless an earlier run of the collector has stored one. */
static int put_command(struct store_database *database, const struct command *command)
{
	sqlite3_stmt *put = database->writer->statements.at[ST_SESSION_COMMAND];
	int r = writer_begin(database->writer);

	if (r < 0)
		return r;
	sqlite3_bind_int64(put, 1, command->session->id);
	database_bind_text(put, 2, command->text);
	r = database_run(put);
	if (r == 0)
		r = writer_put_meta_first(database->writer, "command", command->text);
	if (r == 0 && !command->session->command)
		r = keep_text(&command->session->command, command->text);
	return r < 0 ? r : STEP_TAKEN;
}

static int put_controls(struct store_database *database, const struct command *command)
{
	int r = writer_begin(database->writer);

	if (r == 0)
		r = session_row_put_controls(database->writer, command->session->id, command->text);
	if (r == 0)
		r = keep_text(&command->session->controls, command->text);
	return r < 0 ? r : STEP_TAKEN;
}

static int put_categories(struct store_database *database, const struct command *command)
{
	int r = writer_begin(database->writer);

	if (r == 0)
		r = session_row_put_categories(database->writer, command->text);
	if (r == 0)
		r = keep_text(&command->session->categories, command->text);
	return r < 0 ? r : STEP_TAKEN;
}

static int put_unseen(struct store_database *database, const struct command *command)
{
	int r = writer_begin(database->writer);

	if (r == 0)
		r = verdict_add_unseen(database->writer, (unsigned)command->count, command->uid);
	if (r == 0)
		stat_want_session(command->session);
	return r < 0 ? r : STEP_TAKEN;
}

static int flush(
	struct store *store, struct store_database *database, const struct command *command)
{
	int r = command->flush->is_scan_first ? scan_in_flight(store, database, true) : 0;

	if (r == 0)
		r = work_commit(store, database);
	if (r == 0 && database->trouble)
		command->flush->error = database->trouble;
	return r;
}

static int step(
	struct store *store, struct store_database *database, struct command *command, bool is_last)
{
	if (command->process && command->process->is_over)
		return 0;
	switch (command->kind) {
	case COMMAND_PROCESS_FRAMES:
		return take_frames(store, command);
	case COMMAND_PROCESS_OPEN:
		return open_process(store, database, command);
	case COMMAND_PROCESS_REOPEN:
		return reopen_process(store, database, command);
	case COMMAND_PROCESS_END:
		return close_process(store, database, command);
	case COMMAND_PROCESS_LEFT:
		return recover_end_process(store, database, command);
	case COMMAND_PROCESS_WATCH:
		return watch_process(command);
	case COMMAND_SESSION_COMMAND:
		return put_command(database, command);
	case COMMAND_SESSION_CONTROLS:
		return put_controls(database, command);
	case COMMAND_SESSION_CATEGORIES:
		return put_categories(database, command);
	case COMMAND_SESSION_UNSEEN:
		return put_unseen(database, command);
	case COMMAND_SESSION_CLOSE:
		return close_session(store, database, command, is_last);
	case COMMAND_FLUSH:
		return flush(store, database, command);
	default:
		return 0;
	}
}

/*
 * If SQLite refuses a row for its values, it would refuse it for ever. This is the peer's fault:
 * the transaction is rolled back, and the work of the others is done again without it.
 */
static int step_safely(
	struct store *store, struct store_database *database, struct command *command, bool is_last)
{
	int r = step(store, database, command, is_last);

	if (r != -EINVAL || !command->process)
		return r;
	trouble_roll_back(database);
	if (command->kind == COMMAND_PROCESS_FRAMES) {
		(void)refuse_frame(command->process, "its rows were refused");
	} else if (command->memfd < 0) {
		command->process->is_over = true;
		answer_process(command->process, STORE_PROCESS_FAILED, r, "its rows were refused");
	} else {
		/* A recorder that cannot be stored is treated as missing. */
		close(command->memfd);
		command->memfd = -1;
	}
	return STEP_UNDONE;
}

static bool renewed(struct store *store, struct store_database *database)
{
	int r = database->must_renew ? renew_database(store, database) : 0;

	if (r < 0)
		trouble_pause(database);
	return r == 0;
}

static bool reload(struct store *store, struct store_database *database)
{
	if (!database->must_reload)
		return true;
	trouble_roll_back(database);
	if (!database->must_reload)
		return true;
	/* A database that cannot be read cannot be written either. */
	trouble_fail(store, database, database->reload_error);
	return false;
}

/* The command did not end, so it stays first in the queue. */
static void stop_at(struct store *store, struct store_database *database, int error)
{
	struct command_list again = {0};

	if (error != -EAGAIN) {
		trouble_fail(store, database, error);
		return;
	}
	command_list_add(&again, TAKE(database->current));
	command_list_prepend(&database->todo, &again);
}

/* A drain ends the turn, so that other databases have theirs. */
static bool is_a_turn(const struct command *command)
{
	return command->kind == COMMAND_PROCESS_END && command->memfd >= 0;
}

/* Runs the next command of the queue. 1: go on; 0: the queue is empty, or has to wait; STEP_UNDONE,
 * STEP_GONE. */
static int work_next(struct store *store, struct store_database *database, bool is_last)
{
	struct command *command;
	bool is_over;
	int r;

	if (!database->todo.first)
		return 0;
	store_beat(store);
	command = command_list_take(&database->todo);
	database->current = command;
	is_over = !is_last && is_a_turn(command);
	if (!is_last && trouble_must_wait(store, database, command)) {
		stop_at(store, database, -EAGAIN);
		return 0;
	}
	r = step_safely(store, database, command, is_last);
	if (r == STEP_UNDONE)
		return r;
	if (r < 0) {
		stop_at(store, database, r);
		return STEP_UNDONE;
	}
	if (r != STEP_GONE)
		database->current = NULL;
	if (r == STEP_TAKEN) {
		command_list_add(&database->taken, command);
	} else {
		answer_release(store, command);
		command_free(command);
	}
	if (r == STEP_GONE)
		return r;
	if (commit_is_full(database->writer) && work_commit_due(store, database) < 0)
		return STEP_UNDONE;
	return !is_over;
}

/* Runs the commands that have come, then what is due by time. */
static void work_turn(struct store *store, struct store_database *database, bool is_last)
{
	uint64_t until_ns = clock_monotonic_ns() + WORK_TURN_NS;
	int turn = WORK_TURN_COMMANDS;
	int r = work_next(store, database, is_last);

	while (r == 1 && (is_last || (--turn > 0 && clock_monotonic_ns() < until_ns)))
		r = work_next(store, database, is_last);
	if (r == STEP_UNDONE || r == STEP_GONE)
		return;
	stat_fill_due(database);
	if (!is_last && scan_in_flight(store, database, false) < 0)
		return;
	if (database->has_openings || (database->is_parting && !store->index) ||
		clock_monotonic_ns() >= work_next_commit(database))
		(void)work_commit_due(store, database); /* on failure the next try is scheduled */
	else if (database->wal_reported_bytes)
		wal_growth_check(database);
	if (!database->writer->is_open && over_quota_next_ns(database) <= clock_monotonic_ns())
		over_quota_check(store, database);
}

/* True: @database is closed and freed. */
static bool gave_up(struct store *store, struct store_database *database)
{
	struct store_session *session = trouble_give_up(store, database);

	return session && close_unwritten(store, database, session);
}

bool work_database(struct store *store, struct store_database *database, bool is_last)
{
	uint64_t beats = store_beats(store);

	if (!is_last && clock_monotonic_ns() < database->not_before_ns)
		return false;
	database->not_before_ns = 0;
	if (database->is_left && recover_seal(store, database, is_last))
		return true;
	if (gave_up(store, database) || !renewed(store, database) || !reload(store, database))
		return true;
	if (database->trouble && !database->todo.first && !database->writer->is_open)
		trouble_over(store, database);
	work_turn(store, database, is_last);
	return store_beats(store) != beats;
}
