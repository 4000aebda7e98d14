/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The rows of rtl_wait: how long each rank waits in each window. The figures of the reason are sums
 * of these (docs/commands.md, "Waiting"). Everything runs on one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/database/query.h"

struct waits_table;

/* "rank, ...": the columns of rtl_wait (docs/schema.md). */
extern const char waits_table_columns[];

/* Covers the whole file. Returns 0 or -errno. @error has the reason; if it is empty, query_error()
 * has it, or it is -ENOMEM. */
int waits_table_new(struct query *query, char error[QUERY_ERROR_BYTES], struct waits_table **ret);
void waits_table_free_p(struct waits_table **table);

size_t waits_table_rows(const struct waits_table *table);
/* Returns false if the value is unknown. @table is a struct waits_table. */
bool waits_table_value(const void *table, size_t row, int column, int64_t *ret);
