// SPDX-License-Identifier: MIT
#include "cli/database/query.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/base/progress.h"
#include "cli/database/file.h"
#include "cli/database/query_internal.h"
#include "cli/database/query_text.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"
#include "proto/names/schema.h"

/* A commit of the collector takes at most COMMIT_MS_MAX, closing a file a little longer. */
#define QUERY_BUSY_MS 5000

__attribute__((format(printf, 2, 3))) static void set_error(
	struct query *query, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	/* Long text may be cut off. */
	(void)vsnprintf(query->error, sizeof(query->error), format, args);
	va_end(args);
}

int query_fail(struct query *query, int code)
{
	/* Another program has changed the file, because collectors leave no journal. */
	if (query->db && sqlite3_extended_errcode(query->db) == SQLITE_READONLY_ROLLBACK) {
		set_error(query,
			"%s: a change of it was interrupted (-journal); "
			"open it once with sqlite3 as a user with write access to roll that back",
			query->path);
		return -EROFS;
	}
	switch (code & 0xff) {
	case SQLITE_NOTADB:
		set_error(query, "%s: not an rtl database", query->path);
		return -EINVAL;
	case SQLITE_CORRUPT:
		set_error(query, "%s: truncated or damaged", query->path);
		return -EBADMSG;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		set_error(query, "%s: locked by another program; try again", query->path);
		return -EBUSY;
	case SQLITE_AUTH:
		set_error(query, "only one statement that reads is allowed");
		return -EPERM;
	case SQLITE_NOMEM:
		set_error(query, "%s: out of memory", query->path);
		return -ENOMEM;
	case SQLITE_INTERRUPT:
		return -EINTR;
	case SQLITE_ERROR:
		set_error(query, "%s: %s", query->path, sqlite3_errmsg(query->db));
		return -EINVAL;
	default:
		set_error(query, "%s: %s", query->path, sqlite3_errmsg(query->db));
		return -EIO;
	}
}

int query_damaged(struct query *query, const char *format, ...)
{
	char why[QUERY_ERROR_BYTES / 2];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(why, sizeof(why), format, args); /* long text may be cut off */
	va_end(args);
	set_error(query, "%s: damaged: %s", query->path, why);
	return -EBADMSG;
}

void query_free_p(struct query **query)
{
	struct query *q = *query;

	if (!q)
		return;
	sqlite3_close_v2(q->db);
	free(q->path);
	free(q);
	*query = NULL;
}

const char *query_error(const struct query *query)
{
	return query->error;
}

const char *query_path(const struct query *query)
{
	return query->path;
}

int64_t query_schema(const struct query *query)
{
	return query->schema;
}

uint64_t query_file_bytes(const struct query *query)
{
	return query->bytes;
}

bool query_is_live(const struct query *query)
{
	return query->is_live;
}

bool query_is_in_use(const struct query *query)
{
	return query->is_in_use;
}

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

/*
 * If @sql asks for every dispatch and the pages of the file can be read, sets rows->pages. Returns
 * 0 or -ENOMEM.
 */
static int find_pages(struct query *query, const char *sql, struct query_rows *rows)
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

/* How many rows are read between two looks at the clock. */
#define COUNTED_ROWS 4096u

static inline void count_row(void)
{
	static unsigned rows;

	if (++rows % COUNTED_ROWS == 0)
		progress_add(COUNTED_ROWS);
}

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

	count_row();
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

bool query_is_text(const struct query_rows *rows, int column)
{
	int type = rows->pages ? SQLITE_INTEGER : sqlite3_column_type(rows->statement, column);

	return type == SQLITE_TEXT || type == SQLITE_BLOB;
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

	count_row();
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

/* Defines rtl_fold(). Returns SQLite's code. */
static int add_fold(struct query *query)
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
		count_row();
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

/* ---- queries --------------------------------------------------------------------------- */

static int prepare(
	struct query *query, const char *sql, const char **ret_tail, struct query_rows **ret)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = xcalloc(1, sizeof(*rows));
	int code;

	rows->query = query;
	code = sqlite3_prepare_v2(query->db, sql, -1, &rows->statement, ret_tail);
	if (code)
		return query_fail(query, code);
	*ret = TAKE(rows);
	return 0;
}

/*
 * "-- since N": the query concerns what schema N added; files of an older schema have no such data.
 */
static bool is_older_than(const struct query *query, const char *sql)
{
	static const char since[] = "\n-- since ";
	const char *at = strstr(sql, since);

	return at && query->schema < strtol(at + strlen(since), NULL, 10);
}

static const char *find_text(struct query *query, const char *name)
{
	for (const struct query_text *text = query_texts; text->name; text++)
		if (!strcmp(text->name, name))
			return text->sql;
	set_error(query, "no query is called %s", name);
	return NULL;
}

int query_ask(struct query *query, const char *name, struct query_rows **ret)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	const char *sql = find_text(query, name);
	int r;

	if (!sql)
		return -EINVAL;
	r = prepare(query, is_older_than(query, sql) ? "SELECT NULL WHERE 0" : sql, NULL, &rows);
	if (!r)
		r = find_pages(query, sql, rows);
	if (r)
		return r;
	*ret = TAKE(rows);
	return 0;
}

int query_ask_of(struct query *query, const char *name, int64_t number, struct query_rows **ret)
{
	int r = query_ask(query, name, ret);

	/* A query that is skipped because the schema is too old has no ?1 and returns no row. */
	if (!r && sqlite3_bind_parameter_count((*ret)->statement))
		(void)sqlite3_bind_int64((*ret)->statement, 1, number);
	return r;
}

void query_ask_again(struct query_rows *rows, int64_t number)
{
	(void)sqlite3_reset(rows->statement); /* its error is that of the last step */
	if (sqlite3_bind_parameter_count(rows->statement))
		(void)sqlite3_bind_int64(rows->statement, 1, number);
}

static int do_statements(struct query *query, const char *sql, const int64_t *numbers, size_t count)
{
	while (sql && *sql) {
		CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
		int r = prepare(query, sql, &sql, &rows);

		if (r)
			return r;
		if (!rows->statement) /* only blanks and comments followed */
			return 0;
		for (int i = 1; i <= sqlite3_bind_parameter_count(rows->statement); i++)
			if ((size_t)i <= count)
				(void)sqlite3_bind_int64(rows->statement, i, numbers[i - 1]);
		while ((r = query_next(rows)) > 0)
			continue;
		if (r)
			return r;
	}
	return 0;
}

int query_do(struct query *query, const char *name, const int64_t *numbers, size_t count)
{
	const char *sql = find_text(query, name);
	int r;

	if (!sql)
		return -EINVAL;
	if (is_older_than(query, sql))
		return 0;
	/* The file itself is open read-only. */
	sqlite3_exec(query->db, "PRAGMA query_only = 0", NULL, NULL, NULL);
	r = do_statements(query, sql, numbers, count);
	sqlite3_exec(query->db, "PRAGMA query_only = 1", NULL, NULL, NULL);
	return r;
}

int query_number(struct query *query, const char *name, int64_t otherwise, int64_t *ret)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(query, name, &rows);

	if (!r)
		r = query_next(rows);
	if (r < 0)
		return r;
	*ret = r && !query_is_null(rows, 0) ? query_integer(rows, 0) : otherwise;
	return 0;
}

/* ---- opening --------------------------------------------------------------------------- */

/* A file may come from any user: its schema must not be able to reach beyond its tables. */
static int harden(struct query *query)
{
	sqlite3_db_config(query->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(query->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(query->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	(void)sqlite3_limit(query->db, SQLITE_LIMIT_LENGTH, QUERY_VALUE_BYTES_MAX);
	/* Only the collector makes checkpoints. */
	sqlite3_db_config(query->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_busy_timeout(query->db, QUERY_BUSY_MS);
	(void)add_fold(query); /* on failure, queries that use it fail with a message */
	return sqlite3_exec(query->db,
		"PRAGMA query_only = 1; PRAGMA mmap_size = 0; "
		"PRAGMA temp_store = memory; BEGIN",
		NULL, NULL, NULL);
}

static int read_pragma(struct query *query, const char *sql, int64_t *ret)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = prepare(query, sql, NULL, &rows);

	if (!r)
		r = query_next(rows);
	if (r < 0)
		return r;
	*ret = r ? query_integer(rows, 0) : 0;
	return 0;
}

/*
 * Checks that it is a database of rtl of this version, and that its schema can be read completely.
 */
static int check_identity(struct query *query)
{
	int64_t id, version, tables, rocpd;
	int r = read_pragma(query, "PRAGMA application_id", &id);

	if (!r)
		r = read_pragma(query, "PRAGMA user_version", &version);
	if (!r)
		r = read_pragma(query, "SELECT count(*) FROM sqlite_schema", &tables);
	if (!r)
		r = read_pragma(query,
			"SELECT count(*) FROM sqlite_schema WHERE name GLOB 'rocpd_*'", &rocpd);
	if (r < 0)
		return r;
	if (id != SCHEMA_APPLICATION_ID) {
		set_error(query,
			rocpd	 ? "%s: a rocpd database of another tool, not an rtl database; rtl "
				   "reads what rtl run records"
			: tables ? "%s: not an rtl database"
				 : "%s: empty: nothing was stored yet",
			query->path);
		return -EINVAL;
	}
	if (version > SCHEMA_VERSION) {
		set_error(query, "%s: schema %lld is newer than this rtl (%d); use a newer rtl",
			query->path, (long long)version, SCHEMA_VERSION);
		return -ENOTSUP;
	}
	if (version < 1) {
		set_error(query, "%s: not a complete rtl database (schema %lld)", query->path,
			(long long)version);
		return -EINVAL;
	}
	query->schema = version;
	return 0;
}

static int open_connection(struct query *query, bool is_immutable)
{
	CLEANUP(free_p) char *uri = query_file_uri(query->path, is_immutable);
	int code;

	if (!uri)
		return query_fail(query, SQLITE_NOMEM);
	sqlite3_close_v2(query->db);
	query->db = NULL;
	/* Only one thread uses it, and the mutexes of SQLite take a tenth of a scan. */
	code = sqlite3_open_v2(uri, &query->db,
		SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
	if (!code)
		code = harden(query);
	return code ? query_fail(query, code) : check_identity(query);
}

static int open_checked(struct query *query)
{
	struct query_file file;
	int r = query_file_look(query->path, &file, query->error);

	if (r)
		return r;
	query->is_live = file.has_wal;
	query->is_in_use = file.is_in_use;
	query->bytes = file.bytes;
	r = open_connection(query, false);
	/*
	 * WAL needs the -shm file, which cannot be created in a read-only directory. Without a log
	 * no process is writing, so the file alone is complete.
	 */
	if (r == -EIO && !file.has_wal && !file.is_dir_writable)
		r = open_connection(query, true);
	else if (r == -EIO && file.has_wal && !file.is_dir_writable)
		set_error(query,
			"%s: has a log (-wal) that cannot be read here; copy both to a "
			"writable directory",
			query->path);
	return r;
}

int query_open(const char *path, char error[QUERY_ERROR_BYTES], struct query **ret)
{
	CLEANUP(query_free_p) struct query *query = xcalloc(1, sizeof(*query));
	int r;

	query->path = xstrdup(path);
	r = open_checked(query);
	if (r) {
		memcpy(error, query->error, QUERY_ERROR_BYTES);
		return r;
	}
	*ret = TAKE(query);
	return 0;
}

int query_open_builtin(struct query **ret)
{
	CLEANUP(query_free_p) struct query *query = xcalloc(1, sizeof(*query));
	int code = SQLITE_OK;

	if (query)
		query->path = xstrdup("built-in rules");
	code = sqlite3_open(":memory:", &query->db);
	for (const struct query_text *text = query_builtin_texts; !code && text->name; text++)
		code = sqlite3_exec(query->db, text->sql, NULL, NULL, NULL);
	if (code)
		return query_fail(query, code);
	query->schema = SCHEMA_VERSION;
	*ret = TAKE(query);
	return 0;
}

bool query_glob(const char *pattern, const char *text)
{
	return !sqlite3_strglob(pattern, text);
}

/* ---- queries that users type ----------------------------------------------------------- */

/*
 * Allows pragmas that only return information; all others are refused, and so are arguments that
 * set a value.
 */
static int authorize_pragma(const char *name, const char *argument)
{
	static const char *const with_argument[] = {"table_info", "table_xinfo", "table_list",
		"index_list", "index_info", "index_xinfo", "foreign_key_list"};
	static const char *const plain[] = {"application_id", "user_version", "schema_version",
		"journal_mode", "page_count", "page_size", "freelist_count", "encoding",
		"database_list", "compile_options", "function_list", "collation_list",
		"quick_check", "integrity_check"};

	for (size_t i = 0; i < sizeof(with_argument) / sizeof(*with_argument); i++)
		if (!strcasecmp(name, with_argument[i]))
			return SQLITE_OK;
	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (!argument && !strcasecmp(name, plain[i]))
			return SQLITE_OK;
	return SQLITE_DENY;
}

static int authorize(void *unused, int action, const char *a, const char *b, const char *database,
	const char *trigger)
{
	(void)unused, (void)database, (void)trigger; /* sqlite3's signature */
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return b && !strcasecmp(b, "load_extension") ? SQLITE_DENY : SQLITE_OK;
	case SQLITE_PRAGMA:
		return authorize_pragma(a, b);
	default:
		return SQLITE_DENY;
	}
}

/* Blanks, semicolons and comments may follow the statement. */
static bool has_more(struct query *query, const char *tail)
{
	while (tail && *tail) {
		sqlite3_stmt *next = NULL;
		int code = sqlite3_prepare_v2(query->db, tail, -1, &next, &tail);

		sqlite3_finalize(next);
		if (code || next)
			return true;
	}
	return false;
}

int query_ask_user(struct query *query, const char *sql, struct query_rows **ret)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	const char *tail = NULL;
	int r;

	sqlite3_set_authorizer(query->db, authorize, NULL);
	r = prepare(query, sql, &tail, &rows);
	if (r == -EINVAL)
		set_error(query, "SQL: %s", sqlite3_errmsg(query->db));
	if (r)
		return r;
	if (!rows->statement) {
		set_error(query, "SQL: empty statement");
		return -EINVAL;
	}
	/* The authorizer is not called for VACUUM INTO. */
	if (!sqlite3_stmt_readonly(rows->statement))
		return query_fail(query, SQLITE_AUTH);
	if (has_more(query, tail)) {
		set_error(query, "SQL: one statement at a time");
		return -EINVAL;
	}
	*ret = TAKE(rows);
	return 0;
}
