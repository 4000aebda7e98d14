// SPDX-License-Identifier: MIT
#include "cli/database/query_table.h"

#include "proto/base/cleanup.h"

#define QUESTION_COLUMNS_MAX 32

static void read_row(const struct query_rows *rows, size_t count, struct render_value *ret)
{
	for (size_t i = 0; i < count; i++)
		ret[i] = query_value(rows, (int)i);
}

int question_show(struct query *query, const char *name, const char *title,
	const struct render_column *columns, size_t count, size_t width, FILE *to)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	CLEANUP(render_free_p) struct render *render = NULL;
	struct render_value values[QUESTION_COLUMNS_MAX];
	int r = query_ask(query, name, &rows);

	if (!r)
		r = query_next(rows);
	if (r <= 0)
		return r;
	render = render_new(to, RENDER_TABLE, columns, count);
	render_set_width(render, width);
	fprintf(to, "\n%s\n", title);
	for (; r > 0; r = query_next(rows)) {
		read_row(rows, count, values);
		render_row(render, values);
	}
	render_finish(render);
	return r;
}

int question_put_csv(struct query *query, const char *name, const struct render_column *columns,
	size_t count, bool is_simulated, FILE *to)
{
	CLEANUP(render_free_p) struct render *render = render_new(to, RENDER_CSV, columns, count);
	struct render_value values[QUESTION_COLUMNS_MAX];
	int r = 0;

	render_tell_simulated(render, is_simulated);
	QUERY_EACH (r, query, name, rows) {
		read_row(rows, count, values);
		render_row(render, values);
	}
	if (!r)
		render_finish(render);
	return r;
}

int question_put_json(struct query *query, const char *name, const char *key,
	const struct render_column *columns, size_t count, json_t *document)
{
	struct render_value values[QUESTION_COLUMNS_MAX];
	json_t *array = json_array();
	int r = 0;

	json_object_set_new(document, key, array);
	QUERY_EACH (r, query, name, rows) {
		read_row(rows, count, values);
		json_array_append_new(array, render_json_row(columns, count, values));
	}
	return r;
}
