/* SPDX-License-Identifier: MIT */
#include "collectord/db/text.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/cleanup.h"
#include "proto/base/limits.h"

#define DEMANGLE_OPTIONS   (DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT)
#define DEMANGLE_PAIRS_MAX 65536u

/* Bytes of the well-formed character at @at, or 0. Unicode, table 3-7. */
static size_t character_bytes(const uint8_t *at, size_t left)
{
	uint8_t low = 0x80, high = 0xbf;
	size_t n;

	if (at[0] && at[0] < 0x80)
		return 1;
	if (at[0] >= 0xc2 && at[0] <= 0xdf)
		n = 2;
	else if (at[0] >= 0xe0 && at[0] <= 0xef)
		n = 3;
	else if (at[0] >= 0xf0 && at[0] <= 0xf4)
		n = 4;
	else
		return 0;
	if (at[0] == 0xe0)
		low = 0xa0;
	else if (at[0] == 0xed)
		high = 0x9f;
	else if (at[0] == 0xf0)
		low = 0x90;
	else if (at[0] == 0xf4)
		high = 0x8f;
	if (n > left || at[1] < low || at[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++)
		if (at[i] < 0x80 || at[i] > 0xbf)
			return 0;
	return n;
}

/* How many bytes at @at are characters of their own; by eights, most names are all of them. */
static size_t plain_bytes(const uint8_t *at, size_t left)
{
	const uint64_t ones = UINT64_MAX / 255, tops = ones << 7;
	size_t n = 0;
	uint64_t eight;

	for (; left - n >= sizeof(eight); n += sizeof(eight)) {
		memcpy(&eight, at + n, sizeof(eight));
		if (((eight - ones) | eight) & tops)
			break;
	}
	while (n < left && at[n] && at[n] < 0x80)
		n++;
	return n;
}

char *text_clean(const void *bytes, size_t count, size_t max)
{
	static const uint8_t bad[3] = {0xef, 0xbf, 0xbd};
	const uint8_t *in = bytes;
	size_t room = count > max / 3 ? max : count * 3, used = 0;
	char *out = malloc(room + 1);

	if (!out)
		return NULL;
	while (count) {
		size_t plain = plain_bytes(in, count < room - used ? count : room - used);
		size_t n = plain ? plain : character_bytes(in, count);
		const uint8_t *from = n ? in : bad;
		size_t put = n ? n : sizeof(bad), step = n ? n : 1;

		if (put > room - used)
			break;
		memcpy(out + used, from, put);
		used += put;
		in += step;
		count -= step;
	}
	out[used] = 0;
	return out;
}

struct demangled {
	char *text;
	size_t bytes;
	size_t room;
	bool is_whole;
	jmp_buf over;
};

/*
 * libiberty offers no way to stop: a substitution bomb of 200 bytes would print for hours. It
 * keeps everything on the stack when it calls back, so leaving it from here leaks nothing.
 */
static void take_part(const char *part, size_t bytes, void *data)
{
	struct demangled *d = data;

	if (bytes > TEXT_DEMANGLED_BYTES_MAX - d->bytes)
		longjmp(d->over, 1);
	if (d->bytes + bytes + 1 > d->room) {
		size_t room = (d->bytes + bytes + 1) * 2;
		char *text = realloc(d->text, room);

		if (!text)
			longjmp(d->over, 1);
		d->text = text;
		d->room = room;
	}
	memcpy(d->text + d->bytes, part, bytes);
	d->bytes += bytes;
	d->text[d->bytes] = 0;
}

/*
 * libiberty puts references x templates (each seen twice at most) on the stack; real names stay
 * far below this, and the thread's stack (STORE_STACK_BYTES) is sized for it.
 */
static bool fits_stack(const char *mangled)
{
	size_t references = 0, templates = 0;

	for (const char *at = mangled; *at; at++) {
		templates += *at == 'I';
		references += (*at == 'R' || *at == 'O') && at[1] == 'T';
	}
	return references * templates <= DEMANGLE_PAIRS_MAX;
}

/* NULL: not a mangled name, or too much of it. */
static char *demangle_mangled(const char *mangled)
{
	struct demangled *d = calloc(1, sizeof(*d));
	char *text = NULL;

	if (!d)
		return NULL;
	/* Its own limit would refuse every name over 1 KiB; SYMBOL_BYTES_MAX is ours. */
	if (setjmp(d->over) == 0 &&
		cplus_demangle_v3_callback(mangled, DEMANGLE_OPTIONS, take_part, d))
		d->is_whole = true;
	if (d->is_whole)
		text = TAKE(d->text);
	free(d->text);
	free(d);
	return text;
}

char *text_demangle(const char *symbol)
{
	size_t bytes = strlen(symbol);
	CLEANUP(free_p) char *plain = NULL;
	CLEANUP(free_p) char *name = NULL;

	if (bytes > 3 && !strcmp(symbol + bytes - 3, ".kd"))
		bytes -= 3;
	plain = strndup(symbol, bytes);
	if (!plain)
		return NULL;
	if (strncmp(plain, "_Z", 2) || bytes > SYMBOL_BYTES_MAX || !fits_stack(plain))
		return TAKE(plain);
	name = demangle_mangled(plain);
	if (!name || !*name)
		return TAKE(plain);
	/* Identifiers of the mangled name are bytes: a cut in the middle of one stays possible. */
	return text_clean(name, strlen(name), TEXT_DEMANGLED_BYTES_MAX);
}
