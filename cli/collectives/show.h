/* SPDX-License-Identifier: MIT */
#pragma once
/* Writes rtl collectives as text, as one JSON document or as one CSV table. Everything runs on one
 * thread. */
#include <stdio.h>

#include "cli/collectives/totals.h"
#include "cli/output/table.h"
#include "cli/database/session/verdict.h"
#include "proto/settings/selection.h"

/* What the titles of the tables mean, for the help and for tooltips (cli/output/titles.h). */
#define COLLECTIVES_TITLES                                                                         \
	"ALGBW, BUSBW: GB/s by the formulas of nccl-tests. SKEW: from the first arrival to the "   \
	"last. LATE: behind the median arrival of the others. LAST %: of the collectives to "      \
	"which "                                                                                   \
	"this rank came last. WAITS: for others within collectives."

enum collectives_table {
	COLLECTIVES_GROUP_TABLE,
	COLLECTIVES_RANK_TABLE,
	COLLECTIVES_OPERATION_TABLE,
	COLLECTIVES_MISSING_TABLE,
};

struct collectives_options {
	enum render_format format;
	enum collectives_table csv_table;
	uint64_t top;	 /* rows of a text table; 0: all */
	uint64_t latest; /* the same for the latest arrivals */
	size_t width;
	struct choice_list ranks; /* show only the rows of these ranks; empty: of all */
};

struct collectives_view {
	const struct collectives *c;
	const struct collectives_report *report;
	const struct verdict *verdict;
	const struct collectives_options *options;
};

struct collectives_columns;

/*
 * Writes the first @limit rows (0: all) of a table without a title, or nothing if it has none.
 * *@ret is the number of rows that there are.
 */
void collectives_put_table(const struct collectives_view *view,
	const struct collectives_columns *table, enum render_format format, uint64_t limit,
	FILE *to, uint64_t *ret);

void collectives_show(const struct collectives_view *view, FILE *to);

/* tables.c: the rows of each table. */
#define COLLECTIVES_COLUMNS_MAX 32

struct collectives_columns {
	const char *key, *title;
	const struct render_column *columns;
	size_t count;
	size_t (*rows)(const struct collectives_view *view);
	/* Returns false if the row belongs to a rank that is not requested. */
	bool (*row)(const struct collectives_view *view, size_t i, struct render_value *ret);
};

extern const struct collectives_columns collectives_tables[];
/* The latest operations; and the operations whose amounts differ between ranks. */
extern const struct collectives_columns collectives_latest, collectives_uneven;
/* collectives_notes.c: writes what the reader must know before trusting the figures, one line
 * each. */
size_t collectives_notes(const struct collectives_view *view, char (*ret)[320], size_t max);
bool collectives_wants_lane(const struct collectives_view *view, uint32_t lane);
