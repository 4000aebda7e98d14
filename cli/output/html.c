// SPDX-License-Identifier: MIT
#include "cli/output/html.h"
#include "cli/output/titles.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "proto/base/cleanup.h"

static void put_escaped(FILE *to, const char *safe)
{
	for (const char *at = safe; *at;) {
		size_t plain = strcspn(at, "&<>\"'");

		fwrite(at, 1, plain, to);
		at += plain;
		if (*at)
			fprintf(to, "&#%d;", *at++);
	}
}

void html_put_text(FILE *to, const char *text, size_t length)
{
	CLEANUP(free_p) char *safe = render_escape(text, length);

	put_escaped(to, safe);
}

void html_put(FILE *to, const char *text)
{
	html_put_text(to, text, strlen(text));
}

void html_print(FILE *to, const char *format, ...)
{
	CLEANUP(free_p) char *text = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		memory_fail();
	html_put_text(to, text, (size_t)n);
}

void html_put_json(FILE *to, const char *text)
{
	CLEANUP(free_p) char *safe = render_escape(text, strlen(text));

	fputc('"', to);
	for (const char *at = safe; *at;) {
		size_t plain = strcspn(at, "\"\\<>&");

		fwrite(at, 1, plain, to);
		at += plain;
		if (*at)
			fprintf(to, "\\u%04x", (unsigned)*at++);
	}
	fputc('"', to);
}

/* ---- tables ------------------------------------------------------------------------------- */

static bool is_number(enum render_kind kind)
{
	return kind > RENDER_NOTE && kind != RENDER_BOOL;
}

static void put_tooltip(FILE *to, const char *titles, const char *title)
{
	size_t length;
	const char *text = titles ? titles_find(titles, title, &length) : NULL;

	if (!text)
		return;
	fputs(" title=\"", to);
	html_put_text(to, text, length);
	fputc('"', to);
}

void html_put_head(FILE *to, const struct render_column *columns, size_t count, const char *titles)
{
	fputs("<table><thead><tr>", to);
	for (size_t i = 0; i < count; i++)
		if (columns[i].title) {
			fprintf(to, "<th scope=col%s",
				is_number(columns[i].kind) ? " class=n" : "");
			put_tooltip(to, titles, columns[i].title);
			fputc('>', to);
			/* A title may be the name of a session. */
			html_put(to, columns[i].title);
		}
	fputs("</thead><tbody>\n", to);
}

static void put_cell_begin(FILE *to, enum render_kind kind, const struct render_value *value)
{
	if (!is_number(kind))
		fputs("<td>", to);
	else if (value->type == RENDER_INTEGER)
		fprintf(to, "<td class=n data-v=%" PRId64 ">", value->integer);
	else if (value->type == RENDER_REAL)
		fprintf(to, "<td class=n data-v=%.17g>", value->real);
	else
		fputs("<td class=n>", to);
}

void html_put_row(
	FILE *to, const struct render_column *columns, size_t count, const struct render_value *row)
{
	fputs("<tr>", to);
	for (size_t i = 0; i < count; i++) {
		CLEANUP(free_p) char *cell = NULL;

		if (!columns[i].title)
			continue;
		cell = render_cell(columns[i].kind, row + i);
		put_cell_begin(to, columns[i].kind, row + i);
		put_escaped(to, cell);
	}
	fputc('\n', to);
}

/* ---- base64 ------------------------------------------------------------------------------- */

static void put_group(struct html_base64 *b)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = b->bits << 8 * (3 - b->held);

	for (unsigned i = 0; i < 4; i++)
		putc_unlocked(i <= b->held ? digits[bits >> (18 - 6 * i) & 63] : '=', b->to);
	b->bits = 0;
	b->held = 0;
}

void html_base64_put(struct html_base64 *base64, const void *bytes, size_t count)
{
	const unsigned char *at = bytes;

	while (count--) {
		base64->bits = base64->bits << 8 | *at++;
		if (++base64->held == 3)
			put_group(base64);
	}
}

void html_base64_varint(struct html_base64 *base64, uint64_t value)
{
	unsigned char bytes[10];
	size_t n = 0;

	do {
		bytes[n] = (value & 127) | (value > 127 ? 128 : 0);
		value >>= 7;
		n++;
	} while (value);
	html_base64_put(base64, bytes, n);
}

void html_base64_finish(struct html_base64 *base64)
{
	if (base64->held)
		put_group(base64);
}
