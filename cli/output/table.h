/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Renders rows as a table, JSON, CSV or HTML. Texts come from applications and are hostile: a table
 * or CSV never carries control bytes to a terminal, CSV never starts a formula, JSON is always
 * valid, and HTML never takes a text for an element.
 * Tables show convenient units, named in the title; JSON and CSV show the exact value. Verbs call
 * this; it knows nothing of databases or sockets, and writes only to the given stream.
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
	RENDER_HTML, /* a table element with the columns of a table */
};

/* How a table shows a column. JSON and CSV show the value itself. */
enum render_kind {
	RENDER_TEXT,	/* aligned left */
	RENDER_USER,	/* a uid, shown as the name of the user on this machine */
	RENDER_LINE,	/* a text that is cut at its end; other texts are cut in the middle */
	RENDER_NOTE,	/* a text that is wrapped; empty if unknown */
	RENDER_ANY,	/* as the type of the value; numbers aligned right */
	RENDER_ID,	/* 1234 */
	RENDER_COUNT,	/* 1,234 */
	RENDER_NS_IN_S, /* ns, shown in s, ms, us */
	RENDER_NS_IN_MS,
	RENDER_NS_IN_US,
	RENDER_TENTHS, /* 12.3 */
	RENDER_BOOL,   /* yes or no; true or false in JSON */
};

struct render_column {
	const char *key;   /* JSON key and CSV title; NULL: only in tables */
	const char *title; /* title in tables; NULL: only in JSON and CSV */
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
	const char *text; /* borrowed; may hold any bytes */
	size_t length;
};

struct render_value render_null(void);
struct render_value render_integer(int64_t value);
/* Returns null if @has is false. */
struct render_value render_optional(bool has, int64_t value);
struct render_value render_real(double value);
/* Returns null for NULL. */
struct render_value render_text(const char *text);

struct render;

/*
 * Renders a table of @count columns to @to. The columns and what they point to are borrowed. JSON
 * is an array of objects.
 */
struct render *render_new(
	FILE *to, enum render_format format, const struct render_column *columns, size_t count);
/* Cuts tables at @width terminal columns; 0: never. */
void render_set_width(struct render *render, size_t width);
/* All columns stay, as the user has chosen them: a table may be wider than its terminal. */
void render_hide_nothing(struct render *render);
/* Explains the titles of an HTML table by @titles (titles.h), which is borrowed. */
void render_explain(struct render *render, const char *titles);
/* Ends each row of CSV with the column "simulated", which is @is_simulated; other formats say that
 * once for the whole document. To be called before the first row. */
void render_tell_simulated(struct render *render, bool is_simulated);
/* Takes one value per column and copies it. */
void render_row(struct render *render, const struct render_value *row);
/* Writes the rows that are still held and the end of the document. */
void render_finish(struct render *render);
void render_free_p(struct render **render);

/* Returns the text of a table's cell; "-" means unknown. The caller frees it. */
char *render_cell(enum render_kind kind, const struct render_value *value);
/* Returns a row as an object with exact values, for documents with several tables. */
json_t *render_json_row(
	const struct render_column *columns, size_t count, const struct render_value *row);
/* Returns a text as JSON, with bytes that are not UTF-8 replaced. NULL gives null. */
json_t *render_json_text(const char *text, size_t length);
/* Writes ASCII JSON without any byte that could control a terminal; @flags are jansson's. */
void render_json_value(FILE *to, const json_t *value, size_t flags);
/* Writes the document on one line (@is_compact) or indented, and a newline, in ASCII. */
void render_json(FILE *to, const json_t *document, bool is_compact);

/* Returns the number as "1,234,567". The caller frees it. */
char *render_count(int64_t value);
