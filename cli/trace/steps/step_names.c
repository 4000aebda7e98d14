// SPDX-License-Identifier: MIT
/* Gives "step 1", "step 2", ... one name, "step N". */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/trace/steps/step_names.h"
#include "cli/base/memory.h"
#include "proto/base/cleanup.h"

void step_names_done(struct step_names *steps)
{
	for (uint32_t i = 0; i < steps->count; i++)
		free(steps->texts[i]);
	idmap_done(&steps->index_of);
	steps->count = 0;
}

/*
 * Replaces the number at the end of the match by N. NULL if the text does not match, the match does
 * not end in a number, or memory is short.
 */
static char *leave_out_number(const regex_t *regex, const char *text)
{
	regmatch_t match;
	regoff_t end, begin;
	char *name;

	if (regexec(regex, text, 1, &match, 0))
		return NULL;
	for (begin = end = match.rm_eo; begin > match.rm_so; begin--)
		if (!isdigit((unsigned char)text[begin - 1]))
			break;
	/* A user's expression may end within the number. */
	while (isdigit((unsigned char)text[end]))
		end++;
	if (begin == end || asprintf(&name, "%.*sN%s", (int)begin, text, text + end) < 0)
		return NULL;
	return name;
}

static int add(struct step_names *steps, int64_t id, char *name)
{
	uint32_t i = 0, *at;

	while (i < steps->count && strcmp(steps->texts[i], name) != 0)
		i++;
	if (i == STEP_NAMES_MAX)
		return 0;
	at = idmap_at(&steps->index_of, id);
	*at = i;
	if (i == steps->count) {
		steps->texts[i] = xstrdup(name);
		steps->count++;
	}
	return 0;
}

int step_names_load(struct query *query, const regex_t *steps, struct step_names *ret)
{
	int r = 0;

	QUERY_EACH (r, query, "range_texts", rows) {
		const char *text = query_text(rows, 1);
		CLEANUP(free_p) char *name = text ? leave_out_number(steps, text) : NULL;

		r = name ? add(ret, query_integer(rows, 0), name) : 0;
	}
	return r;
}

int64_t step_names_name(const struct step_names *steps, int64_t text_id)
{
	uint32_t index = idmap_find(&steps->index_of, text_id);

	return index == IDMAP_NONE ? text_id : -1 - (int64_t)index;
}

const char *step_names_text(const struct step_names *steps, int64_t name)
{
	return name < 0 && name >= -(int64_t)steps->count ? steps->texts[-1 - name] : NULL;
}
