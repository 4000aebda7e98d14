/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A table of a query that no file has: its rows are in memory, worked out by whoever adds it, and
 * are asked for with SQL like those of the file. It lies in this connection alone. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/database/query.h"

struct computed_table {
	const char *name;
	const char *columns; /* "rank, step, ...", integers all */
	const void *context;
	size_t rows;
	/* False: it is NULL. */
	bool (*value)(const void *context, size_t row, int column, int64_t *ret);
};

/* The query borrows @table as long as it lives. 0 or -errno; then query_error() tells. */
int query_add_table(struct query *query, const struct computed_table *table);
