/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A table of a query that is not in the file. The caller that adds it computes its rows, which are
 * in memory, and SQL reads them like those of the file. It exists in this connection only.
 * Everything runs on one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/database/query.h"

struct computed_table {
	const char *name;
	const char *columns; /* integer columns only: "rank, step, ..." */
	const void *context;
	size_t rows;
	/* Returns false if the value is NULL. */
	bool (*value)(const void *context, size_t row, int column, int64_t *ret);
};

/* The query borrows @table as long as the query lives. Returns 0 or -errno; query_error() has the
 * reason. */
int query_add_table(struct query *query, const struct computed_table *table);
