// SPDX-License-Identifier: MIT
#include "cli/base/color.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/escape.h"
#include "cli/base/terminal.h"
#include "proto/base/cleanup.h"

static enum color_when chosen = COLOR_AUTO;

void color_choose(enum color_when when)
{
	chosen = when;
}

static bool is_on(FILE *to)
{
	return chosen == COLOR_AUTO ? terminal_has_color(fileno(to)) : chosen == COLOR_ALWAYS;
}

/*
 * Returns @line with a newline, broken between words where the terminal ends. The escape sequences
 * are added afterwards, because they take no columns. Allocated; NULL if memory is short.
 */
static char *wrap(FILE *to, const char *line)
{
	char *text = NULL;
	size_t bytes;
	FILE *into = open_memstream(&text, &bytes);

	if (!into)
		return NULL;
	render_put_sentence(into, line, 0, render_terminal_width(fileno(to), 0));
	if (!fclose(into))
		return text;
	free(text);
	return NULL;
}

void color_put_verdict(FILE *to, const char *line)
{
	/* Bold red, cyan, green (ECMA-48, SGR). */
	static const struct {
		const char *word, *begin;
	} words[] = {
		{"INCOMPLETE:", "\033[1;31m"},
		{"RUNNING:", "\033[36m"},
		{"complete:", "\033[32m"},
	};
	CLEANUP(free_p) char *text = wrap(to, line);

	if (!text) {
		fprintf(to, "%s\n", line);
		return;
	}
	for (size_t i = 0; is_on(to) && i < sizeof(words) / sizeof(*words); i++) {
		const char *word = strstr(text, words[i].word);
		int length = (int)strlen(words[i].word) - 1;

		if (!word)
			continue;
		fprintf(to, "%.*s%s%.*s\033[0m%s", (int)(word - text), text, words[i].begin, length,
			word, word + length);
		return;
	}
	fputs(text, to);
}
