/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The embedded queries of the folder sql: their names and their texts. A text begins after the line
 * "-- query NAME" of its file; a file without such a line is one query of its name. The last name
 * is NULL.
 */

struct query_text {
	const char *name;
	const char *sql;
};

extern const struct query_text query_texts[];

/* The migration that contains the rules of categories. */
extern const struct query_text query_builtin_texts[];
