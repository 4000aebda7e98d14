/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Prints one file of sql/ as a table or as JSON: column i of the query is column i of the output.
 * Further columns of the query are left out. One thread.
 */
#include "cli/database/query.h"
#include "cli/output/table.h"

/*
 * Writes a table with a title, or nothing if there are no rows. Returns 0, or -errno with the
 * reason in query_error().
 */
int question_show(struct query *query, const char *name, const char *title,
	const struct render_column *columns, size_t count, size_t width, FILE *to);

/*
 * Writes CSV with a title line, which is written even if there are no rows, and with the column
 * "simulated". The errors are the same.
 */
int question_put_csv(struct query *query, const char *name, const struct render_column *columns,
	size_t count, bool is_simulated, FILE *to);

/* Adds the array @key to @document. The errors are the same. */
int question_put_json(struct query *query, const char *name, const char *key,
	const struct render_column *columns, size_t count, json_t *document);
