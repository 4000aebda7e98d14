/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Decides which columns of a table fit the terminal, and where the last one goes, which usually is
 * the name of a kernel or a note. If there is no room, texts become narrower first, but none
 * narrower than LAYOUT_LAST_COLUMNS; then columns are hidden in this order: those of a distribution
 * (MIN, P50, P95, P99), those that say nothing in any row, then the rightmost. Pure computation.
 */
#include <stdbool.h>
#include <stddef.h>

/* The last column keeps at least so many columns of the terminal, or its width if that is less. */
#define LAYOUT_LAST_COLUMNS 30

struct layout_column {
	const char *title; /* NULL: no column of the table */
	size_t width;	   /* width of its widest cell or its title */
	bool is_left;	   /* a text, which may be cut or moved to a line of its own */
	bool is_nothing;   /* all rows are 0, unknown or empty */
	bool is_fixed;	   /* it is never hidden */
	bool is_hidden;	   /* result: there is no room for it */
	bool is_cut;	   /* result: @width is less than it needs; not of the last column */
};

/*
 * Decides for a terminal of @width columns. Returns true if the last column goes on a line of its
 * own below the others. Otherwise it gets what the others leave, at least LAYOUT_LAST_COLUMNS or
 * all it needs.
 */
bool layout_fit(struct layout_column *columns, size_t count, size_t width);

/* Returns the index of the last column that has a title and is not hidden, or @count if there is
 * none. */
size_t layout_last(const struct layout_column *columns, size_t count);
