/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collectord/db/database.h"
#include "collectord/db/tenant_files.h"
#include "collectord/db/wal.h"
#include "collectord/recorder/drain.h"
#include "collectord/store/degraded.h"
#include "collectord/store/internal.h"
#include "collectord/store/retention.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/base/fault.h"

#define STEP_GONE	2 /* see commands.c */
#define LAST_WORD_TRIES 3

static const char *const ended_name[] = {
	[STORE_ENDED_EXITED] = "exited",
	[STORE_ENDED_KILLED] = "killed",
	[STORE_ENDED_EXEC] = "exec",
	[STORE_ENDED_UNKNOWN] = "unknown",
	[STORE_ENDED_DETACHED] = "detached",
};

/* ---- a process ----------------------------------------------------------------------------- */

static enum ledger_loss given_up_to(const struct store_process *p)
{
	return p->given_up == -ENOSPC ? LEDGER_DISK_FULL : LEDGER_DB_ERROR;
}

/* Settles the ledger of a process without its recorder. Nothing is missing only if the process said
 * Bye and every frame was taken. */
static void settle_unread(struct store_process *p)
{
	struct process *process = p->process;

	process->is_dirty = true;
	ledger_begin_reading(&process->ledger, 0, 0); /* since the last reading */
	if (p->given_up)
		ledger_give_up(&process->ledger, given_up_to(p));
	if (process->said_bye && !p->given_up && !p->is_bad) {
		process->is_drained = true;
		ledger_settle(&process->ledger, false);
	} else {
		process->ledger.loss[LEDGER_UNKNOWN_TAIL] = 1;
	}
}

static int read_recorder(
	struct store_database *database, struct store_process *p, int memfd, enum store_ended how)
{
	if (p->given_up)
		return drain_give_up(database->writer, p->process, memfd, given_up_to(p));
	return drain_recorder(database->writer, p->process, memfd, how == STORE_ENDED_DETACHED);
}

/* Writes the end of a process, after everything that can be read from it was read. */
static int put_end(struct store_database *database, struct store_process *p, enum store_ended how,
	int exit_status)
{
	struct writer *writer = database->writer;
	int r = 0;

	if (p->process->is_drained)
		r = in_flight_forget(writer, p->process->id);
	/* The rows are written first, so that a full disk is found before any counter claims they
	 * are stored. */
	if (r == 0)
		r = feed_flush(writer->feed);
	if (r == 0)
		r = process_save(p->process, writer, true);
	/* What was read last may have told its rank. Ranks are found among processes that have not
	 * ended, and those that lived with them: this may be the last one. */
	if (r == 0)
		r = session_row_find_ranks(p->session, writer);
	if (r == 0)
		r = process_put_end(writer, p->process->id, ended_name[how], exit_status,
			p->process->is_drained);
	return r;
}

static int end_unread(struct store_database *database, struct store_process *p,
	enum store_ended how, int exit_status)
{
	settle_unread(p);
	return put_end(database, p, how, exit_status);
}

static void announce_end(struct store_process *p)
{
	p->is_over = true;
	p->committed = p->process->frame;
	stat_fill_process(p);
	/* We close the recorder before the loop thread hears of the end. The loop thread then
	 * closes the last descriptor, and the memory is freed on its time while we close the
	 * database. */
	in_flight_done(&p->in_flight);
	answer_process(p, STORE_PROCESS_ENDED, 0, NULL);
	intern_forget_process(&p->session->database->writer->intern, p->process->id);
	p->process = process_free(p->process);
	free(TAKE(p->hello));
}

int close_process(struct store *store, struct store_database *database, struct command *command)
{
	struct store_process *p = command->process;
	int r;

	if (!p->process)
		return 0;
	/* The transaction of an end holds nothing else. */
	r = work_commit(store, database);
	if (r == 0)
		r = writer_begin(database->writer);
	if (r < 0)
		return r;
	if (command->memfd >= 0)
		r = read_recorder(database, p, command->memfd, command->how);
	else
		settle_unread(p);
	if (r == 0)
		r = put_end(database, p, command->how, command->exit_status);
	if (r < 0)
		return r;
	FAULT_POINT("drain_before_commit");
	r = writer_commit(database->writer);
	if (r < 0)
		return r;
	FAULT_POINT("drain_after_commit");
	trouble_over(store, database);
	close_fd(&command->memfd);
	announce_end(p);
	stat_want_session(p->session);
	return 0;
}

/* ---- a session ------------------------------------------------------------------------------ */

/* Marks everything after the last stored counters of the process as unknown. */
static int put_unknown_tail(struct writer *writer, int64_t process_id)
{
	struct ledger ledger = {.process_id = process_id, .loss = {[LEDGER_UNKNOWN_TAIL] = 1}};
	struct process_mark mark;
	int r = process_read_mark(writer, process_id, &mark);

	if (r < 0)
		return r;
	ledger.next_from_ns = mark.counted_ns;
	ledger_begin_reading(&ledger, 0, 0);
	r = ledger_save(&ledger, &writer->statements, true);
	ledger_done(&ledger);
	return r;
}

int close_unread_row(struct writer *writer, int64_t process_id, enum store_ended how, int status)
{
	int r = put_unknown_tail(writer, process_id);

	return r < 0 ? r : process_put_end(writer, process_id, ended_name[how], status, false);
}

/* Ends the processes of an earlier run of the collector that never reconnected. */
static int end_forgotten(struct store_session *session, struct writer *writer)
{
	sqlite3_stmt *all = writer->statements.at[ST_PROCESS_OPEN_ALL];
	int r = 0;

	while (r == 0) {
		int64_t id;
		int step;

		sqlite3_bind_int64(all, 1, session->id);
		step = sqlite3_step(all);
		id = step == SQLITE_ROW ? sqlite3_column_int64(all, 0) : 0;
		sqlite3_reset(all);
		if (step != SQLITE_ROW)
			return database_errno(step);
		r = close_unread_row(writer, id, STORE_ENDED_UNKNOWN, -1);
	}
	return r;
}

static int end_all_processes(struct store_session *session)
{
	struct store_database *database = session->database;
	int r = 0;

	for (struct store_process *p = session->processes; p && r == 0; p = p->next)
		if (p->process)
			r = end_unread(database, p, STORE_ENDED_UNKNOWN, -1);
	return r < 0 ? r : end_forgotten(session, database->writer);
}

static int put_session_end(struct store_session *session, struct writer *writer, int exit_status)
{
	sqlite3_stmt *end = writer->statements.at[ST_SESSION_END];

	sqlite3_bind_int64(end, 1, session->id);
	sqlite3_bind_int64(end, 2, (int64_t)clock_boottime_ns());
	database_bind_optional(end, 3, exit_status >= 0, exit_status);
	return database_run(end);
}

/* Records what is missing that no process reports. */
static int put_unseen(struct store_session *session, bool was_unwatched)
{
	struct writer *writer = session->database->writer;
	int r = 0;

	if (session->unseen)
		r = verdict_add_unseen(writer, session->unseen, (uid_t)-1);
	/* Also if an earlier close recorded that ranks were missing, and they have come since. */
	if (r == 0 && (was_unwatched || writer->is_resumed))
		r = verdict_put_unwatched(writer, session->id, was_unwatched);
	return r;
}

/* Writes everything that the file says about the end of the session, in one transaction. */
static int finish_rows(struct store *store, const struct command *command)
{
	struct store_session *session = command->session;
	struct store_database *database = session->database;
	struct writer *writer = database->writer;
	struct completeness completeness;
	int r = work_commit(store, database);

	if (r == 0)
		r = writer_begin(writer);
	if (r == 0)
		r = end_all_processes(session);
	if (r == 0)
		r = put_unseen(session, command->was_unwatched);
	if (r == 0)
		r = put_session_end(session, writer, command->exit_status);
	if (r == 0)
		r = session_row_put_controls(writer, session->id, NULL);
	if (r == 0 && writer->is_resumed && database->sessions == 1)
		r = verdict_count_rows(writer);
	/* A file of several sessions is complete if all of them are. */
	if (r == 0)
		r = verdict_read(writer, 0, database->sessions > 1, &completeness);
	if (r == 0)
		r = verdict_save(writer, &completeness);
	return r == 0 ? writer_commit(writer) : r;
}

/* True if the session was opened again while its close waited for readers. */
static bool has_successor(const struct store_session *session)
{
	for (const struct store_session *s = session->database->first_session; s; s = s->sibling)
		if (s != session && s->id == session->id)
			return true;
	return false;
}

static void put_index(struct store *store, struct store_session *session)
{
	struct index_entry entry = {
		.database = session->path,
		.name = session->name,
		.job = session->job,
		.command = session->command,
		.uid = session->uid,
		.start_realtime_ns = session->start_realtime_ns,
		.end_realtime_ns = clock_realtime_ns(),
		.is_complete = session->stat.complete,
		.line = session->stat.line,
		.stored = session->stat.stored,
		.bytes = session->stat.database_bytes,
		.counts =
			{
				.changed_ns = storage_changed_ns(session->path),
				.dispatched = session->stat.dispatched,
				.lost = session->stat.lost,
				.processes = session->stat.processes,
				.is_simulated = session->stat.simulated,
			},
	};

	/* The index only helps to find files; the files are authoritative. */
	if (store->index && !has_successor(session))
		retention_say_index(store, index_put(store->index, &entry));
}

/* Reads the final figures while the file is still open. Retries, so that a passing error does not
 * leave the session without them. */
static int fill_last(struct store_session *session)
{
	int r = -EAGAIN;

	session->is_over = true;
	for (int i = 0; i < LAST_WORD_TRIES && r < 0; i++)
		r = stat_fill_session(session, true);
	session->is_over = r == 0;
	return r;
}

/* The file was removed or renamed: a reader that opens its path does not find the rows, so the
 * session counts as incomplete. */
static void judge_place(struct store_session *session)
{
	struct store *store = session->store;
	struct store_session_stat *stat = &session->stat;

	if (!database_has_moved(session->database->writer->db))
		return;
	pthread_mutex_lock(&store->lock);
	stat->complete = false;
	stat->missing = true;
	snprintf(stat->line, sizeof(stat->line),
		"%sINCOMPLETE: %" PRIu64 " dispatched, %" PRIu64
		" stored in a file that was removed or renamed",
		stat->simulated ? "SIMULATED " : "", stat->dispatched, stat->stored);
	pthread_mutex_unlock(&store->lock);
}

/*
 * The final figures of a closed session could not be read. The known ones are from the time when it
 * still ran.
 */
static void judge_unread(struct store_session *session, int error)
{
	struct store_session_stat *stat = &session->stat;

	pthread_mutex_lock(&session->store->lock);
	stat->complete = false;
	stat->missing = true;
	snprintf(stat->line, sizeof(stat->line),
		"%sINCOMPLETE: %" PRIu64 " dispatched, %" PRIu64
		" stored, as far as could be read: %s",
		stat->simulated ? "SIMULATED " : "", stat->dispatched, stat->stored,
		strerror(-error));
	pthread_mutex_unlock(&session->store->lock);
}

static void finish_session(struct store *store, struct store_session *session)
{
	session->is_over = true;
	for (struct store_process *p = session->processes; p; p = p->next)
		if (p->process)
			announce_end(p);
	put_index(store, session);
	if (session->database->sessions == 1)
		over_quota_close(store, session->database);
	session_leave(session);
}

/* Returns @error, or -EAGAIN if it may pass and there is still time to wait for that. */
static int wait_or(
	struct store_database *database, const struct command *command, bool is_last, int error)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (is_last || error == 0 || now_ns >= command->deadline_ns)
		return error;
	database->not_before_ns = now_ns + STORE_SEAL_TRY_NS;
	return -EAGAIN;
}

static int write_rows(struct store *store, struct store_database *database, struct command *command)
{
	int r = finish_rows(store, command);

	if (r < 0)
		return r;
	trouble_over(store, database);
	command->deadline_ns = clock_monotonic_ns() + STORE_SEAL_NS;
	return 0;
}

/*
 * Makes the database one file. A private collector keeps a descriptor of the WAL: its name goes
 * now, which is what the file needs, and its blocks are freed after the answer, while rtl reads the
 * file. To free them may take as many disk requests as all the rest. In the service no client waits
 * for that, and no thread is started for it.
 */
static int seal(const struct store *store, struct store_database *database, struct command *command)
{
	if (!store->index && command->log_fd < 0)
		command->log_fd = wal_hold(database->writer->path);
	return database_seal(database->writer->db);
}

/*
 * Seals the file and reads the final figures. *@ret_error: why it is not one file. -EAGAIN: to be
 * tried again later.
 */
static int make_one_file(
	struct store_database *database, struct command *command, bool is_last, int *ret_error)
{
	int r = 0, unread;

	if (database->sessions == 1) {
		r = seal(command->session->store, database, command);
		database->is_sealed = r == 0;
		r = wait_or(database, command, is_last, r);
	}
	if (r == -EAGAIN)
		return -EAGAIN;
	unread = wait_or(database, command, is_last, fill_last(command->session));
	if (unread == -EAGAIN)
		return -EAGAIN;
	if (unread < 0)
		judge_unread(command->session, unread);
	judge_place(command->session);
	*ret_error = r;
	return 0;
}

int close_session(
	struct store *store, struct store_database *database, struct command *command, bool is_last)
{
	struct store_session *session = command->session;
	int r = 0, error = 0;

	if (session->is_over && !command->deadline_ns)
		return 0;
	if (!command->deadline_ns)
		r = write_rows(store, database, command);
	/* Checked before a checkpoint copies a hole of the WAL into the database. */
	if (r == 0)
		r = wal_check_whole(database->writer->db);
	if (r == 0)
		r = make_one_file(database, command, is_last, &error);
	if (r < 0)
		return r;
	finish_session(store, session);
	/* Closed before the answer: a client that reads the file then meets no lock of ours. */
	if (!database->sessions)
		database = session_file_close(store, database);
	/* A file that is not sealed has lost nothing: it is whole, but has a WAL beside it. */
	answer_session(session, STORE_CLOSED, error, session->stat.line);
	/* Frees the blocks of the log, which takes a while. */
	if (command->log_fd >= 0)
		close(TAKE_FD(command->log_fd));
	return database ? 0 : STEP_GONE;
}

bool close_unwritten(
	struct store *store, struct store_database *database, struct store_session *session)
{
	int error = database->trouble;
	char line[128];

	snprintf(line, sizeof(line), "INCOMPLETE: the end was not stored: %s", strerror(-error));
	session->is_over = true;
	for (struct store_process *p = session->processes; p; p = p->next)
		p->process = process_free(p->process);
	pthread_mutex_lock(&store->lock);
	session->stat.closed = true;
	session->stat.complete = false;
	snprintf(session->stat.line, sizeof(session->stat.line), "%s", line);
	pthread_mutex_unlock(&store->lock);
	session_leave(session);
	if (!database->sessions)
		database = session_file_close(store, database);
	answer_session(session, STORE_CLOSED, error, line);
	return !database;
}
