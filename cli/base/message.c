// SPDX-License-Identifier: MIT
#include "cli/base/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/escape.h"
#include "cli/base/progress.h"
#include "proto/base/cleanup.h"

#define NAME "rtl: "

/* In lines of a terminal, broken between words; in one write, since the job writes there, too. */
static void put_on_terminal(const char *safe, size_t width)
{
	CLEANUP(free_p) char *lines = NULL;
	size_t bytes = 0;
	FILE *to = open_memstream(&lines, &bytes);

	if (!to)
		return;
	fputs(NAME, to);
	render_put_sentence(to, safe, strlen(NAME), width);
	if (!fclose(to))
		fwrite(lines, 1, bytes, stderr);
}

void say(const char *format, ...)
{
	CLEANUP(free_p) char *text = NULL;
	CLEANUP(free_p) char *safe = NULL;
	size_t width;
	va_list args;
	int n;

	progress_end();
	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0) {
		text = NULL;
		return;
	}
	safe = malloc(RENDER_ESCAPED_BYTES((size_t)n)); /* while a job runs, rtl run must go on */
	if (safe)
		render_escape_into(safe, text, (size_t)n);
	width = render_terminal_width(STDERR_FILENO, 0);
	if (safe && width && strlen(NAME) + render_width(safe) > width)
		put_on_terminal(safe, width);
	else
		fprintf(stderr, NAME "%s\n", safe ? safe : "out of memory");
}

#define NEAREST_WORD_MAX 64

/* Edits (insert, delete, replace, swap of neighbours) between two short words. */
static size_t edit_distance(const char *a, size_t la, const char *b, size_t lb)
{
	size_t row[3][NEAREST_WORD_MAX + 1];

	for (size_t j = 0; j <= lb; j++)
		row[0][j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t *now = row[i % 3], *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];

		now[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t best = up[j - 1] + (a[i - 1] != b[j - 1]);

			if (up[j] + 1 < best)
				best = up[j] + 1;
			if (now[j - 1] + 1 < best)
				best = now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				up2[j - 2] + 1 < best)
				best = up2[j - 2] + 1;
			now[j] = best;
		}
	}
	return row[la % 3][lb];
}

const char *say_nearest(const char *word, const char *const *names, size_t count)
{
	/* A short word has many near ones by chance. */
	size_t length = strlen(word), least = length < 6 ? 2 : 3;
	const char *nearest = NULL;

	if (length > NEAREST_WORD_MAX)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t other = strlen(names[i]);
		size_t distance;

		if (other > NEAREST_WORD_MAX)
			continue;
		/* A prefix is what the user means, however much is missing. */
		if (length >= 2 && other > length && !strncmp(word, names[i], length))
			return names[i];
		distance = edit_distance(word, length, names[i], other);
		if (distance < least && distance < other) {
			least = distance;
			nearest = names[i];
		}
	}
	return nearest;
}
