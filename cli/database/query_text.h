/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The embedded files sql/NAME.sql: their names without the ending, and their texts. The last name
 * is NULL.
 */

struct query_text {
	const char *name;
	const char *sql;
};

extern const struct query_text query_texts[];

/* The migration that contains the rules of categories. */
extern const struct query_text query_builtin_texts[];
