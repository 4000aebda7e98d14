// SPDX-License-Identifier: MIT
#include "cli/import/formats/own_check.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/import/input/foreign_db.h"
#include "proto/base/cleanup.h"

/* Ids of calls and operations are process << 40 | number, in 63 bits; a store holds many files. */
#define PROCESS_ID_MAX "4194303"
#define ROW_ID_MAX     "1099511627775"
/* As imports of other tools have them (trace_rows.c): sums of thousands still fit 64 bits. */
#define TIME_MAX       "4611686018427387904"
#define LENGTH_MAX     "9007199254740992"
/* COUNTER_PROCESS_MAX */
#define COUNT_MAX      "281474976710656"
/* The number that such an id has within its process. */
#define NUMBER	       "(id & 0xffffffffff)"
/* NULL refers to nothing, which NOT IN of an empty table would call missing. */
#define MISSES(column, table)                                                                      \
	column " IS NOT NULL AND " column " NOT IN (SELECT id FROM other." table ")"

#define ID(table) table, "id NOT BETWEEN 1 AND " ROW_ID_MAX, "its id is out of range"
#define COUNT(table, column)                                                                       \
	table, column " NOT BETWEEN 0 AND " COUNT_MAX, column " is out of range"
#define NESTED(table, number) table, "parent >= " number, "is within itself, or within a later one"
#define ENDS(table)	      table, "end_ns < start_ns", "ends before it begins"
#define TIMES(table)                                                                               \
	table, "start_ns NOT BETWEEN 0 AND " TIME_MAX " OR end_ns - start_ns > " LENGTH_MAX,       \
		"its time is out of range"

static const struct rule {
	const char *table, *broken, *why;
} rules[] = {
	{ID("rocpd_string")},
	{ID("rtl_import")},
	{ID("rtl_session")},
	{"rtl_process", "id NOT BETWEEN 1 AND " PROCESS_ID_MAX, "its id is out of range"},
	{"rtl_process", MISSES("session_id", "rtl_session"), "its session is missing"},
	{"rtl_process", MISSES("import_id", "rtl_import"), "its import is missing"},
	{"rtl_session_clock", MISSES("session_id", "rtl_session"), "its session is missing"},
	{ID("rtl_shape")},
	{"rtl_dispatch", MISSES("shape_id", "rtl_shape"), "its shape is missing"},
	{"rtl_dispatch", "duration < 0", "ends before it begins"},
	{"rtl_dispatch", "start NOT BETWEEN 0 AND " TIME_MAX " OR duration > " LENGTH_MAX,
		"its time is out of range"},
	{"rtl_queue", MISSES("last_shape", "rtl_shape"), "its shape is missing"},
	{COUNT("rtl_queue", "dispatched")},
	{COUNT("rtl_queue", "skipped")},
	{COUNT("rtl_queue", "stored")},
	{COUNT("rtl_queue", "untimed")},
	{COUNT("rtl_queue", "outstanding")},
	{COUNT("rtl_queue", "dropped")},
	{COUNT("rtl_queue", "torn")},
	{"rtl_queue", "busy_ns NOT BETWEEN 0 AND " TIME_MAX, "its time is out of range"},
	{"rtl_queue",
		"dispatched <> stored AND process_id IN (SELECT p.id FROM other.rtl_process p JOIN "
		"other.rtl_import i ON i.id = p.import_id WHERE i.source IS NOT NULL)",
		"counts what an import does not know"},
	{COUNT("rtl_counter_base", "value")},
	/* Of no process in particular: 0. */
	{"rtl_loss", "process_id <> 0 AND " MISSES("process_id", "rtl_process"),
		"its process is missing"},
	{COUNT("rtl_loss", "count")},
	{COUNT("rtl_loss_interval_base", "count")},
	{NESTED("rtl_marker_base", "id")},
	{"rtl_call_base", "id >> 40 <> process_id", "its id is of another process"},
	{NESTED("rtl_call_base", NUMBER)},
	{ENDS("rtl_call_base")},
	{TIMES("rtl_call_base")},
	{"rtl_call_import", MISSES("id", "rtl_call_base"), "its call is missing"},
	{"rtl_captured", MISSES("id", "rtl_call_base"), "its call is missing"},
	{"rtl_collective_base", MISSES("id >> 40", "rtl_process"), "its process is missing"},
	{"rtl_collective_base", "launch_id >> 40 <> id >> 40", "another process launched it"},
	{"rtl_collective_import", MISSES("id", "rtl_collective_base"), "its collective is missing"},
	{COUNT("rtl_copy_base", "bytes")},
	{ENDS("rtl_copy_base")},
	{TIMES("rtl_copy_base")},
	{"rtl_op_base", MISSES("id >> 40", "rtl_process"), "its process is missing"},
	{NESTED("rtl_op_base", NUMBER)},
	{ENDS("rtl_op_base")},
	{TIMES("rtl_op_base")},
};

static int out_of_memory(struct trace_file *file)
{
	snprintf(file->error, sizeof(file->error), "%.200s: out of memory", file->name);
	return -ENOMEM;
}

int own_check_tables(struct trace_file *file, sqlite3 *store, sqlite3 *other)
{
	CLEANUP(foreign_end_p) sqlite3_stmt *names = NULL;
	CLEANUP(foreign_end_p) sqlite3_stmt *find = NULL;
	int r = foreign_ask(file, store, &names,
		"SELECT m.name, c.name FROM main.sqlite_schema m JOIN pragma_table_xinfo(m.name) c "
		"WHERE m.type = 'table' AND c.hidden = 0");

	/* A view, a virtual table or a column that is computed costs as much as its owner likes. */
	if (r == 0)
		r = foreign_ask(file, other, &find,
			"SELECT 1 FROM sqlite_schema WHERE name = ?1 COLLATE NOCASE AND "
			"(type <> 'table' OR rootpage < 2 OR EXISTS (SELECT 1 FROM "
			"pragma_table_xinfo(?1) WHERE hidden <> 0 AND name = ?2 COLLATE NOCASE))");
	while (!r && (r = foreign_next(file, names)) > 0) {
		const char *table = foreign_text(names, 0);

		sqlite3_bind_text(find, 1, table, -1, SQLITE_TRANSIENT);
		sqlite3_bind_text(find, 2, foreign_text(names, 1), -1, SQLITE_TRANSIENT);
		r = foreign_next(file, find);
		if (r > 0) {
			snprintf(file->error, sizeof(file->error),
				"%.200s: %.100s is no table as rtl makes it", file->name, table);
			return -EBADMSG;
		}
		sqlite3_reset(find);
	}
	return r;
}

/* Adds to @to, an expression that says why a row is refused, the rules of the table. */
static void add_rules(sqlite3_str *to, const char *table, bool has_process)
{
	/* The session of a loss of no process is that of the file. */
	if (has_process && strcmp(table, "rtl_loss") != 0)
		sqlite3_str_appendf(to, " WHEN " MISSES("process_id",
						"rtl_process") " THEN 'its process is missing'");
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if (!strcmp(rules[i].table, table))
			sqlite3_str_appendf(
				to, " WHEN %s THEN '%s'", rules[i].broken, rules[i].why);
	sqlite3_str_appendf(to, " END");
}

/* Says which row it is that @why is not NULL of. */
static int refuse_row(struct trace_file *file, sqlite3 *db, const char *table, const char *why)
{
	CLEANUP(foreign_end_p) sqlite3_stmt *rows = NULL;
	int64_t row = 1;
	int r = foreign_ask(file, db, &rows, "SELECT %s FROM other.%s", why, table);

	while (!r && (r = foreign_next(file, rows)) > 0) {
		if (sqlite3_column_type(rows, 0) != SQLITE_NULL)
			return foreign_refuse(file, table, row, foreign_text(rows, 0));
		row++;
		r = 0;
	}
	return r;
}

static int check_table(struct trace_file *file, sqlite3 *db, const char *table, const char *why)
{
	CLEANUP(foreign_end_p) sqlite3_stmt *bad = NULL;
	int r = foreign_ask(
		file, db, &bad, "SELECT 1 FROM other.%s WHERE %s IS NOT NULL LIMIT 1", table, why);

	if (r == 0)
		r = foreign_next(file, bad);
	return r > 0 ? refuse_row(file, db, table, why) : r;
}

/* Checks a table: what each column holds is of its type, and then the rules. */
static int check_rows_of(struct trace_file *file, sqlite3 *db, const char *table)
{
	CLEANUP(foreign_end_p) sqlite3_stmt *columns = NULL;
	sqlite3_str *why = sqlite3_str_new(db);
	bool has_process = false;
	char *text;
	int r = foreign_ask(file, db, &columns,
		"SELECT name, type FROM pragma_table_info('%s', 'main') WHERE type <> ''", table);

	sqlite3_str_appendf(why, "CASE");
	while (!r && (r = foreign_next(file, columns)) > 0) {
		const char *name = foreign_text(columns, 0), *type = foreign_text(columns, 1);
		bool is_text = !strcmp(type, "TEXT");

		has_process |= !strcmp(name, "process_id");
		sqlite3_str_appendf(why,
			" WHEN typeof(\"%w\") NOT IN ('null', %s) THEN '%w is no %s'", name,
			is_text			? "'text'"
			: !strcmp(type, "REAL") ? "'integer', 'real'"
						: "'integer'",
			name, is_text ? "text" : "number");
		r = 0;
	}
	add_rules(why, table, has_process);
	text = sqlite3_str_finish(why);
	if (r == 0)
		r = text ? check_table(file, db, table, text) : out_of_memory(file);
	sqlite3_free(text);
	return r;
}

int own_check_rows(struct trace_file *file, sqlite3 *db)
{
	CLEANUP(foreign_end_p) sqlite3_stmt *tables = NULL;
	int r = foreign_ask(file, db, &tables,
		"SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name <> "
		"'sqlite_sequence' AND name NOT GLOB 'sqlite_stat*'");

	while (!r && (r = foreign_next(file, tables)) > 0)
		r = check_rows_of(file, db, foreign_text(tables, 0));
	return r;
}
