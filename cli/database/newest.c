// SPDX-License-Identifier: MIT
#include "cli/database/newest.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/collector/ask_all.h"
#include "cli/database/file.h"
#include "cli/database/find_session.h"
#include "proto/base/cleanup.h"

/* Returns 0 if it does not exist. */
static uint64_t written_ns(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return 0;
	return (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
}

uint64_t newest_written_ns(const char *path)
{
	CLEANUP(free_p) char *wal = NULL;
	uint64_t own_ns = written_ns(path), wal_ns;

	if (asprintf(&wal, "%s-wal", path) < 0) {
		wal = NULL;
		return own_ns;
	}
	wal_ns = written_ns(wal);
	return wal_ns > own_ns ? wal_ns : own_ns;
}

struct newest {
	char *path;
	uint64_t written_ns;
};

static void consider(void *data, const char *path)
{
	struct newest *newest = data;
	uint64_t ns = newest_written_ns(path);
	char *copy;

	if (ns <= newest->written_ns || !query_file_is_ours(path))
		return;
	copy = strdup(path);
	if (!copy)
		return;
	free(newest->path);
	newest->path = copy;
	newest->written_ns = ns;
}

char *newest_database(void)
{
	CLEANUP(find_files_free_p) char **stored = find_own_files();
	struct newest newest = {0};
	glob_t here = {0};

	/*
	 * These come first, so that a file that is also known to a collector has the name that the
	 * user would use.
	 */
	if (!glob("*.db", GLOB_NOSORT, NULL, &here))
		for (size_t i = 0; i < here.gl_pathc; i++)
			consider(&newest, here.gl_pathv[i]);
	globfree(&here);
	for (char **path = stored; path && *path; path++)
		consider(&newest, *path);
	ask_own_databases(consider, &newest);
	return newest.path;
}
