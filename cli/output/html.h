/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Texts of applications in a page. They are hostile: what moves a cursor, hides or reorders text is
 * shown as an escape (render_escape()), then what HTML or JSON would take for its own is escaped,
 * so that neither ends its element or string. Write errors stay in the stream. One thread.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/output/table.h"

/* Fit for an element and for an attribute in double quotes. -ENOMEM. */
int html_put_text(FILE *to, const char *text, size_t length);
int html_put(FILE *to, const char *text);
/* The same of a format, for texts of ours with numbers or names in them. */
__attribute__((format(printf, 2, 3))) int html_print(FILE *to, const char *format, ...);

/* A JSON string with its quotes, fit for <script type="application/json">. -ENOMEM. */
int html_put_json(FILE *to, const char *text);

/* A row of cells; numbers have their exact value in data-v, by which the page sorts. -ENOMEM. */
int html_put_row(FILE *to, const struct render_column *columns, size_t count,
	const struct render_value *row);
void html_put_head(FILE *to, const struct render_column *columns, size_t count);

/* Bytes as base64, in pieces of any length. */
struct html_base64 {
	FILE *to;
	uint32_t bits;
	unsigned held; /* bytes of a group of three */
};

void html_base64_put(struct html_base64 *base64, const void *bytes, size_t count);
/* 7 bits a byte, the least first; the top bit says that more follow. */
void html_base64_varint(struct html_base64 *base64, uint64_t value);
void html_base64_finish(struct html_base64 *base64);
