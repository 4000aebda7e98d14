/* SPDX-License-Identifier: MIT */
/* The commit of a database's transaction, and what follows it. */

#include "collectord/store/degraded.h"
#include "collectord/store/internal.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"

static int save_processes(struct store_session *session, struct writer *writer)
{
	bool are_ranks_new = false;

	for (struct store_process *p = session->processes; p; p = p->next) {
		int r = p->is_touched ? process_save(p->process, writer, false) : 0;

		if (r < 0)
			return r;
		are_ranks_new |= p->process && p->process->is_rank_new;
	}
	return are_ranks_new ? session_row_find_ranks(session, writer) : 0;
}

static int save_touched(struct store_database *database)
{
	int r = 0;

	for (struct store_session *s = database->first_session; r == 0 && s; s = s->sibling)
		r = save_processes(s, database->writer);
	return r;
}

static void announce_commit(struct store_process *p)
{
	if (!p->is_touched)
		return;
	p->is_touched = false;
	stat_fill_process(p);
	if (p->is_opening) {
		p->is_opening = false;
		p->committed = p->process->frame;
		answer_process(p, STORE_PROCESS_OPENED, 0, NULL);
	}
	if (p->process->frame <= p->committed)
		return;
	p->committed = p->process->frame;
	answer_process(p, STORE_COMMITTED, 0, NULL);
}

/* Moves processes that have ended to session->ended, so that later commits and scans skip them. */
static void announce_commits(struct store_session *session)
{
	struct store_process **at = &session->processes, *p;

	while ((p = *at)) {
		if (p->process)
			announce_commit(p);
		if (p->process || !p->is_over) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		p->next = session->ended;
		session->ended = p;
	}
}

/* Keeps the Hello after the commit; until then a rollback needs it in the command. */
static void keep_hello(struct command *command)
{
	struct store_process *p = command->process;

	p->hello = TAKE(command->bytes);
	p->hello_bytes = command->count;
	p->uid = command->uid;
}

bool work_has_processes(const struct store_database *database)
{
	for (const struct store_session *s = database->first_session; s; s = s->sibling)
		for (const struct store_process *p = s->processes; p; p = p->next)
			if (p->process)
				return true;
	return false;
}

void work_rest(const struct store *store, const struct store_database *database)
{
	if (store->index && database->writer->db && !work_has_processes(database))
		(void)sqlite3_db_release_memory(database->writer->db);
}

int work_commit(struct store *store, struct store_database *database)
{
	struct command *command;
	uint64_t now_ns;
	int r;

	if (!database->writer->is_open)
		return 0;
	store_beat(store);
	/* Rows are written first: feeding them updates the ledgers that are saved next. */
	r = save_touched(database);
	if (r == 0)
		r = writer_commit(database->writer);
	if (r < 0) {
		trouble_fail(store, database, r);
		return STEP_UNDONE;
	}
	for (struct store_session *s = database->first_session; s; s = s->sibling)
		announce_commits(s);
	database->has_openings = false;
	now_ns = clock_monotonic_ns();
	while ((command = command_list_take(&database->taken))) {
		/* An opening is no reason to delay the commit of records; nor is a scan of what is
		 * in flight. */
		if (command->kind == COMMAND_PROCESS_OPEN)
			keep_hello(command);
		else
			database->committed_ns = now_ns;
		answer_release(store, command);
		command_free(command);
	}
	trouble_over(store, database);
	for (struct store_session *s = database->first_session; s; s = s->sibling)
		stat_fill_session(s, false);
	wal_growth_check(database);
	over_quota_check(store, database);
	work_rest(store, database);
	return 0;
}

/* True if commands have come that are not done yet. */
static bool has_more(struct store *store, const struct store_database *database)
{
	bool has;

	pthread_mutex_lock(&store->lock);
	has = database->todo.first || store->queue.first;
	pthread_mutex_unlock(&store->lock);
	return has;
}

int work_commit_due(struct store *store, struct store_database *database)
{
	bool is_parting = database->is_parting;
	int r = work_commit(store, database);

	database->is_parting = false;
	/* The service takes no step: records of other users wait, and a sync of a busy disk may
	 * take a second. */
	if (r < 0 || store->index)
		return r;
	/* After the last Bye comes the end of its process. If that is here already, the close is
	 * the step. */
	if (!is_parting || !has_more(store, database))
		checkpoint_step(&store->checkpoints, database->writer, is_parting);
	return 0;
}

uint64_t work_next_commit(const struct store_database *database)
{
	return database->writer->is_open ? database->committed_ns + COMMIT_MS_MAX * 1000000ull
					 : UINT64_MAX;
}
