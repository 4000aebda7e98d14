/* SPDX-License-Identifier: MIT */
#pragma once
/* rtl collectives as text, one JSON document, or one CSV table. One thread. */
#include <stdio.h>

#include "cli/collectives/totals.h"
#include "cli/output/table.h"
#include "cli/database/verdict.h"
#include "proto/settings/selection.h"

enum collectives_table {
	COLLECTIVES_GROUP_TABLE,
	COLLECTIVES_RANK_TABLE,
	COLLECTIVES_OPERATION_TABLE,
	COLLECTIVES_MISSING_TABLE,
};

struct collectives_options {
	enum render_format format;
	enum collectives_table csv_table;
	uint64_t top; /* rows of a text table; 0: all */
	size_t width;
	struct choice_list ranks; /* rows of these only; empty: of all */
};

struct collectives_view {
	const struct collectives *c;
	const struct collectives_report *report;
	const struct verdict *verdict;
	const struct collectives_options *options;
};

struct collectives_columns;

/* The first @limit (0: all) rows of a table, without a title; *ret: how many there are. Nothing
 * where there are none. -ENOMEM. */
int collectives_put_table(const struct collectives_view *view,
	const struct collectives_columns *table, enum render_format format, uint64_t limit,
	FILE *to, uint64_t *ret);

/* -ENOMEM. */
int collectives_show(const struct collectives_view *view, FILE *to);

/* tables.c's: the rows of each table. */
#define COLLECTIVES_COLUMNS_MAX 32

struct collectives_columns {
	const char *key, *title;
	const struct render_column *columns;
	size_t count;
	size_t (*rows)(const struct collectives_view *view);
	/* False: not of the ranks that are wanted. */
	bool (*row)(const struct collectives_view *view, size_t i, struct render_value *ret);
};

extern const struct collectives_columns collectives_tables[];
/* Of operations: all of them is a table of its own, the latest are another. */
extern const struct collectives_columns collectives_latest, collectives_uneven;
/* collectives_notes.c: what has to be known before the figures are believed, a line each. */
size_t collectives_notes(const struct collectives_view *view, char (*ret)[320], size_t max);
bool collectives_wants_lane(const struct collectives_view *view, uint32_t lane);
