// SPDX-License-Identifier: MIT
#include "cli/path_set.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "proto/cleanup.h"

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

void path_set_done(struct path_set *set)
{
	tdestroy(set->tree, free);
	set->tree = NULL;
}

static void add(struct path_set *set, const char *path)
{
	char *copy = strdup(path);
	char **node = copy ? tsearch(copy, &set->tree, compare) : NULL;

	if (!node || *node != copy)
		free(copy);
}

void path_set_add(struct path_set *set, const char *path)
{
	CLEANUP(free_p) char *real = realpath(path, NULL);

	add(set, path);
	if (real)
		add(set, real);
}

bool path_set_has(const struct path_set *set, const char *path)
{
	CLEANUP(free_p) char *real = NULL;

	if (tfind(path, &set->tree, compare))
		return true;
	real = realpath(path, NULL);
	return real && tfind(real, &set->tree, compare);
}
