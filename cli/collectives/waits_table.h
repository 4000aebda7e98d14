/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * How long each rank waits, by window, as the rows of rtl_wait: what the reason's
 * figures are sums of (docs/collectives.md, "Waiting"). One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/database/query.h"

struct waits_table;

/* "rank, ...": the columns of rtl_wait (docs/schema.md). */
extern const char waits_table_columns[];

/* Of the whole file. 0 or -errno; then @error, else query_error() tells, or it is -ENOMEM. */
int waits_table_new(struct query *query, char error[QUERY_ERROR_BYTES], struct waits_table **ret);
void waits_table_free_p(struct waits_table **table);

size_t waits_table_rows(const struct waits_table *table);
/* False: it is not known. @table is a struct waits_table. */
bool waits_table_value(const void *table, size_t row, int column, int64_t *ret);
