// SPDX-License-Identifier: MIT
#include "cli/database/session/verb.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cli/base/array.h"
#include "cli/base/command.h"
#include "cli/base/memory.h"
#include "cli/database/session/find_session.h"
#include "cli/base/message.h"
#include "proto/base/cleanup.h"

/* At most this many older databases are searched for one that is not empty. */
#define BEFORE_EMPTY 16
/* A line names at most so many ranges of ranks. */
#define RANGES_SAID  8

void verb_take_format(enum render_format *format, enum render_format wanted)
{
	if (*format != RENDER_TABLE && *format != wanted)
		opts_error("--json and --csv do not go together: give one of them");
	*format = wanted;
}

error_t verb_parse(int key, char *arg, struct verb *ret)
{
	switch (key) {
	case 'j':
		verb_take_format(&ret->format, RENDER_JSON);
		return 0;
	case 'c':
		verb_take_format(&ret->format, RENDER_CSV);
		return 0;
	case 's':
		ret->is_strict = true;
		return 0;
	default:
		return opts_file(key, arg, &ret->name);
	}
}

/* Returns the paths of newest_databases() after a line about the first; NULL if there is none. */
static char **find_newest(void)
{
	CLEANUP(find_files_free_p) char **paths = newest_databases();

	if (paths[0]) {
		say("%s: the newest database, as no FILE or SESSION is named", paths[0]);
		return TAKE(paths);
	}
	say("no FILE or SESSION is named, and there is no database in this folder, nor a session "
	    "of yours; rtl run records one");
	return NULL;
}

char *verb_newest(void)
{
	CLEANUP(find_files_free_p) char **paths = find_newest();

	return paths ? xstrdup(paths[0]) : NULL;
}

/* Returns whether @query can be asked, and then whether anything was dispatched in *@ret. */
static bool read_dispatches(struct query *query, bool *ret)
{
	int64_t has_dispatches = 0;

	if (query_number(query, "has_dispatches", 0, &has_dispatches))
		return false;
	*ret = has_dispatches;
	return true;
}

/* If the newest of @paths, @query, is empty, names the one that may have been meant. */
static void tell_empty(struct query *query, char *const *paths)
{
	bool has_dispatches;

	if (!read_dispatches(query, &has_dispatches) || has_dispatches)
		return;
	for (size_t i = 1; paths[i] && i <= BEFORE_EMPTY; i++) {
		CLEANUP(query_free_p) struct query *other = NULL;
		char error[QUERY_ERROR_BYTES];

		if (query_open(paths[i], error, &other) ||
			!read_dispatches(other, &has_dispatches) || !has_dispatches)
			continue;
		say("%s: nothing was dispatched in it; the newest with dispatches is %s", paths[0],
			paths[i]);
		return;
	}
}

int verb_open(const struct verb *verb, struct query **ret)
{
	CLEANUP(find_files_free_p) char **newest = verb->name ? NULL : find_newest();
	const char *name = verb->name ? verb->name : newest ? newest[0] : NULL;
	char error[QUERY_ERROR_BYTES];

	if (!name)
		return CMD_BAD_INPUT;
	if (find_open(name, error, ret)) {
		say("%s", error);
		return CMD_BAD_INPUT;
	}
	if (newest)
		tell_empty(*ret, newest);
	return CMD_OK;
}

/* ---- ranks ----------------------------------------------------------------------------- */

struct range {
	int64_t first, last;
};

struct ranges {
	struct range *at; /* what follows on one is a part of it */
	size_t count, capacity;
};

static void ranges_done(struct ranges *ranges)
{
	free(ranges->at);
}

static void add_range(struct ranges *ranges, int64_t first, int64_t last)
{
	if (ranges->count && ranges->at[ranges->count - 1].last == first - 1) {
		ranges->at[ranges->count - 1].last = last;
		return;
	}
	GROW(ranges->at, ranges->count, ranges->capacity);
	ranges->at[ranges->count++] = (struct range){first, last};
}

/* Adds what @wanted has beyond @there, which is sorted. */
static void add_missing(
	const struct choice_range *wanted, const struct ranges *there, struct ranges *ret)
{
	int64_t next = wanted->first;

	for (size_t i = 0; i < there->count && there->at[i].first <= wanted->last; i++) {
		if (there->at[i].last < next)
			continue;
		if (there->at[i].first > next)
			add_range(ret, next, there->at[i].first - 1);
		next = there->at[i].last + 1;
	}
	if (next <= wanted->last)
		add_range(ret, next, wanted->last);
}

/* Returns " 3", or "s 0-2,4", to stand after "rank". */
static char *ranges_text(const struct ranges *ranges)
{
	char *text = NULL;
	FILE *to = xmemstream(&text);

	fputs(ranges->count > 1 || ranges->at->first < ranges->at->last ? "s " : " ", to);
	for (size_t i = 0; i < ranges->count && i < RANGES_SAID; i++) {
		fprintf(to, "%s%" PRId64, i ? "," : "", ranges->at[i].first);
		if (ranges->at[i].last > ranges->at[i].first)
			fprintf(to, "-%" PRId64, ranges->at[i].last);
	}
	if (ranges->count > RANGES_SAID)
		fputs(",...", to);
	xfclose(to);
	return text;
}

int verb_check_ranks(struct query *query, const char *option, const struct choice_list *ranks)
{
	CLEANUP(ranges_done) struct ranges there = {0};
	CLEANUP(ranges_done) struct ranges missing = {0};
	CLEANUP(free_p) char *missing_text = NULL;
	CLEANUP(free_p) char *there_text = NULL;
	int r = 0;

	if (!ranks->count)
		return CMD_OK;
	QUERY_EACH (r, query, "ranks", rows)
		add_range(&there, query_integer(rows, 0), query_integer(rows, 0));
	if (r)
		return verb_fail(query, NULL);
	for (uint32_t i = 0; i < ranks->count; i++)
		add_missing(ranks->range + i, &there, &missing);
	if (!missing.count)
		return CMD_OK;
	missing_text = ranges_text(&missing);
	there_text = there.count ? ranges_text(&there) : NULL;
	if (there_text)
		say("%s: no rank%s, it has rank%s; choose from these, or leave out --%s",
			query_path(query), missing_text, there_text, option);
	else
		say("%s: no rank%s, its processes have none; leave out --%s", query_path(query),
			missing_text, option);
	return CMD_BAD_INPUT;
}

/* ---- how it went ----------------------------------------------------------------------- */

int verb_fail(const struct query *query, const char *error)
{
	say("%s", error && error[0]	  ? error
		  : query_error(query)[0] ? query_error(query)
					  : "out of memory");
	return CMD_BAD_INPUT;
}

int verb_check(const struct verb *verb, const struct verdict *verdict)
{
	if (!verb->is_strict || (verdict->is_complete && !verdict->is_empty))
		return CMD_OK;
	say("--strict: %s", verdict->is_empty ? "nothing was dispatched" : verdict->line);
	return CMD_LOSSY;
}
