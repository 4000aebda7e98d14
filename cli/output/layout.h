/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Which columns of a table a terminal has room for, and where the last one goes, which is as a rule
 * the name of a kernel or a note. What the others say matters less, in this order: the columns of a
 * distribution (MIN, P50, P95, P99), those that say nothing in any row, the one furthest right.
 * Pure computation.
 */
#include <stdbool.h>
#include <stddef.h>

/* The last column keeps so much of itself, at least. */
#define LAYOUT_LAST_COLUMNS 30

struct layout_column {
	const char *title; /* NULL: not in tables */
	size_t width;	   /* of its widest cell and its title */
	bool is_left;	   /* a text: it may be cut, or go on a line of its own */
	bool is_nothing;   /* 0, unknown or empty in all rows */
	bool is_hidden;	   /* result: there is no room for it */
};

/*
 * Decides for a terminal of @width columns. Returns whether the last column stands on a line of its
 * own, below the others; else it gets what they leave, which is LAYOUT_LAST_COLUMNS or all it
 * needs.
 */
bool layout_fit(struct layout_column *columns, size_t count, size_t width);

/* The last column that has a title and is not hidden; count: there is none. */
size_t layout_last(const struct layout_column *columns, size_t count);
