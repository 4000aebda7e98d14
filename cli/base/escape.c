// SPDX-License-Identifier: MIT
#include "cli/base/escape.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "cli/base/memory.h"

size_t escape_decode(const unsigned char *at, size_t left, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t code;
	size_t n;

	if (at[0] < 0x80) {
		*ret = at[0];
		return 1;
	}
	if (at[0] < 0xc2 || at[0] > 0xf4)
		return 0;
	n = at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
	if (left < n)
		return 0;
	code = at[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (at[i] & 0x3fu);
	}
	if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret = code;
	return n;
}

struct code_range {
	uint32_t first, last;
};

/*
 * Code points that move the cursor, change the order of the text, or show nothing, by the
 * properties of Unicode.
 */
static const struct code_range invisible[] = {
#include "cli/base/invisible.inc"
};

static bool is_unsafe(uint32_t code)
{
	size_t low = 0, high = sizeof(invisible) / sizeof(invisible[0]);

	if (code >= ' ' && code < 0x7f)
		return false;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (code > invisible[middle].last)
			low = middle + 1;
		else
			high = middle;
	}
	return low < sizeof(invisible) / sizeof(invisible[0]) && code >= invisible[low].first;
}

/* Writes at most 10 bytes. */
static size_t put_escape(char *to, uint32_t code)
{
	const char *name = code == '\n'	  ? "\\n"
			   : code == '\t' ? "\\t"
			   : code == '\r' ? "\\r"
					  : NULL;

	if (name)
		return (size_t)snprintf(to, 11, "%s", name);
	if (code < 0x100)
		return (size_t)snprintf(to, 11, "\\x%02x", code);
	return (size_t)snprintf(to, 11, "\\u%04x", code);
}

void render_escape_into(char *safe, const char *text, size_t length)
{
	const unsigned char *at = (const unsigned char *)text;
	char *to = safe;

	for (size_t i = 0; i < length;) {
		uint32_t code;
		size_t n = escape_decode(at + i, length - i, &code);

		if (!n) {
			to += put_escape(to, at[i]);
			i++;
		} else {
			if (is_unsafe(code))
				to += put_escape(to, code);
			else
				to = mempcpy(to, at + i, n);
			i += n;
		}
	}
	*to = '\0';
}

char *render_escape(const char *text, size_t length)
{
	char *safe = xmalloc(RENDER_ESCAPED_BYTES(length));

	render_escape_into(safe, text, length);
	return safe;
}

size_t render_width(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += (*text & 0xc0) != 0x80;
	return width;
}

char *render_escape_cut(const char *text, size_t length, size_t width)
{
	/* A column takes at most four bytes, so the rest of a huge name is not read. */
	size_t enough = width < SIZE_MAX / 4 - 4 ? width * 4 + 4 : length;
	bool is_cut = length > enough;
	char *safe, *end;

	if (is_cut)
		for (length = enough; length && (text[length] & 0xc0) == 0x80;)
			length--;
	safe = render_escape(text, length);
	if (!width || render_width(safe) <= width - is_cut)
		return safe;
	end = safe;
	for (size_t seen = 0; *end; end++)
		if ((*end & 0xc0) != 0x80 && seen++ == width - 1)
			break;
	/* There is room, because at least one byte is cut off; see RENDER_ESCAPED_BYTES. */
	strcpy(end, render_ellipsis());
	return safe;
}

/*
 * Uses the variables that setlocale() reads; setlocale() itself is not called, because it would
 * also change how numbers are parsed.
 */
static bool is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

const char *render_ellipsis(void)
{
	return is_utf8() ? "\u2026" : "~";
}

/* The byte where the code point @index of @text begins. */
static size_t offset_of(const char *text, size_t index)
{
	size_t seen = 0, at = 0;

	for (; text[at]; at++)
		if ((text[at] & 0xc0) != 0x80 && seen++ == index)
			break;
	return at;
}

char *render_cut_middle(const char *text, size_t width)
{
	size_t all = render_width(text), tail = width / 2;

	if (all <= width || !width)
		return xstrdup(text);
	/* If the number is odd, the beginning gets one more; the ellipsis takes one. */
	return xasprintf("%.*s%s%s", (int)offset_of(text, width - tail - 1), text,
		render_ellipsis(), text + offset_of(text, all - tail));
}

static bool is_wide;

void render_be_wide(void)
{
	is_wide = true;
}

size_t render_terminal_width(int fd, size_t otherwise)
{
	struct winsize size;

	if (is_wide)
		return 0;
	if (ioctl(fd, TIOCGWINSZ, &size) || !size.ws_col)
		return otherwise;
	return size.ws_col;
}

void render_put_sentence(FILE *to, const char *text, size_t indent, size_t width)
{
	size_t column = indent;

	while (*text) {
		size_t bytes = strcspn(text, " ");
		char *word = strndup(text, bytes);
		size_t columns = word ? render_width(word) : bytes;

		free(word);
		if (column > indent && width && column + 1 + columns > width) {
			fprintf(to, "\n%*s", (int)indent, "");
			column = indent;
		}
		if (column > indent)
			fputc(' ', to);
		fwrite(text, 1, bytes, to);
		column += columns + (column > indent);
		text += bytes;
		text += strspn(text, " ");
	}
	fputc('\n', to);
}

void render_put_reading(FILE *to, const char *text, size_t indent)
{
	render_put_sentence(to, text, indent, render_terminal_width(fileno(to), 0));
}
