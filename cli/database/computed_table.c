// SPDX-License-Identifier: MIT
/* By a virtual table of SQLite that exists without a statement that makes it ("eponymous"). */
#include "cli/database/computed_table.h"

#include <sqlite3.h>
#include <stdlib.h>

#include "cli/base/memory.h"
#include "cli/database/query_internal.h"
#include "proto/base/cleanup.h"

struct connection {
	sqlite3_vtab base;
	const struct computed_table *table;
};

struct cursor {
	sqlite3_vtab_cursor base;
	size_t row;
};

static const struct computed_table *table_of(const struct cursor *cursor)
{
	return ((const struct connection *)cursor->base.pVtab)->table;
}

static int connect(sqlite3 *db, void *context, int argc, const char *const *argv,
	sqlite3_vtab **ret, char **error)
{
	const struct computed_table *table = context;
	char *sql = sqlite3_mprintf("CREATE TABLE x(%s)", table->columns);
	struct connection *connection = xcalloc(1, sizeof(*connection));
	int code = sql ? sqlite3_declare_vtab(db, sql) : SQLITE_NOMEM;

	(void)argc, (void)argv, (void)error; /* SQLite's signature */
	sqlite3_free(sql);
	if (code) {
		free(connection);
		return code;
	}
	connection->table = table;
	*ret = &connection->base;
	return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *base)
{
	free(base);
	return SQLITE_OK;
}

/* Nothing is indexed: SQLite looks at every row. */
static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct computed_table *table = ((struct connection *)base)->table;

	info->estimatedCost = (double)table->rows;
	info->estimatedRows = (sqlite3_int64)table->rows;
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
	struct cursor *cursor = xcalloc(1, sizeof(*cursor));

	(void)base; /* SQLite sets it in the cursor */
	*ret = &cursor->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *cursor)
{
	free(cursor);
	return SQLITE_OK;
}

static int filter(
	sqlite3_vtab_cursor *cursor, int number, const char *text, int argc, sqlite3_value **argv)
{
	(void)number, (void)text, (void)argc, (void)argv; /* best_index() asks for none */
	((struct cursor *)cursor)->row = 0;
	return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *cursor)
{
	((struct cursor *)cursor)->row++;
	return SQLITE_OK;
}

static int is_at_end(sqlite3_vtab_cursor *cursor)
{
	const struct cursor *c = (const struct cursor *)cursor;

	return c->row >= table_of(c)->rows;
}

static int column(sqlite3_vtab_cursor *cursor, sqlite3_context *to, int at)
{
	const struct cursor *c = (const struct cursor *)cursor;
	const struct computed_table *table = table_of(c);
	int64_t value;

	if (table->value(table->context, c->row, at, &value))
		sqlite3_result_int64(to, value);
	else
		sqlite3_result_null(to);
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)((const struct cursor *)cursor)->row;
	return SQLITE_OK;
}

int query_add_table(struct query *query, const struct computed_table *table)
{
	static const sqlite3_module module = {
		.xConnect = connect,
		.xBestIndex = best_index,
		.xDisconnect = disconnect,
		.xOpen = open_cursor,
		.xClose = close_cursor,
		.xFilter = filter,
		.xNext = next,
		.xEof = is_at_end,
		.xColumn = column,
		.xRowid = rowid,
	};
	/* It is not written to: SQLite has no const here. */
	int code = sqlite3_create_module(query->db, table->name, &module, (void *)table);
	char *sql = sqlite3_mprintf("SELECT 1 FROM %Q LIMIT 0", table->name);

	/* Now, for its declaration is a statement that no user may make. */
	if (!code)
		code = sql ? sqlite3_exec(query->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
	return code ? query_fail(query, code) : 0;
}
