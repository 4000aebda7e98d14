// SPDX-License-Identifier: MIT
#include "cli/base/color.h"

#include <stdbool.h>
#include <string.h>

#include "cli/base/terminal.h"

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

	for (size_t i = 0; is_on(to) && i < sizeof(words) / sizeof(*words); i++) {
		const char *word = strstr(line, words[i].word);
		int length = (int)strlen(words[i].word) - 1;

		if (!word)
			continue;
		fprintf(to, "%.*s%s%.*s\033[0m%s\n", (int)(word - line), line, words[i].begin,
			length, word, word + length);
		return;
	}
	fprintf(to, "%s\n", line);
}
