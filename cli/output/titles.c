// SPDX-License-Identifier: MIT
#include "cli/output/titles.h"

#include <stdbool.h>
#include <string.h>

/* Returns the bytes of the entry at @at, without the mark that ends it. */
static size_t entry_length(const char *at)
{
	size_t length = 0;

	while (at[length] && !((at[length] == '.' || at[length] == ';') &&
				     (at[length + 1] == ' ' || !at[length + 1])))
		length++;
	return length;
}

/* True if @title is one of the names before the colon: "AVG, MIN: ...". */
static bool is_named(const char *entry, size_t length, const char *title, size_t title_length)
{
	const char *colon = memchr(entry, ':', length);

	while (colon && entry < colon) {
		const char *comma = memchr(entry, ',', (size_t)(colon - entry));
		size_t name_length = (size_t)((comma ? comma : colon) - entry);

		if (name_length == title_length && !memcmp(entry, title, title_length))
			return true;
		entry += name_length + strlen(", ");
	}
	return false;
}

static const char *find(
	const char *titles, const char *title, size_t title_length, size_t *ret_length)
{
	for (const char *at = titles; *at;) {
		size_t length = entry_length(at);

		if (is_named(at, length, title, title_length)) {
			*ret_length = length;
			return at;
		}
		at += length;
		at += strspn(at, ".; ");
	}
	return NULL;
}

const char *titles_find(const char *titles, const char *title, size_t *ret_length)
{
	const char *unit = strrchr(title, ' ');
	const char *entry = find(titles, title, strlen(title), ret_length);

	/* A share is another figure than the time that it is a share of. */
	if (entry || !unit || !strcmp(unit, " %"))
		return entry;
	return find(titles, title, (size_t)(unit - title), ret_length);
}
