// SPDX-License-Identifier: MIT
#include "cli/import/rows/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/import/rows/trace_process.h"

static int64_t number_at(const char *text)
{
	char *end;
	long long value;

	if (*text < '0' || *text > '9')
		return TRACE_NO_NUMBER;
	errno = 0;
	value = strtoll(text, &end, 10);
	return errno || value > UINT32_MAX ? TRACE_NO_NUMBER : value;
}

/* Finds "rank", an optional separator and a number. Takes the last one, because the first may be in
 * a folder's name. */
static int64_t find_rank(const char *text)
{
	int64_t rank = TRACE_NO_NUMBER;

	for (const char *at = text; (at = strcasestr(at, "rank")); at++) {
		const char *digits = at + strlen("rank");
		int64_t found;

		digits += *digits && strchr("-_[/", *digits);
		found = number_at(digits);
		if (found != TRACE_NO_NUMBER)
			rank = found;
	}
	return rank;
}

int64_t import_rank_of_name(const char *name, const regex_t *rank_from)
{
	regmatch_t match[2];
	const char *slash = strrchr(name, '/');
	int64_t rank;

	if (rank_from) {
		if (regexec(rank_from, name, 2, match, 0) || match[1].rm_so < 0)
			return TRACE_NO_NUMBER;
		return number_at(name + match[1].rm_so);
	}
	rank = find_rank(slash ? slash + 1 : name);
	return rank == TRACE_NO_NUMBER ? find_rank(name) : rank;
}
