/* SPDX-License-Identifier: MIT */
#include "collectord/db/rows/checkpoint.h"

#include "collectord/db/database.h"
#include "collectord/db/wal.h"
#include "collectord/db/rows/writer.h"
#include "proto/base/clock.h"
#include "proto/base/fault.h"
#include "proto/base/limits.h"

#define MOST_PAGES  (WAL_CHECKPOINT_BYTES / DATABASE_PAGE_BYTES)
#define STEP_PAGES  (WAL_STEP_BYTES / DATABASE_PAGE_BYTES)
/* Checkpoints may take one tenth of the time: a pause is nine times as long as the last step. */
#define PAUSE_PARTS 9u
/* A WAL is worth a step once it holds an eighth of all pages logged so far. */
#define LIFE_PARTS  8u
/* For fewer pages than these a step is not worth it, since the close waits for the disk anyway. */
#define PART_PAGES  (STEP_PAGES / 4)

/* Checkpoints as far as readers allow. On failure the next commit tries again, and its error
 * counts. */
static void go(sqlite3 *db)
{
	if (wal_check_whole(db) == 0)
		(void)sqlite3_wal_checkpoint_v2(db, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
}

static int on_commit(void *data, sqlite3 *db, const char *name, int pages)
{
	struct writer *writer = data;

	(void)name; /* the feed has no WAL */
	/* If there are fewer pages than before, SQLite has restarted the WAL. */
	writer->life_pages +=
		(unsigned)pages - ((unsigned)pages < writer->log_pages ? 0 : writer->log_pages);
	writer->log_pages = (unsigned)pages;
	if (writer->log_pages >= MOST_PAGES)
		go(db);
	return SQLITE_OK;
}

void checkpoint_watch(struct writer *writer)
{
	writer->log_pages = 0;
	(void)sqlite3_wal_hook(writer->db, on_commit, writer);
}

static bool is_worth_it(const struct writer *writer, bool is_parting)
{
	return is_parting || (writer->log_pages >= STEP_PAGES &&
				     writer->log_pages >= writer->life_pages / LIFE_PARTS);
}

void checkpoint_step(struct checkpoints *last, struct writer *writer, bool is_parting)
{
	uint64_t begin_ns;

	if (!writer->db || writer->is_open || writer->log_pages < PART_PAGES)
		return;
	begin_ns = clock_monotonic_ns();
	if (!is_worth_it(writer, is_parting) ||
		(!is_parting && begin_ns - last->ended_ns < PAUSE_PARTS * last->took_ns)) {
		/* Starts the write-back early: a later sync waits for everything that is not under
		 * way by then, and at the end of a session rtl run waits for that sync. */
		wal_send(writer->path);
		return;
	}
	FAULT_POINT("checkpoint_step");
	go(writer->db);
	last->ended_ns = clock_monotonic_ns();
	last->took_ns = last->ended_ns - begin_ns;
}
