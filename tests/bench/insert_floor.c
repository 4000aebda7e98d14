/* SPDX-License-Identifier: MIT */
/*
 * What SQLite itself takes for the rows of feeders: from memory into a table with the columns of
 * rtl_dispatch, without a collector. "bind": prepared INSERT, bind and step, as most programs do.
 * "vtab": the fastest way that keeps what is committed (docs/performance.md): INSERT .. SELECT over
 * a virtual table, no mutexes, pages of 32 KiB, a checkpoint each 128 MiB. Says seconds as JSON, to
 * the last COMMIT, and its processor time.
 */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "proto/base/clock.h"
#include "tests/bench/rows.h"

#define BATCH	8192u
#define NONE	INT64_MIN
#define COLUMNS 10
#define NAMES	"shape_id, seq, start, duration, submit, tid, marker, untimed, call, node"
#define CREATE                                                                                     \
	"CREATE TABLE dispatch (id INTEGER PRIMARY KEY, shape_id INTEGER NOT NULL, "               \
	"seq INTEGER NOT NULL, start INTEGER, duration INTEGER, submit INTEGER, tid INTEGER, "     \
	"marker INTEGER, untimed INTEGER, call INTEGER, node INTEGER)"
#define PLAIN_CONFIG "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
#define FAST_CONFIG                                                                                \
	"PRAGMA page_size=32768; PRAGMA cache_size=-65536; PRAGMA journal_mode=WAL; "              \
	"PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=4000;"
#define PLAIN_COMMIT_ROWS 10000u
#define FAST_COMMIT_ROWS  65536u

static int64_t column[COLUMNS][BATCH];
static uint32_t batch_rows;

static void fill(uint64_t base_ns, uint64_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t k = first + i;
		const int64_t row[COLUMNS] = {row_shape(k) + 1, (int64_t)k,
			(int64_t)row_start_ns(base_ns, k),
			(int64_t)row_duration_ticks(k) * (int64_t)ROWS_TICK_NS, row_wait_ns(k),
			4711, (int64_t)row_range(k), NONE, NONE, NONE};

		for (int c = 0; c < COLUMNS; c++)
			column[c][i] = row[c];
	}
	batch_rows = n;
}

static void must(sqlite3 *db, int r)
{
	if (r == SQLITE_OK || r == SQLITE_DONE || r == SQLITE_ROW)
		return;
	fprintf(stderr, "insert-floor: %s\n", sqlite3_errmsg(db));
	exit(1);
}

/* ---- the virtual table ---------------------------------------------------------------------- */

struct cursor {
	sqlite3_vtab_cursor base;
	uint32_t row;
};

static int batch_connect(sqlite3 *db, void *data, int argc, const char *const *argv,
	sqlite3_vtab **ret, char **ret_error)
{
	(void)data;
	(void)argc;
	(void)argv;
	(void)ret_error;
	*ret = calloc(1, sizeof(**ret));
	return *ret ? sqlite3_declare_vtab(db, "CREATE TABLE batch (" NAMES ")") : SQLITE_NOMEM;
}

static int batch_disconnect(sqlite3_vtab *table)
{
	free(table);
	return SQLITE_OK;
}

static int batch_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	(void)table;
	info->estimatedRows = BATCH;
	return SQLITE_OK;
}

static int batch_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret)
{
	struct cursor *cursor = calloc(1, sizeof(*cursor));

	(void)table;
	*ret = cursor ? &cursor->base : NULL;
	return cursor ? SQLITE_OK : SQLITE_NOMEM;
}

static int batch_close(sqlite3_vtab_cursor *cursor)
{
	free(cursor);
	return SQLITE_OK;
}

static int batch_filter(
	sqlite3_vtab_cursor *cursor, int index, const char *text, int argc, sqlite3_value **argv)
{
	(void)index;
	(void)text;
	(void)argc;
	(void)argv;
	((struct cursor *)cursor)->row = 0;
	return SQLITE_OK;
}

static int batch_next(sqlite3_vtab_cursor *cursor)
{
	((struct cursor *)cursor)->row++;
	return SQLITE_OK;
}

static int batch_eof(sqlite3_vtab_cursor *cursor)
{
	return ((struct cursor *)cursor)->row >= batch_rows;
}

static int batch_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int c)
{
	int64_t value = column[c][((struct cursor *)cursor)->row];

	if (value != NONE)
		sqlite3_result_int64(context, value);
	return SQLITE_OK;
}

static int batch_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret)
{
	*ret = ((struct cursor *)cursor)->row;
	return SQLITE_OK;
}

static const sqlite3_module batch_module = {
	.xConnect = batch_connect,
	.xBestIndex = batch_best_index,
	.xDisconnect = batch_disconnect,
	.xOpen = batch_open,
	.xClose = batch_close,
	.xFilter = batch_filter,
	.xNext = batch_next,
	.xEof = batch_eof,
	.xColumn = batch_column,
	.xRowid = batch_rowid,
};

/* ---- the two ways --------------------------------------------------------------------------- */

static void put_bound(sqlite3 *db, sqlite3_stmt *insert)
{
	for (uint32_t i = 0; i < batch_rows; i++) {
		for (int c = 0; c < COLUMNS; c++)
			if (column[c][i] == NONE)
				sqlite3_bind_null(insert, c + 1);
			else
				sqlite3_bind_int64(insert, c + 1, column[c][i]);
		must(db, sqlite3_step(insert));
		must(db, sqlite3_reset(insert));
	}
}

static void put_batch(sqlite3 *db, sqlite3_stmt *insert)
{
	must(db, sqlite3_step(insert));
	must(db, sqlite3_reset(insert));
}

static const struct way {
	const char *name;
	int flags;
	const char *config;
	const char *insert;
	void (*put)(sqlite3 *db, sqlite3_stmt *insert);
	uint64_t commit_rows;
} ways[] = {
	{"bind", SQLITE_OPEN_FULLMUTEX, PLAIN_CONFIG,
		"INSERT INTO dispatch (" NAMES ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", put_bound,
		PLAIN_COMMIT_ROWS},
	{"vtab", SQLITE_OPEN_NOMUTEX, FAST_CONFIG,
		"INSERT INTO dispatch (" NAMES ") SELECT " NAMES " FROM batch", put_batch,
		FAST_COMMIT_ROWS},
};

static void insert_all(sqlite3 *db, const struct way *way, uint64_t rows)
{
	uint64_t base_ns = clock_boottime_ns(), since = 0;
	sqlite3_stmt *insert;

	must(db, sqlite3_prepare_v3(db, way->insert, -1, SQLITE_PREPARE_PERSISTENT, &insert, NULL));
	must(db, sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL));
	for (uint64_t first = 0; first < rows; first += batch_rows) {
		uint64_t left = rows - first;

		fill(base_ns, first, (uint32_t)(left < BATCH ? left : BATCH));
		way->put(db, insert);
		since += batch_rows;
		if (since < way->commit_rows)
			continue;
		must(db, sqlite3_exec(db, "COMMIT; BEGIN IMMEDIATE", NULL, NULL, NULL));
		since = 0;
	}
	must(db, sqlite3_exec(db, "COMMIT", NULL, NULL, NULL));
	sqlite3_finalize(insert);
}

static double cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
	const struct way *way = NULL;
	uint64_t begin_ns, rows;
	double begin_cpu;
	sqlite3 *db;

	for (size_t i = 0; argc == 4 && i < sizeof(ways) / sizeof(*ways); i++)
		if (!strcmp(argv[1], ways[i].name))
			way = &ways[i];
	if (!way) {
		fprintf(stderr, "usage: insert-floor bind|vtab NEW_FILE ROWS\n");
		return 2;
	}
	rows = strtoull(argv[3], NULL, 10);
	if (sqlite3_open_v2(argv[2], &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | way->flags,
		    NULL) != SQLITE_OK)
		must(db, SQLITE_CANTOPEN);
	must(db, sqlite3_exec(db, way->config, NULL, NULL, NULL));
	must(db, sqlite3_exec(db, CREATE, NULL, NULL, NULL));
	must(db, sqlite3_create_module(db, "batch", &batch_module, NULL));
	begin_cpu = cpu_seconds();
	begin_ns = clock_monotonic_ns();
	insert_all(db, way, rows);
	printf("{\"rows\": %" PRIu64 ", \"seconds\": %.6f, \"cpu\": %.6f}\n", rows,
		(double)(clock_monotonic_ns() - begin_ns) / 1e9, cpu_seconds() - begin_cpu);
	sqlite3_close(db);
	return 0;
}
