/* SPDX-License-Identifier: MIT */
#pragma once
/* The embedded files sql/NAME.sql: name without its ending, text. Ends with a NULL name. */

struct query_text {
	const char *name;
	const char *sql;
};

extern const struct query_text query_texts[];

/* The migration that brings the rules of categories. */
extern const struct query_text query_builtin_texts[];
