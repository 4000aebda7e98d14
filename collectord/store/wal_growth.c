/* SPDX-License-Identifier: MIT */
/*
 * Warns about readers that block WAL resets. A client that holds an old snapshot keeps SQLite from
 * restarting the WAL, so the WAL grows. No data is lost, so the client is left alone; its pid and
 * the size of the WAL are reported. Each check also retries the checkpoint.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collectord/db/database.h"
#include "collectord/store/internal.h"
#include "collectord/db/wal.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"

/* Interval between two checks of a WAL that is too long. */
#define CHECK_NS 250000000u
#define MIB	 (1u << 20)

static void say(const struct store_database *database, const char *text)
{
	for (struct store_session *s = database->first_session; s; s = s->sibling)
		if (!s->is_over)
			answer_session(s, text ? STORE_HELD : STORE_LET_GO, 0, text);
}

static void say_reader(struct store_database *database, uint64_t bytes)
{
	char reader[64] = "a reader", text[160];
	pid_t pid = 0;
	unsigned readers;

	if (database->index < 0)
		database->index = wal_open_index(database->writer->path);
	readers = wal_readers(database->index, &pid);
	if (readers == 1 && pid)
		snprintf(reader, sizeof(reader), "a reader (pid %d)", (int)pid);
	else if (readers > 1 && pid)
		snprintf(reader, sizeof(reader), "a reader (pid %d, or one of %u more)", (int)pid,
			readers - 1);
	snprintf(text, sizeof(text),
		"%s holds the log of the database, which has grown to %" PRIu64 " MiB", reader,
		bytes / MIB);
	say(database, text);
}

void wal_growth_check(struct store_database *database)
{
	uint64_t now_ns = clock_monotonic_ns(), bytes;

	if (database->writer->is_open || !database->writer->db ||
		now_ns < database->wal_checked_ns + CHECK_NS)
		return;
	database->wal_checked_ns = now_ns;
	bytes = wal_bytes(database->writer->path);
	/* The next commit meets any other error. */
	if (bytes > WAL_BYTES_MAX && database_checkpoint(database->writer->db) == -EBUSY) {
		if (bytes < 2 * database->wal_reported_bytes)
			return;
		database->wal_reported_bytes = bytes;
		say_reader(database, bytes);
	} else if (database->wal_reported_bytes) {
		database->wal_reported_bytes = 0;
		say(database, NULL);
	}
}

uint64_t wal_growth_next_ns(const struct store_database *database)
{
	return database->wal_reported_bytes ? database->wal_checked_ns + CHECK_NS : UINT64_MAX;
}
