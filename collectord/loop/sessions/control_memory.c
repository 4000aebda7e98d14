/* SPDX-License-Identifier: MIT */
#include "collectord/loop/sessions/control_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/cleanup.h"
#include "proto/base/limits.h"

static void put_ranks(FILE *out, const struct choice_list *ranks)
{
	for (uint32_t i = 0; i < ranks->count; i++)
		fprintf(out, "%s%u-%u", i ? "," : " ", ranks->range[i].first, ranks->range[i].last);
}

char *control_memory_write(const struct control *controls, unsigned count)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	for (unsigned i = 0; i < count; i++) {
		const struct control *c = &controls[i];

		fprintf(out, "%s %" PRIu64 " %" PRIu64, c->record ? "start" : "stop", c->seq,
			c->until_ns);
		put_ranks(out, &c->ranks);
		fputc('\n', out);
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* Every user that may write to the database may change this text, so each line is validated. */
static bool read_line(char *line, struct control *ret)
{
	char word[6];
	int used = 0;

	*ret = (struct control){0};
	if (sscanf(line, "%5s %" SCNu64 " %" SCNu64 "%n", word, &ret->seq, &ret->until_ns, &used) !=
			3 ||
		(strcmp(word, "start") && strcmp(word, "stop")))
		return false;
	ret->record = !strcmp(word, "start");
	return !line[used] || (line[used] == ' ' && !choice_parse_list(line + used + 1, &ret->ranks));
}

unsigned control_memory_read(const char *text, struct control *ret)
{
	CLEANUP(free_p) char *copy = strdup(text);
	char *rest = copy, *line;
	unsigned count = 0;

	while (count < CONTROLS_PER_SESSION_MAX && (line = strsep(&rest, "\n")) && *line) {
		if (!read_line(line, &ret[count]))
			return 0;
		count++;
	}
	return count;
}
