/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * One file of sql/ straight to a table or to JSON: column i of the one is column i of the
 * other. Columns past those given are left out. One thread.
 */
#include "cli/database/query.h"
#include "cli/output/table.h"

/* Writes a titled table unless there are no rows. 0 or -errno; then query_error() tells. */
int question_show(struct query *query, const char *name, const char *title,
	const struct render_column *columns, size_t count, size_t width, FILE *to);

/* Writes it as CSV with a title line, which stands there without rows too. The same errors. */
int question_put_csv(struct query *query, const char *name, const struct render_column *columns,
	size_t count, FILE *to);

/* Adds the array @key to @document. The same errors. */
int question_put_json(struct query *query, const char *name, const char *key,
	const struct render_column *columns, size_t count, json_t *document);
