/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Rows to a table, JSON, CSV or HTML. Texts come from applications and are hostile: a table and CSV
 * never carry control bytes to a terminal, CSV never starts a formula, JSON is always valid, HTML
 * never has a text for an element.
 * Tables show pleasant units (they stand in the title), JSON and CSV the exact value.
 * Called by verbs; knows nothing of databases or sockets. Writes only to the given stream.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/base/escape.h"

enum render_format {
	RENDER_TABLE,
	RENDER_JSON,
	RENDER_CSV,
	RENDER_HTML, /* a table element; the columns that a table shows */
};

/* How a table shows a column; JSON and CSV show what the value is. */
enum render_kind {
	RENDER_TEXT,	/* to the left */
	RENDER_LINE,	/* a text that is cut at its end, where others lose their middle */
	RENDER_NOTE,	/* as a text, wrapped; nothing where there is none */
	RENDER_ANY,	/* as the value is; numbers to the right */
	RENDER_ID,	/* 1234 */
	RENDER_COUNT,	/* 1,234 */
	RENDER_NS_IN_S, /* ns, shown in s, ms, us */
	RENDER_NS_IN_MS,
	RENDER_NS_IN_US,
	RENDER_TENTHS, /* 12.3 */
	RENDER_BOOL,   /* yes or no; JSON true or false */
};

struct render_column {
	const char *key;   /* JSON key and CSV title; NULL: only in tables */
	const char *title; /* table; NULL: only in JSON and CSV */
	enum render_kind kind;
};

enum render_type {
	RENDER_NULL,
	RENDER_INTEGER,
	RENDER_REAL,
	RENDER_STRING,
};

struct render_value {
	enum render_type type;
	int64_t integer;
	double real;
	const char *text; /* borrowed; any bytes */
	size_t length;
};

struct render_value render_null(void);
struct render_value render_integer(int64_t value);
/* NULL when @has is 0. */
struct render_value render_optional(bool has, int64_t value);
struct render_value render_real(double value);
/* NULL: null. */
struct render_value render_text(const char *text);

struct render;

/*
 * A table of @count columns (borrowed, with what they point to) to @to. JSON is an array of
 * objects. -ENOMEM.
 */
int render_new(FILE *to, enum render_format format, const struct render_column *columns,
	size_t count, struct render **ret);
/* Tables are cut at so many terminal columns; 0: never. */
void render_set_width(struct render *render, size_t width);
/* One value a column; copied. -ENOMEM. */
int render_row(struct render *render, const struct render_value *row);
/* Writes what is left. */
void render_finish(struct render *render);
void render_free_p(struct render **render);

/* What a table shows in a cell: "-" is unknown. malloc'ed; NULL: no memory. */
char *render_cell(enum render_kind kind, const struct render_value *value);
/* A row as an object with exact values, for documents with several tables. NULL: no memory. */
json_t *render_json_row(
	const struct render_column *columns, size_t count, const struct render_value *row);
/* A text as JSON, bytes that are no UTF-8 replaced; NULL gives null. */
json_t *render_json_text(const char *text, size_t length);
/* As JSON of ASCII without a byte that steers a terminal; @flags as jansson's. -ENOMEM. */
int render_json_value(FILE *to, const json_t *value, size_t flags);
/* The document on one line (is_compact) or indented, with a newline. ASCII only. */
void render_json(FILE *to, const json_t *document, bool is_compact);

/* 1,234,567; malloc'ed; NULL: no memory. */
char *render_count(int64_t value);
