// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/memory.h"
#include "cli/base/command.h"
#include "cli/base/message.h"
#include "cli/info/waits_table.h"
#include "cli/database/computed_table.h"
#include "cli/database/session/verb.h"
#include "proto/base/cleanup.h"

/* Size of a file of SQL: the longest statement that SQLite accepts. */
#define SQL_BYTES_MAX 1000000

struct query_options {
	struct verb verb;
	const char *sql; /* NULL to list the views */
	char *file_sql;
};

static const struct argp_option options[] = {
	{"file", 'f', "FILE", 0, "read the statement from FILE; -: from stdin", 0},
	VERB_JSON,
	VERB_CSV("comma-separated values with a title line"),
	{0},
};

static void read_sql(struct query_options *o, const char *path)
{
	bool is_stdin = !strcmp(path, "-");
	FILE *from = is_stdin ? stdin : fopen(path, "re");
	size_t bytes;

	if (!from)
		opts_error("--file=%s: %s", path, strerror(errno));
	free(o->file_sql);
	o->file_sql = xmalloc(SQL_BYTES_MAX + 1);
	if (!o->file_sql)
		opts_error("out of memory");
	bytes = fread(o->file_sql, 1, SQL_BYTES_MAX + 1, from);
	if (ferror(from))
		opts_error("--file=%s: %s", path, strerror(errno));
	if (!is_stdin)
		fclose(from);
	if (bytes > SQL_BYTES_MAX)
		opts_error("--file=%s: longer than a statement of SQLite may be, %d bytes", path,
			SQL_BYTES_MAX);
	o->file_sql[bytes] = '\0';
	if (memchr(o->file_sql, '\0', bytes) || !o->file_sql[strspn(o->file_sql, " \t\r\n")])
		opts_error("--file=%s: no SQL is in it", path);
	o->sql = o->file_sql;
}

/*
 * If no database is named, the newest is used: an argument with a blank in it is then a statement.
 */
static bool is_sql(const char *text)
{
	return strpbrk(text, " \t\n") && access(text, F_OK);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct query_options *o = state->input;

	switch (key) {
	case 'f':
		read_sql(o, arg);
		return 0;
	case ARGP_KEY_ARG:
		if (!o->sql && is_sql(arg))
			o->sql = arg;
		else if (!o->verb.name)
			o->verb.name = arg;
		else if (!o->sql)
			o->sql = arg;
		else
			opts_error("one statement, in quotes: rtl query FILE 'SELECT ...'");
		return 0;
	case ARGP_KEY_END:
		return 0;
	default:
		return verb_parse(key, arg, &o->verb);
	}
}

static const struct argp parser = {options, parse, "[FILE|SESSION] ['SQL']",
	"Ask a session database one statement that only reads; it may still be written. Without "
	"SQL: "
	"which views and tables there are, and their columns."
	"\vViews: rocpd_op, rocpd_api, rocpd_string, top, busy, kernel; rtl_kernel, rtl_marker, "
	"rtl_metric, "
	"rtl_name, rtl_copy, rtl_host_call, rtl_api, rtl_collective, rtl_collective_kernel, "
	"rtl_graph_collective_kernel, rtl_graph_call; rtl_wait (worked out for each statement); "
	"rtl_account, rtl_loss, rtl_loss_interval, rtl_outstanding, rtl_in_flight, rtl_recording, "
	"rtl_counter; rtl_session, rtl_session_clock, rtl_process, rtl_gpu, rtl_clock, "
	"rtl_clock_check, rtl_meta; "
	"rtl_import, rtl_op. "
	"docs/schema.md has their columns.",
	NULL, NULL, NULL};

/* Computed only when a statement names it, because that reads every dispatch. */
#define WAITS "rtl_wait"

static int add_waits(struct query *query, struct waits_table *waits, struct computed_table *ret)
{
	*ret = (struct computed_table){
		.name = WAITS,
		.columns = waits_table_columns,
		.context = waits,
		.rows = waits_table_rows(waits),
		.value = waits_table_value,
	};
	return query_add_table(query, ret);
}

/*
 * Two columns with the same name would be one key of an object, so the second one becomes "name:2".
 */
static char *unique_name(const struct render_column *columns, size_t count, const char *name)
{
	char *text = xstrdup(name);

	for (size_t i = 0, n = 1; i < count;) {
		if (strcmp(columns[i].key, text) != 0) {
			i++;
			continue;
		}
		free(text);
		text = xasprintf("%s:%zu", name, ++n);
		i = 0;
	}
	return text;
}

static void free_columns(struct render_column *columns, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free((char *)columns[i].key);
	free(columns);
}

static struct render_column *name_columns(const struct query_rows *rows, size_t count)
{
	struct render_column *columns = xcalloc(count + 1, sizeof(*columns));

	for (size_t i = 0; i < count; i++) {
		const char *name = query_column_name(rows, (int)i);
		char *key = unique_name(columns, i, name ? name : "");

		columns[i] = (struct render_column){key, key, RENDER_ANY};
	}
	return columns;
}

static int put_rows(struct query_rows *rows, struct render *render, size_t count)
{
	CLEANUP(free_p) struct render_value *values = xcalloc(count + 1, sizeof(*values));
	int r;

	while ((r = query_next(rows)) > 0) {
		for (size_t i = 0; i < count; i++)
			values[i] = query_value(rows, (int)i);
		render_row(render, values);
	}
	return r;
}

/* Titles of a table come from the SQL, so they are escaped like other text. */
static int show_rows(const struct query_options *o, struct query *query, struct query_rows *rows,
	bool is_simulated)
{
	size_t count = (size_t)query_column_count(rows);
	struct render_column *columns = name_columns(rows, count);
	struct render *render = render_new(stdout, o->verb.format, columns, count);
	int r;

	render_set_width(render, render_terminal_width(STDOUT_FILENO, 0));
	render_hide_nothing(render);
	if (o->verb.format == RENDER_JSON)
		printf("{\"schema\":1,\"simulated\":%s,\"rows\":", is_simulated ? "true" : "false");
	r = put_rows(rows, render, count);
	render_finish(render);
	if (o->verb.format == RENDER_JSON)
		printf(",\"ok\":%s}\n", r ? "false" : "true");
	render_free_p(&render);
	free_columns(columns, count);
	return r ? verb_fail(query, NULL) : CMD_OK;
}

static int is_simulated(struct query *query, bool *ret)
{
	int64_t value;
	int r = query_number(query, "simulated", 0, &value);

	*ret = !r && value != 0;
	return r;
}

/*
 * Returns the columns of the view @name as "a, b", allocated. NULL if it cannot be read, as in a
 * file of an older rtl.
 */
static char *columns_of(struct query *query, const char *name)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	CLEANUP(free_p) char *sql = xasprintf("SELECT * FROM \"%s\" LIMIT 0", name);
	char *text;
	FILE *to;

	if (query_ask_user(query, sql, &rows))
		return NULL;
	to = xmemstream(&text);
	for (int i = 0; i < query_column_count(rows); i++)
		fprintf(to, "%s%s", i ? ", " : "", query_column_name(rows, i));
	xfclose(to);
	return text;
}

/*
 * Lists the views. Their names come from the file, and a name with a quote in it is not a view of
 * rtl.
 */
static int list_views(const struct query_options *o, struct query *query)
{
	static const struct render_column columns[] = {
		{"name", "NAME", RENDER_TEXT}, {"columns", "COLUMNS", RENDER_NOTE}};
	CLEANUP(render_free_p)
	struct render *render = render_new(stdout, o->verb.format, columns, 2);
	int r = 0;

	render_set_width(render, render_terminal_width(STDOUT_FILENO, 0));
	if (o->verb.format == RENDER_JSON)
		printf("{\"schema\":1,\"views\":");
	QUERY_EACH (r, query, "views", rows) {
		const char *name = query_text(rows, 0);
		CLEANUP(free_p) char *list = strchr(name, '"') ? NULL : columns_of(query, name);
		const struct render_value row[] = {render_text(name), render_text(list)};

		if (list)
			render_row(render, row);
	}
	if (!r)
		render_row(render, (const struct render_value[]){
					   render_text(WAITS), render_text(waits_table_columns)});
	if (r)
		return verb_fail(query, NULL);
	render_finish(render);
	if (o->verb.format == RENDER_JSON)
		printf("}\n");
	return CMD_OK;
}

int cmd_query(int argc, char **argv)
{
	struct query_options o = {.verb.format = RENDER_TABLE};
	/* In this order: the query borrows them. */
	CLEANUP(waits_table_free_p) struct waits_table *waits = NULL;
	struct computed_table table;
	CLEANUP(query_free_p) struct query *query = NULL;
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	char error[QUERY_ERROR_BYTES] = "";
	int status;
	bool simulated;

	opts_parse(&parser, argc, argv, OPTS_TABLE, &o);
	if (verb_open(&o.verb, &query))
		return CMD_BAD_INPUT;
	if (!o.sql)
		return list_views(&o, query);
	if (strcasestr(o.sql, WAITS) &&
		(waits_table_new(query, error, &waits) || add_waits(query, waits, &table)))
		return verb_fail(query, error);
	if (is_simulated(query, &simulated) || query_ask_user(query, o.sql, &rows))
		return verb_fail(query, NULL);
	if (simulated && o.verb.format != RENDER_JSON)
		say("SIMULATED: these figures are of a software GPU");
	status = show_rows(&o, query, rows, simulated);
	free(o.file_sql);
	return status;
}
