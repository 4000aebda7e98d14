/* SPDX-License-Identifier: MIT */
#include "proto/base/subordinate_uids.h"

#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/cleanup.h"
#include "proto/base/limits.h"

struct range {
	uid_t first;
	uint32_t count;
	uid_t owner;
	bool is_handed_on; /* to containers: each block is one of them */
	uid_t reach;	   /* where the last of those up to it ends */
};

struct subuids {
	size_t count;
	struct range *range; /* by first */
	bool is_of_one;	     /* no ranges: every uid is charged to ... */
	uid_t one;
};

static void fclose_p(FILE **file)
{
	if (*file)
		(void)fclose(*file); /* only read */
}

/*
 * In /etc/passwd alone: a directory service may take long to answer, and newuidmap's users are
 * local ones, or have lines by number.
 */
static bool find_uid(const char *name, uid_t *ret)
{
	CLEANUP(fclose_p) FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *user = NULL;

	while (file && (user = fgetpwent(file)) && strcmp(user->pw_name, name) != 0)
		;
	if (user)
		*ret = user->pw_uid;
	return user;
}

static bool parse_number(const char *text, uint32_t *ret)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value > UINT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

/* NAME:FIRST:COUNT, or UID:FIRST:COUNT. *@ret_is_known: its owner is. */
static bool parse(char *line, struct range *ret, bool *ret_is_known, const char **ret_name)
{
	const char *name = strsep(&line, ":");
	const char *first = strsep(&line, ":");
	const char *count = strsep(&line, ":\n");

	if (!count || !*name || !parse_number(first, &ret->first) ||
		!parse_number(count, &ret->count))
		return false;
	*ret_is_known = parse_number(name, &ret->owner) || find_uid(name, &ret->owner);
	*ret_name = name;
	/* No line makes root subordinate to another user. */
	return ret->first && ret->count && ret->count <= UINT32_MAX - ret->first;
}

static int compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (x->count < y->count) - (x->count > y->count);
}

/* The names of owners without a uid on this machine: all ranges of one name belong to one user. */
struct reading {
	struct subuids *subuids;
	char **name; /* of each range; NULL: its owner is known */
	size_t room;
};

static void reading_done(struct reading *reading)
{
	for (size_t i = 0; reading->subuids && i < reading->subuids->count; i++)
		free(reading->name[i]);
	free(reading->name);
	subuids_free(reading->subuids);
}

static int make_room(struct reading *reading)
{
	size_t room = reading->room ? 2 * reading->room : 64;
	struct range *range = reallocarray(reading->subuids->range, room, sizeof(*range));
	char **name;

	if (range)
		reading->subuids->range = range;
	name = range ? reallocarray(reading->name, room, sizeof(*name)) : NULL;
	if (!name)
		return -ENOMEM;
	reading->name = name;
	reading->room = room;
	return 0;
}

static int take(struct reading *reading, char *line)
{
	struct subuids *subuids = reading->subuids;
	struct range range = {0};
	const char *name;
	bool is_known;
	char *copy = NULL;

	if (!parse(line, &range, &is_known, &name))
		return 0;
	if (subuids->count == SUBUID_RANGES_MAX)
		return -E2BIG;
	if (subuids->count == reading->room && make_room(reading) < 0)
		return -ENOMEM;
	if (!is_known) {
		range.owner = range.first;
		for (size_t i = 0; i < subuids->count; i++)
			if (reading->name[i] && !strcmp(reading->name[i], name))
				range.owner = subuids->range[i].owner;
		copy = strdup(name);
		if (!copy)
			return -ENOMEM;
	}
	range.is_handed_on = is_known && range.owner <= SUBUID_SYSTEM_UID_MAX;
	reading->name[subuids->count] = copy;
	subuids->range[subuids->count++] = range;
	return 0;
}

static void sort(struct subuids *subuids)
{
	uid_t reach = 0;

	if (subuids->count)
		qsort(subuids->range, subuids->count, sizeof(*subuids->range), compare);
	for (size_t i = 0; i < subuids->count; i++) {
		struct range *range = &subuids->range[i];

		if (range->first + range->count > reach)
			reach = range->first + range->count;
		range->reach = reach;
	}
}

int subuids_read(const char *path, struct subuids **ret)
{
	CLEANUP(fclose_p) FILE *file = fopen(path, "re");
	CLEANUP(reading_done) struct reading reading = {0};
	CLEANUP(free_p) char *line = NULL;
	size_t bytes = 0;
	int r = 0;

	if (!file && errno != ENOENT)
		return -errno;
	reading.subuids = calloc(1, sizeof(*reading.subuids));
	if (!reading.subuids)
		return -ENOMEM;
	while (file && r == 0 && getline(&line, &bytes, file) > 0)
		r = take(&reading, line);
	if (r < 0)
		return r;
	for (size_t i = 0; i < reading.subuids->count; i++)
		free(reading.name[i]);
	free(TAKE(reading.name));
	sort(reading.subuids);
	*ret = TAKE(reading.subuids);
	return 0;
}

struct subuids *subuids_of_one(uid_t owner)
{
	struct subuids *subuids = calloc(1, sizeof(*subuids));

	if (subuids) {
		subuids->is_of_one = true;
		subuids->one = owner;
	}
	return subuids;
}

struct subuids *subuids_free(struct subuids *subuids)
{
	if (!subuids)
		return NULL;
	free(subuids->range);
	free(subuids);
	return NULL;
}

uid_t subuids_owner(const struct subuids *subuids, uid_t uid)
{
	size_t from = 0, to = subuids ? subuids->count : 0;
	const struct range *range;

	if (subuids && subuids->is_of_one)
		return subuids->one;
	/* The last one that does not begin behind it. */
	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (subuids->range[middle].first <= uid)
			from = middle + 1;
		else
			to = middle;
	}
	/* Ranges may lie in others: the narrowest counts, and behind its end what it lies in. */
	while (from && uid - subuids->range[from - 1].first >= subuids->range[from - 1].count &&
		subuids->range[from - 1].reach > uid)
		from--;
	range = from ? &subuids->range[from - 1] : NULL;
	if (!range || uid - range->first >= range->count)
		return uid;
	if (!range->is_handed_on)
		return range->owner;
	return range->first + (uid - range->first) / SUBUID_BLOCK * SUBUID_BLOCK;
}
