/* SPDX-License-Identifier: MIT */
#pragma once
/* Dispatches as the pages of a file and as SQLite give them, to be compared. Tests. */
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every number in order, and how it ended. */
struct answer {
	uint64_t hash, rows;
	bool is_error;
};

void answer_add(struct answer *answer, int64_t number, bool is_null);
/* A query_fold() of the query dispatches into a struct answer. */
int answer_take(void *answer, const int64_t *numbers, unsigned nulls);
bool answer_is_same(const struct answer *a, const struct answer *b);

/* Inserts this many rows (%u): numbers of all lengths, NULLs, rows that end early. */
#define ANSWER_ROWS_SQL                                                                            \
	"WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < %u) "       \
	"INSERT INTO rtl_dispatch (shape_id, seq, start, duration, submit, tid, marker, call) "    \
	"SELECT i %% 5, i, CASE WHEN i %% 11 THEN 5000000000 + i * 1000 END, "                     \
	"(1 << i %% 62) - (i %% 3), -(1 << i %% 62), 7, "                                          \
	"CASE i %% 4 WHEN 1 THEN i WHEN 2 THEN 0 WHEN 3 THEN 1 END, "                              \
	"CASE WHEN i %% 2 THEN i * 300 END FROM n;"

/* The pages of rtl_dispatch, inner ones first; at most @capacity. */
size_t answer_pages(sqlite3 *db, unsigned *pages, size_t capacity);
