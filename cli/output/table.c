// SPDX-License-Identifier: MIT
#include "cli/output/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/base/user_name.h"
#include "cli/output/html.h"
#include "cli/output/layout.h"
#include "proto/base/cleanup.h"

/* The first rows determine the widths of the columns; a longer table is then streamed. */
#define RENDER_ROWS_HELD 1000

/* Limit of a text in a table, because a text from outside may have megabytes. */
#define RENDER_CELL_COLUMNS 4096

struct render {
	FILE *to;
	enum render_format format;
	const struct render_column *columns;
	size_t count;
	size_t width;	  /* of the terminal; 0: unlimited */
	const char *help; /* what titles mean (titles.h), borrowed; may be NULL */
	char **titles;	  /* escaped, because the titles of rtl query come from outside */
	struct layout_column *layout;
	size_t last;	    /* index of the column that is cut or wrapped */
	bool is_last_below; /* the last column goes on a line of its own */
	char **held;	    /* @count cells per row */
	size_t rows;
	bool is_streaming;
	bool has_simulated, is_simulated; /* has_simulated: CSV ends with that column */
};

struct render_value render_null(void)
{
	return (struct render_value){.type = RENDER_NULL};
}

struct render_value render_integer(int64_t value)
{
	return (struct render_value){.type = RENDER_INTEGER, .integer = value};
}

struct render_value render_optional(bool has, int64_t value)
{
	return has ? render_integer(value) : render_null();
}

struct render_value render_real(double value)
{
	return isfinite(value) ? (struct render_value){.type = RENDER_REAL, .real = value}
			       : render_null();
}

struct render_value render_text(const char *text)
{
	if (!text)
		return render_null();
	return (struct render_value){.type = RENDER_STRING, .text = text, .length = strlen(text)};
}

char *render_count(int64_t value)
{
	char digits[24], *text = xmalloc(32), *to = text;
	size_t n = (size_t)snprintf(digits, sizeof(digits), "%" PRId64, value);

	for (size_t i = 0; i < n; i++) {
		*to++ = digits[i];
		if (digits[i] != '-' && i + 1 < n && (n - 1 - i) % 3 == 0)
			*to++ = ',';
	}
	*to = '\0';
	return text;
}

/* Formats @value in units of @unit ns with @decimals digits after the point, and commas between
 * thousands. */
static char *format_scaled(int64_t value, int64_t unit, int decimals)
{
	int64_t power = decimals == 3 ? 1000 : decimals == 1 ? 10 : 1;
	uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	uint64_t step = (uint64_t)(unit / power), scaled = size / step + (size % step * 2 >= step);
	CLEANUP(free_p) char *whole = render_count((int64_t)(scaled / (uint64_t)power));
	const char *sign = value < 0 && scaled ? "-" : "";

	return xasprintf("%s%s.%0*d", sign, whole, decimals, (int)(scaled % (uint64_t)power));
}

static char *format_integer(enum render_kind kind, int64_t value)
{
	char user[USER_NAME_BYTES];

	switch (kind) {
	case RENDER_USER:
		if (value >= 0 && value <= UINT32_MAX) {
			user_name((uint32_t)value, user);
			return render_escape(user, strlen(user));
		}
		return format_integer(RENDER_ID, value);
	case RENDER_COUNT:
		return render_count(value);
	case RENDER_NS_IN_S:
		return format_scaled(value, 1000000000, 3);
	case RENDER_NS_IN_MS:
		return format_scaled(value, 1000000, 3);
	case RENDER_NS_IN_US:
		return format_scaled(value, 1000, 1);
	case RENDER_BOOL:
		return xstrdup(value ? "yes" : "no");
	default:
		return xasprintf("%" PRId64, value);
	}
}

static char *format_real(enum render_kind kind, double value)
{
	if (kind == RENDER_COUNT && fabs(value) < 9e18)
		return render_count((int64_t)llround(value));
	/* Never "-0.0". */
	if (kind == RENDER_TENTHS && fabs(value) < 0.05)
		value = 0;
	return xasprintf(kind == RENDER_TENTHS ? "%.1f" : "%.15g", value);
}

/* Formats a cell of a table. "-" means unknown, which differs from 0. */
static char *format_cell(enum render_kind kind, const struct render_value *value, size_t cut)
{
	switch (value->type) {
	case RENDER_INTEGER:
		return kind == RENDER_TENTHS ? format_real(kind, (double)value->integer)
					     : format_integer(kind, value->integer);
	case RENDER_REAL:
		return format_real(kind, value->real);
	case RENDER_STRING:
		return cut ? render_escape_cut(value->text, value->length, cut)
			   : render_escape(value->text, value->length);
	default:
		return xstrdup(kind == RENDER_NOTE ? "" : "-");
	}
}

char *render_cell(enum render_kind kind, const struct render_value *value)
{
	return format_cell(kind, value, 0);
}

static void lay_out(struct render *r)
{
	r->titles = xcalloc(r->count + 1, sizeof(*r->titles));
	r->layout = xcalloc(r->count + 1, sizeof(*r->layout));
	r->held = xcalloc(RENDER_ROWS_HELD * (r->count + 1), sizeof(*r->held));
	for (size_t i = 0; i < r->count; i++) {
		const char *title = r->columns[i].title;

		if (title)
			r->titles[i] = render_escape(title, strlen(title));
		r->layout[i] = (struct layout_column){.title = r->titles[i],
			.width = title ? render_width(r->titles[i]) : 0,
			.is_left = r->columns[i].kind <= RENDER_NOTE,
			.is_nothing = true};
	}
}

struct render *render_new(
	FILE *to, enum render_format format, const struct render_column *columns, size_t count)
{
	struct render *r = xcalloc(1, sizeof(*r));

	*r = (struct render){.to = to, .format = format, .columns = columns, .count = count};
	if (format == RENDER_TABLE)
		lay_out(r);
	return r;
}

void render_free_p(struct render **render)
{
	struct render *r = *render;

	if (!r)
		return;
	for (size_t i = 0; r->held && i < r->rows * r->count; i++)
		free(r->held[i]);
	free(r->held);
	for (size_t i = 0; r->titles && i < r->count; i++)
		free(r->titles[i]);
	free(r->titles);
	free(r->layout);
	free(r);
	*render = NULL;
}

void render_tell_simulated(struct render *render, bool is_simulated)
{
	render->has_simulated = true;
	render->is_simulated = is_simulated;
}

void render_explain(struct render *render, const char *titles)
{
	render->help = titles;
}

void render_set_width(struct render *render, size_t width)
{
	render->width = width;
}

void render_hide_nothing(struct render *render)
{
	for (size_t i = 0; i < render->count && render->layout; i++)
		render->layout[i].is_fixed = true;
}

static void put_padding(struct render *r, size_t n)
{
	while (n--)
		fputc(' ', r->to);
}

/* Returns the number of bytes of @text that fit @room columns, up to the last blank among them if
 * there is one. */
static size_t line_bytes(const char *text, size_t room)
{
	size_t bytes = 0, blank = 0, width = 0;

	for (; text[bytes] && width <= room; bytes++) {
		width += (text[bytes + 1] & 0xc0) != 0x80;
		if (text[bytes] == ' ')
			blank = bytes;
	}
	if (width <= room)
		return bytes;
	if (blank)
		return blank;
	for (bytes--; bytes > 1 && (text[bytes] & 0xc0) == 0x80;)
		bytes--;
	return bytes ? bytes : 1;
}

/* Wraps a note; further lines start below its first one. */
static void put_wrapped(struct render *r, const char *text, size_t column, size_t room)
{
	size_t bytes = line_bytes(text, room);

	fprintf(r->to, "%.*s", (int)bytes, text);
	for (text += bytes; *text; text += bytes) {
		text += strspn(text, " ");
		bytes = line_bytes(text, room);
		fputc('\n', r->to);
		put_padding(r, column);
		fprintf(r->to, "%.*s", (int)bytes, text);
	}
}

/* Writes the last cell of a line, which starts at @column. */
static void put_last(struct render *r, const char *text, size_t column)
{
	size_t room = r->width > column + 8 ? r->width - column : 8;
	CLEANUP(free_p) char *cut = NULL;

	if (!r->width || render_width(text) <= room) {
		fputs(text, r->to);
	} else if (r->columns[r->last].kind == RENDER_NOTE) {
		put_wrapped(r, text, column, room);
	} else {
		cut = r->columns[r->last].kind == RENDER_LINE
			      ? render_escape_cut(text, strlen(text), room)
			      : render_cut_middle(text, room);
		fputs(cut ? cut : "", r->to);
	}
}

static void put_line(struct render *r, char *const *cells)
{
	size_t used = 0, pad = 0;

	for (size_t i = 0; i < r->count; i++) {
		const struct layout_column *column = r->layout + i;
		const char *text = cells ? cells[i] : r->titles[i];
		CLEANUP(free_p) char *cut = NULL;
		size_t width;

		if (!column->title || column->is_hidden || (i == r->last && r->is_last_below))
			continue;
		cut = column->is_cut && i != r->last ? render_cut_middle(text, column->width)
						     : NULL;
		text = cut ? cut : text;
		width = render_width(text);
		if (i == r->last && !width)
			break; /* trailing blanks are never written */
		put_padding(r, pad);
		pad = width < column->width ? column->width - width : 0;
		if (!column->is_left) {
			put_padding(r, pad);
			pad = 0;
		}
		if (i == r->last && column->is_left)
			put_last(r, text, used);
		else
			fputs(text, r->to);
		used += (width > column->width ? width : column->width) + 2;
		pad += 2;
	}
	fputc('\n', r->to);
	if (r->is_last_below && cells && *cells[r->last]) {
		put_padding(r, 4);
		put_last(r, cells[r->last], 4);
		fputc('\n', r->to);
	}
}

static void flush_table(struct render *r)
{
	if (r->is_streaming)
		return;
	if (r->width && r->rows)
		r->is_last_below = layout_fit(r->layout, r->count, r->width);
	r->last = layout_last(r->layout, r->count);
	put_line(r, NULL);
	for (size_t row = 0; row < r->rows; row++)
		put_line(r, r->held + row * r->count);
	for (size_t i = 0; i < r->rows * r->count; i++)
		free(r->held[i]);
	r->rows = 0;
	r->is_streaming = true;
}

/* Lists either the hidden columns that say nothing, or the other hidden ones, as "WHAT a, b; ". */
static void list_hidden(const struct render *r, bool is_nothing, const char *what, FILE *to)
{
	const char *before = what;

	for (size_t i = 0; i < r->count; i++) {
		if (!r->layout[i].is_hidden || r->layout[i].is_nothing != is_nothing)
			continue;
		if (!*r->titles[i]) /* it belongs to the column before it */
			continue;
		fprintf(to, "%s%s", before, r->titles[i]);
		before = ", ";
	}
	if (before != what)
		fputs("; ", to);
}

/* Names the columns that did not fit in one note. */
static void put_hidden(struct render *r)
{
	CLEANUP(free_p) char *line = NULL;
	bool is_any = false;
	FILE *to;

	for (size_t i = 0; i < r->count; i++)
		is_any |= r->layout[i].is_hidden;
	if (!is_any)
		return;
	to = xmemstream(&line);
	fputc('(', to);
	list_hidden(r, true, "0 or unknown in all rows: ", to);
	list_hidden(r, false, "no room for ", to);
	fputs("--wide shows all)", to);
	xfclose(to);
	put_wrapped(r, line, 1, r->width - 1);
	fputc('\n', r->to);
}

static bool says_nothing(const char *cell)
{
	return !cell[strspn(cell, "0.")] || !strcmp(cell, "-");
}

/* Widens a column to a cell. A text in a RENDER_ANY column aligns the column left. */
static void widen(struct render *r, size_t column, const char *cell, enum render_type type)
{
	struct layout_column *layout = r->layout + column;
	size_t width = render_width(cell);

	if (r->columns[column].kind == RENDER_ANY && type == RENDER_STRING)
		layout->is_left = true;
	if (width > layout->width)
		layout->width = width;
	layout->is_nothing &= says_nothing(cell);
}

static void put_table_row(struct render *r, const struct render_value *row)
{
	char **cells;

	if (r->rows == RENDER_ROWS_HELD)
		flush_table(r);
	cells = r->held + (r->is_streaming ? 0 : r->rows) * r->count;
	for (size_t i = 0; i < r->count; i++) {
		cells[i] = format_cell(
			r->columns[i].kind, row + i, r->width ? RENDER_CELL_COLUMNS : 0);
		if (!r->is_streaming)
			widen(r, i, cells[i], row[i].type);
	}
	if (!r->is_streaming) {
		r->rows++;
		return;
	}
	put_line(r, cells);
	for (size_t i = 0; i < r->count; i++)
		free(cells[i]);
}

static json_t *json_of(enum render_kind kind, const struct render_value *value)
{
	switch (value->type) {
	case RENDER_INTEGER:
		return kind == RENDER_BOOL ? json_boolean(value->integer)
					   : json_integer(value->integer);
	case RENDER_REAL:
		return isfinite(value->real) ? json_real(value->real) : json_null();
	case RENDER_STRING:
		return render_json_text(value->text, value->length);
	default:
		return json_null();
	}
}

json_t *render_json_row(
	const struct render_column *columns, size_t count, const struct render_value *row)
{
	json_t *object = json_object();

	for (size_t i = 0; i < count; i++) {
		json_t *key;

		if (!columns[i].key)
			continue;
		key = render_json_text(columns[i].key, strlen(columns[i].key));
		json_object_set_new(
			object, json_string_value(key), json_of(columns[i].kind, row + i));
		json_decref(key);
	}
	return object;
}

/* jansson escapes everything outside ASCII, and all ASCII control bytes except DEL, which this
 * escapes. */
static int put_json_part(const char *part, size_t bytes, void *to)
{
	const char *at;

	/* A write error stays in the stream, where main.c checks for it. */
	for (; (at = memchr(part, 0x7f, bytes)); part = at + 1) {
		fwrite(part, 1, (size_t)(at - part), to);
		fputs("\\u007f", to);
		bytes -= (size_t)(at - part) + 1;
	}
	fwrite(part, 1, bytes, to);
	return 0;
}

void render_json_value(FILE *to, const json_t *value, size_t flags)
{
	json_dump_callback(value, put_json_part, to, JSON_ENSURE_ASCII | JSON_ENCODE_ANY | flags);
}

static void put_json_row(struct render *r, const struct render_value *row)
{
	json_t *object = render_json_row(r->columns, r->count, row);

	fputs(r->rows++ ? ",\n" : "[\n", r->to);
	render_json_value(r->to, object, JSON_COMPACT);
	json_decref(object);
}

/* Returns true for a text that a spreadsheet would compute, also if its sign is a full-width
 * one. */
static bool is_formula(const char *text, size_t length)
{
	static const char *const signs[] = {"=", "+", "-", "@", "\t", "\r", "\n", "\xef\xbc\x9d",
		"\xef\xbc\x8b", "\xef\xbc\x8d", "\xef\xbc\xa0"};

	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		if (length >= strlen(signs[i]) && !memcmp(text, signs[i], strlen(signs[i])))
			return true;
	return false;
}

/* Writes a text as RFC 4180 has it; one that a spreadsheet would compute gets an apostrophe. */
static void put_csv_text(struct render *r, const char *text, size_t length)
{
	CLEANUP(free_p) char *safe = render_escape(text, length);
	bool is_computed = is_formula(text, length);

	if (!is_computed && !strpbrk(safe, ",\"' ;")) {
		fputs(safe, r->to);
		return;
	}
	fputs(is_computed ? "\"'" : "\"", r->to);
	for (const char *at = safe; *at; at++) {
		if (*at == '"')
			fputc('"', r->to);
		fputc(*at, r->to);
	}
	fputc('"', r->to);
}

static void put_csv_value(struct render *r, const struct render_value *value)
{
	switch (value->type) {
	case RENDER_INTEGER:
		fprintf(r->to, "%" PRId64, value->integer);
		break;
	case RENDER_REAL:
		if (isfinite(value->real))
			fprintf(r->to, "%.15g", value->real);
		break;
	case RENDER_STRING:
		put_csv_text(r, value->text, value->length);
		break;
	default:
		break;
	}
}

static void put_csv_title(struct render *r)
{
	const char *comma = "";

	for (size_t i = 0; i < r->count; i++) {
		if (!r->columns[i].key)
			continue;
		fputs(comma, r->to);
		comma = ",";
		put_csv_text(r, r->columns[i].key, strlen(r->columns[i].key));
	}
	if (r->has_simulated)
		fputs(",simulated", r->to);
	fputc('\n', r->to);
	r->rows = 1;
}

static void put_csv_row(struct render *r, const struct render_value *row)
{
	const char *comma = "";

	if (!r->rows)
		put_csv_title(r);
	for (size_t i = 0; i < r->count; i++) {
		if (!r->columns[i].key)
			continue;
		fputs(comma, r->to);
		comma = ",";
		put_csv_value(r, row + i);
	}
	if (r->has_simulated)
		fprintf(r->to, ",%d", r->is_simulated);
	/* An empty line would not count as a row. */
	else if (r->count == 1 &&
		 (row->type == RENDER_NULL || (row->type == RENDER_STRING && !row->length)))
		fputs("\"\"", r->to);
	fputc('\n', r->to);
}

static void put_html_row(struct render *r, const struct render_value *row)
{
	if (!r->rows++)
		html_put_head(r->to, r->columns, r->count, r->help);
	html_put_row(r->to, r->columns, r->count, row);
}

void render_row(struct render *render, const struct render_value *row)
{
	switch (render->format) {
	case RENDER_HTML:
		put_html_row(render, row);
		break;
	case RENDER_JSON:
		put_json_row(render, row);
		break;
	case RENDER_CSV:
		put_csv_row(render, row);
		break;
	default:
		put_table_row(render, row);
	}
}

void render_json(FILE *to, const json_t *document, bool is_compact)
{
	render_json_value(to, document, is_compact ? JSON_COMPACT : JSON_INDENT(2));
	fputc('\n', to);
}

void render_finish(struct render *render)
{
	switch (render->format) {
	case RENDER_HTML:
		if (!render->rows)
			html_put_head(render->to, render->columns, render->count, render->help);
		fputs("</tbody></table>", render->to);
		break;
	case RENDER_JSON:
		fputs(render->rows ? "\n]" : "[]", render->to);
		break;
	case RENDER_CSV:
		if (!render->rows)
			put_csv_title(render);
		break;
	default:
		flush_table(render);
		put_hidden(render);
	}
}

json_t *render_json_text(const char *text, size_t length)
{
	const unsigned char *at = (const unsigned char *)text;
	CLEANUP(free_p) char *valid = NULL;
	size_t fill = 0;

	if (!text)
		return json_null();
	valid = xmalloc(length * 3 + 1);
	for (size_t i = 0; i < length;) {
		uint32_t code;
		size_t n = escape_decode(at + i, length - i, &code);

		if (n) {
			memcpy(valid + fill, at + i, n);
			fill += n;
			i += n;
		} else {
			memcpy(valid + fill, "\xef\xbf\xbd", 3); /* U+FFFD */
			fill += 3;
			i++;
		}
	}
	return json_stringn(valid, fill);
}
