/* SPDX-License-Identifier: MIT */
#pragma once
/* The tables of a summary, computed from the summary alone. */
#include "cli/output/table.h"
#include "cli/summary/summary.h"

/* What the titles of the tables mean, for the help and for tooltips (cli/output/titles.h). */
#define SUMMARY_TITLES                                                                             \
	"CALLS: dispatches that are stored, those without times too. TOTAL, AVG, MIN, MAX: of "    \
	"those with times. P50, P95, P99: the least time that so many percent of them do not "     \
	"exceed. TIME %: of all kernels of the session. BUSY: the union of the times of kernels; " \
	"BUSY %: of the time from the first to the last. DROPPED: counted, not stored. UNTIMED: "  \
	"stored without times. OUTSTANDING: not seen to end. SKIPPED: left out by choice. TIMED: " \
	"copies with times. NOT 0: calls that returned an error. LAUNCH: mean time from the "     \
	"begin of a call to the start of its kernels, as in rtl tree."

#define SUMMARY_COLUMNS_MAX 24

/* A table: its columns, and a function that fills in one value per column for a given row. */
struct summary_columns {
	const char *title, *key; /* key: name of the array in --json; NULL: it has none */
	const struct render_column *columns;
	size_t count;
	size_t (*rows)(const struct summary *s);
	void (*row)(const struct summary *s, size_t i, struct render_value *ret);
};

/* In the order of enum summary_table. */
extern const struct summary_columns summary_tables[];

/* The columns of groups and of their kernels. A row shows @group itself, or its kernel at index
 * @kernel. */
#define SUMMARY_GROUP_ITSELF SIZE_MAX
#define SUMMARY_GROUP_KERNEL 15 /* index of the column that shows names in a table */
extern const struct render_column summary_group_columns[];
extern const size_t summary_group_column_count;
void summary_group_row(const struct summary *s, const struct summary_groups *groups, size_t group,
	size_t kernel, struct render_value *ret);
