// SPDX-License-Identifier: MIT
/* Rows of a query's result: from SQLite, or all dispatches from the pages of the file. */
#include "cli/database/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/database/query_private.h"
#include "proto/base/cleanup.h"

#define FOLD_BEGIN "rtl_fold("

/* ---- queries that can be read from pages ----------------------------------------------- */

/*
 * Finds the part between SELECT and FROM rtl_dispatch; false if the query contains anything else.
 */
static bool find_columns(const char *sql, const char **ret_begin, const char **ret_end)
{
	static const char begin[] = "\nSELECT ", end[] = " FROM rtl_dispatch;";
	const char *from = strstr(sql, begin), *to = from ? strstr(from, end) : NULL;

	if (!to || to[strlen(end) + strspn(to + strlen(end), " \n")])
		return false;
	from += strlen(begin);
	if (!strncmp(from, FOLD_BEGIN, strlen(FOLD_BEGIN)) && to[-1] == ')') {
		from += strlen(FOLD_BEGIN);
		to--;
	}
	*ret_begin = from;
	*ret_end = to;
	return true;
}

/* Returns its position among the columns of the query, or -1. */
static int find_name(const char *begin, const char *end, const char *name)
{
	const size_t length = strlen(name);

	for (int at = 0; begin < end; at++) {
		size_t here = strcspn(begin, ",");

		if (here > (size_t)(end - begin))
			here = (size_t)(end - begin);
		if (here == length && !memcmp(begin, name, length))
			return at;
		begin += here + (begin + here < end);
		begin += strspn(begin, " ");
	}
	return -1;
}

static unsigned count_names(const char *begin, const char *end)
{
	unsigned count = 1;

	for (; begin < end; begin++)
		count += *begin == ',';
	return count;
}

/*
 * Finds the position of each column in a row. Columns whose values are not stored as they are, are
 * left to SQLite.
 */
static int find_places(
	struct query *query, const char *begin, const char *end, struct query_pages_table *table)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	unsigned found = 0;
	int r = query_ask(query, "dispatch_columns", &rows);

	table->count = count_names(begin, end);
	if (!r && table->count > QUERY_PAGES_COLUMNS)
		return -ENOTSUP;
	while (!r && (r = query_next(rows)) > 0) {
		int at = find_name(begin, end, query_text(rows, 0));

		if (!query_integer(rows, 1) || table->columns == QUERY_PAGES_TABLE_COLUMNS)
			return -ENOTSUP;
		if (at >= 0) {
			table->wanted[at] = table->columns;
			found++;
		}
		table->columns++;
		r = 0;
	}
	return r ? r : found == table->count ? 0 : -ENOTSUP;
}

static int find_root(struct query *query, struct query_pages_table *table)
{
	int64_t root = 0;
	int r = query_number(query, "dispatch_root", 0, &root);

	table->root = root > 0 && root <= UINT32_MAX ? (uint32_t)root : 0;
	return r ? r : table->root ? 0 : -ENOTSUP;
}

/* Sets the range to all rows, unless this connection reads a part (sql/part.sql). */
static int find_range(struct query *query, struct query_pages_table *table)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int64_t is_part = 0;
	int r = query_number(query, "is_part", 0, &is_part);

	table->first_id = INT64_MIN;
	table->last_id = INT64_MAX;
	if (r || !is_part)
		return r;
	r = query_ask(query, "part_range", &rows);
	if (!r)
		r = query_next(rows);
	if (r <= 0)
		return r ? r : -ENOTSUP;
	table->first_id = query_integer(rows, 0);
	table->last_id = query_integer(rows, 1);
	return 0;
}

int query_find_pages(struct query *query, const char *sql, struct query_rows *rows)
{
	struct query_pages_table table = {0};
	const char *begin, *end;
	int r;

	if (!find_columns(sql, &begin, &end))
		return 0;
	r = find_places(query, begin, end, &table);
	if (!r)
		r = find_root(query, &table);
	if (!r)
		r = find_range(query, &table);
	if (!r)
		r = query_pages_new(query->db, &table, &rows->pages);
	/* SQLite reports any other error when it runs the query. */
	return r == -ENOMEM ? r : 0;
}

/* ---- rows ------------------------------------------------------------------------------ */

static int step(struct query_rows *rows)
{
	int code = sqlite3_step(rows->statement);

	if (code == SQLITE_ROW)
		return 1;
	return code == SQLITE_DONE ? 0 : query_fail(rows->query, code);
}

/* Moves to the row after those that were returned; the first rows of SQLite are the same. */
static int go_on_in_sqlite(struct query_rows *rows)
{
	uint64_t given = query_pages_count(rows->pages);
	int r = 1;

	query_pages_free_p(&rows->pages);
	while (given-- && r > 0)
		r = step(rows);
	return r > 0 ? step(rows) : r;
}

int query_next(struct query_rows *rows)
{
	int r = rows->pages ? query_pages_next(rows->pages, &rows->row) : step(rows);

	return r == -ENOTSUP && rows->pages ? go_on_in_sqlite(rows) : r;
}

void query_rows_free_p(struct query_rows **rows)
{
	if (!*rows)
		return;
	sqlite3_finalize((*rows)->statement);
	query_pages_free_p(&(*rows)->pages);
	free(*rows);
	*rows = NULL;
}

int64_t query_integer(const struct query_rows *rows, int column)
{
	return rows->pages ? rows->row.numbers[column]
			   : sqlite3_column_int64(rows->statement, column);
}

double query_real(const struct query_rows *rows, int column)
{
	return rows->pages ? (double)rows->row.numbers[column]
			   : sqlite3_column_double(rows->statement, column);
}

bool query_is_null(const struct query_rows *rows, int column)
{
	return rows->pages ? rows->row.nulls >> column & 1
			   : sqlite3_column_type(rows->statement, column) == SQLITE_NULL;
}

const char *query_text(const struct query_rows *rows, int column)
{
	return (const char *)sqlite3_column_text(rows->statement, column);
}

struct render_value query_value(const struct query_rows *rows, int column)
{
	struct render_value value = render_null();

	switch (sqlite3_column_type(rows->statement, column)) {
	case SQLITE_INTEGER:
		return render_integer(sqlite3_column_int64(rows->statement, column));
	case SQLITE_FLOAT:
		return render_real(sqlite3_column_double(rows->statement, column));
	case SQLITE_TEXT:
	case SQLITE_BLOB:
		/* A text may contain NULs: take its length from SQLite. */
		value.text = sqlite3_column_blob(rows->statement, column);
		value.length = (size_t)sqlite3_column_bytes(rows->statement, column);
		if (!value.text)
			value.text = "";
		value.type = RENDER_STRING;
		return value;
	default:
		return value;
	}
}

int query_column_count(const struct query_rows *rows)
{
	return sqlite3_column_count(rows->statement);
}

const char *query_column_name(const struct query_rows *rows, int column)
{
	return sqlite3_column_name(rows->statement, column);
}

/* ---- folds ----------------------------------------------------------------------------- */

/* One row of query_fold(). If none is running (a user's SQL), it does nothing. */
static void fold_step(sqlite3_context *context, int count, sqlite3_value **values)
{
	struct query *query = sqlite3_user_data(context);
	int64_t numbers[QUERY_FOLD_COLUMNS];
	unsigned nulls = 0;

	if (!query->take || count > QUERY_FOLD_COLUMNS)
		return;
	if (query->skipped) {
		query->skipped--;
		return;
	}
	for (int i = 0; i < count; i++) {
		numbers[i] = sqlite3_value_int64(values[i]);
		if (!numbers[i] && sqlite3_value_type(values[i]) == SQLITE_NULL)
			nulls |= 1u << i;
	}
	query->taken = query->take(query->taker, numbers, nulls);
	if (query->taken)
		sqlite3_result_error_code(context, SQLITE_ABORT);
}

static void fold_final(sqlite3_context *context)
{
	sqlite3_result_null(context);
}

int query_add_fold(struct query *query)
{
	return sqlite3_create_function(query->db, "rtl_fold", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
		query, NULL, fold_step, fold_final);
}

static int fold_in_sqlite(struct query_rows *rows, query_take take, void *context)
{
	struct query *query = rows->query;
	int r;

	query->take = take;
	query->taker = context;
	query->taken = 0;
	r = step(rows);
	query->take = NULL;
	return query->taken ? query->taken : r < 0 ? r : 0;
}

int query_fold(struct query *query, const char *name, query_take take, void *context)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(query, name, &rows);

	if (r)
		return r;
	query->skipped = 0;
	while (rows->pages && (r = query_pages_next(rows->pages, &rows->row)) > 0) {
		r = take(context, rows->row.numbers, rows->row.nulls);
		if (r)
			return r;
	}
	if (rows->pages && r != -ENOTSUP)
		return r;
	if (rows->pages)
		query->skipped = query_pages_count(rows->pages);
	return fold_in_sqlite(rows, take, context);
}
