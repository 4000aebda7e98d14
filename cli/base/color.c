// SPDX-License-Identifier: MIT
#include "cli/base/color.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/escape.h"
#include "cli/base/memory.h"
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
	CLEANUP(free_p) char *text = NULL;
	FILE *wrapped = xmemstream(&text);

	/* The escape sequences are added afterwards, because they take no columns. */
	render_put_sentence(wrapped, line, 0, render_terminal_width(fileno(to), 0));
	xfclose(wrapped);
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
