// SPDX-License-Identifier: MIT
#include "cli/live/path_set.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/memory.h"
#include "proto/base/cleanup.h"

struct file {
	dev_t dev;
	ino_t ino;
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

static int compare_files(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return (x->ino > y->ino) - (x->ino < y->ino);
}

void path_set_done(struct path_set *set)
{
	tdestroy(set->names, free);
	tdestroy(set->files, free);
	*set = (struct path_set){0};
}

/* Takes over @key, which may be NULL. */
static void put(void **tree, void *key, int (*compare)(const void *, const void *))
{
	void **node = key ? tsearch(key, tree, compare) : NULL;

	if (!node || *node != key)
		free(key);
}

static bool stat_file(const char *path, struct file *ret)
{
	struct stat st;

	if (stat(path, &st))
		return false;
	*ret = (struct file){.dev = st.st_dev, .ino = st.st_ino};
	return true;
}

void path_set_add(struct path_set *set, const char *path)
{
	struct file *file = xmalloc(sizeof(*file));

	put(&set->names, xstrdup(path), compare_names);
	if (file && stat_file(path, file))
		put(&set->files, TAKE(file), compare_files);
	free(file);
}

bool path_set_has_name(const struct path_set *set, const char *path)
{
	return tfind(path, &set->names, compare_names);
}

bool path_set_has(const struct path_set *set, const char *path)
{
	struct file file;

	if (path_set_has_name(set, path))
		return true;
	return stat_file(path, &file) && tfind(&file, &set->files, compare_files);
}
