/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Writes texts of applications into a page. The texts are hostile: render_escape() shows as an
 * escape whatever moves the cursor, or hides or reorders text; then the characters that HTML or
 * JSON would interpret are escaped, so that no text ends its element or string. A write error stays
 * in the stream. Everything runs on one thread.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/output/table.h"

/* These escape a text for an element or an attribute in double quotes. */
void html_put_text(FILE *to, const char *text, size_t length);
void html_put(FILE *to, const char *text);
/* Writes a formatted text in the same way; the format is ours, numbers and names come from
 * outside. */
__attribute__((format(printf, 2, 3))) void html_print(FILE *to, const char *format, ...);

/* Writes a JSON string with its quotes, fit for <script type="application/json">. */
void html_put_json(FILE *to, const char *text);

/* Writes a row of cells. A number has its exact value in data-v, by which the page sorts. */
void html_put_row(FILE *to, const struct render_column *columns, size_t count,
	const struct render_value *row);
/* Writes the titles. @titles (titles.h; may be NULL) explains them as tooltips. */
void html_put_head(FILE *to, const struct render_column *columns, size_t count, const char *titles);

/* Writes bytes as base64, in pieces of any length. */
struct html_base64 {
	FILE *to;
	uint32_t bits;
	unsigned held; /* bytes of the current group of three */
};

void html_base64_put(struct html_base64 *base64, const void *bytes, size_t count);
/* Writes 7 bits per byte, the least significant first; the top bit says that another byte
 * follows. */
void html_base64_varint(struct html_base64 *base64, uint64_t value);
void html_base64_finish(struct html_base64 *base64);
