/* SPDX-License-Identifier: MIT */
#include "collectord/catalog/index_totals.h"

#include "collectord/db/database.h"
#include "collectord/catalog/index_private.h"

/* Grouped by the key alone: grouping by more would sort all rows. */
#define CLOSED(which)                                                                              \
	"SELECT max(coalesce(bytes, 0)) AS bytes FROM session " which                              \
	" GROUP BY database HAVING count(*) = count(end_realtime_ns)"

void index_totals_forget(struct index *index)
{
	index->has_totals = false;
}

static int read_totals(struct index *index)
{
	sqlite3_stmt *row = NULL;
	int step, r;

	if (index->has_totals)
		return 0;
	r = database_prepare(index->db, &row,
		"SELECT coalesce(sum(bytes), 0), count(*), (SELECT count(*) FROM removed) "
		"FROM (" CLOSED("") ")");
	if (r < 0)
		return r;
	step = sqlite3_step(row);
	index->totals = (struct index_totals){
		.closed_bytes = (uint64_t)sqlite3_column_int64(row, 0),
		.closed = (unsigned)sqlite3_column_int64(row, 1),
		.removed = (unsigned)sqlite3_column_int64(row, 2),
	};
	index->has_totals = step == SQLITE_ROW;
	sqlite3_finalize(row);
	return database_errno(step);
}

int index_totals_read(struct index *index, struct index_totals *ret)
{
	int r = read_totals(index);

	if (r == 0)
		*ret = index->totals;
	return r;
}

/* Adds or subtracts @database if all its sessions are closed. */
static void count(struct index *index, const char *database, bool is_more)
{
	struct index_totals *totals = &index->totals;
	sqlite3_stmt *row = NULL;
	uint64_t bytes;
	int step;

	if (!index->has_totals)
		return;
	index->has_totals =
		database_prepare(index->db, &row, CLOSED("WHERE database = ?1")) == 0;
	if (!index->has_totals)
		return;
	database_bind_text(row, 1, database);
	step = sqlite3_step(row);
	bytes = (uint64_t)sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	if (step == SQLITE_ROW) {
		totals->closed_bytes += is_more ? bytes : -bytes;
		totals->closed += is_more ? 1 : -1u;
	} else {
		index->has_totals = step == SQLITE_DONE;
	}
}

void index_totals_before(struct index *index, const char *database)
{
	count(index, database, false);
}

void index_totals_after(struct index *index, const char *database)
{
	count(index, database, true);
}

void index_totals_removed(struct index *index, int64_t more)
{
	index->totals.removed += (unsigned)more;
}
