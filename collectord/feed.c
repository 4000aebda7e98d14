/* SPDX-License-Identifier: MIT */
#include "collectord/feed.h"

#include <errno.h>
#include <stdlib.h>

#include "collectord/database.h"

struct feed_table {
	sqlite3_vtab base;
	struct feed *feed;
};

struct feed_cursor {
	sqlite3_vtab_cursor base;
	struct feed *feed;
	uint32_t row;
};

static int feed_connect(sqlite3 *db, void *data, int argc, const char *const *argv,
	sqlite3_vtab **ret, char **ret_error)
{
	struct feed_table *table;
	int r;

	(void)argc;
	(void)argv;
	(void)ret_error;
	r = sqlite3_declare_vtab(db,
		"CREATE TABLE feed (shape_id, seq, start, duration, submit, tid, marker, untimed, "
		"call, node)");
	if (r != SQLITE_OK)
		return r;
	table = sqlite3_malloc(sizeof(*table));
	if (!table)
		return SQLITE_NOMEM;
	*table = (struct feed_table){.feed = data};
	*ret = &table->base;
	return SQLITE_OK;
}

static int feed_disconnect(sqlite3_vtab *table)
{
	sqlite3_free(table);
	return SQLITE_OK;
}

static int feed_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	(void)table;
	info->estimatedCost = FEED_ROWS_MAX;
	info->estimatedRows = FEED_ROWS_MAX;
	return SQLITE_OK;
}

static int feed_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret)
{
	struct feed_cursor *cursor = sqlite3_malloc(sizeof(*cursor));

	if (!cursor)
		return SQLITE_NOMEM;
	*cursor = (struct feed_cursor){.feed = ((struct feed_table *)table)->feed};
	*ret = &cursor->base;
	return SQLITE_OK;
}

static int feed_close(sqlite3_vtab_cursor *cursor)
{
	sqlite3_free(cursor);
	return SQLITE_OK;
}

static int feed_filter(
	sqlite3_vtab_cursor *cursor, int index, const char *text, int argc, sqlite3_value **argv)
{
	(void)index;
	(void)text;
	(void)argc;
	(void)argv;
	((struct feed_cursor *)cursor)->row = 0;
	return SQLITE_OK;
}

static int feed_next(sqlite3_vtab_cursor *cursor)
{
	((struct feed_cursor *)cursor)->row++;
	return SQLITE_OK;
}

static int feed_eof(sqlite3_vtab_cursor *cursor)
{
	const struct feed_cursor *c = (const struct feed_cursor *)cursor;

	return c->row >= c->feed->count;
}

/* Once a value of every row: nothing but the load and the call. */
static int feed_value(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column)
{
	const struct feed_cursor *c = (const struct feed_cursor *)cursor;
	int64_t value = c->feed->column[column][c->row];

	if (value != FEED_NULL)
		sqlite3_result_int64(context, value);
	return SQLITE_OK; /* no result is NULL */
}

static int feed_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret)
{
	*ret = ((struct feed_cursor *)cursor)->row;
	return SQLITE_OK;
}

/* No xCreate: eponymous only, nothing of it ever stands in the schema. */
static const sqlite3_module feed_module = {
	.xConnect = feed_connect,
	.xBestIndex = feed_best_index,
	.xDisconnect = feed_disconnect,
	.xOpen = feed_open,
	.xClose = feed_close,
	.xFilter = feed_filter,
	.xNext = feed_next,
	.xEof = feed_eof,
	.xColumn = feed_value,
	.xRowid = feed_rowid,
};

int feed_new(sqlite3 *db, struct feed **ret)
{
	struct feed *feed = calloc(1, sizeof(*feed));
	int r;

	if (!feed)
		return -ENOMEM;
	r = sqlite3_create_module(db, "rtl_feed", &feed_module, feed);
	if (r == SQLITE_OK)
		r = sqlite3_prepare_v3(db,
			"INSERT INTO rtl_dispatch (shape_id, seq, start, duration, submit, tid, "
			"marker, untimed, call, node) "
			"SELECT shape_id, seq, start, duration, submit, tid, marker, untimed, "
			"call, node FROM rtl_feed",
			-1, SQLITE_PREPARE_PERSISTENT, &feed->insert, NULL);
	if (r != SQLITE_OK) {
		feed_free(feed);
		return database_errno(r);
	}
	*ret = feed;
	return 0;
}

struct feed *feed_free(struct feed *feed)
{
	if (feed)
		sqlite3_finalize(feed->insert);
	free(feed);
	return NULL;
}

int feed_flush(struct feed *feed)
{
	int r;

	if (!feed->count)
		return 0;
	(void)sqlite3_step(feed->insert); /* sqlite3_reset() says the same error again */
	r = sqlite3_reset(feed->insert);
	if (r != SQLITE_OK)
		return database_errno(r);
	feed->count = 0;
	return 0;
}
