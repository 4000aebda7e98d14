// SPDX-License-Identifier: MIT
#include "cli/database/session/find_session.h"

#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/array.h"
#include "cli/base/memory.h"
#include "cli/collector/ask_all.h"
#include "cli/database/file.h"
#include "cli/output/recording.h"
#include "proto/base/cleanup.h"

#define FIND_SERVICE_DIR "/var/lib/rtl"

/* Names become part of paths, so only characters are allowed that the collector uses. */
static bool is_session_name(const char *name)
{
	return name[0] && name[0] != '.' && name[0] != '-' && strlen(name) < 200 &&
	       !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789._-+@")];
}

static char *take_if_there(char *path)
{
	if (path && !access(path, F_OK))
		return path;
	free(path);
	return NULL;
}

/* What a private run's link names; takes @path. */
static char *resolve(char *path)
{
	struct stat st;
	char *real;

	if (!path || lstat(path, &st) || !S_ISLNK(st.st_mode))
		return path;
	/* NULL: the run was removed. */
	real = realpath(path, NULL);
	free(path);
	return real;
}

__attribute__((format(printf, 1, 2))) static char *format_path(const char *format, ...)
{
	va_list args;
	char *path;
	int n;

	va_start(args, format);
	n = vasprintf(&path, format, args);
	va_end(args);
	return n < 0 ? NULL : path;
}

/* Returns $XDG_STATE_HOME/rtl; NULL if there is no home. */
static char *state_dir(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (state && state[0] == '/')
		return format_path("%s/rtl", state);
	if (home && home[0] == '/')
		return format_path("%s/.local/state/rtl", home);
	return NULL;
}

char *find_private_folder(bool is_kept)
{
	CLEANUP(free_p) char *dir = state_dir();

	return dir ? format_path("%s/%s", dir, is_kept ? "kept" : "private") : NULL;
}

/* The user's own collector stores by uid, as the service does. */
static char *find_in_state_dir(const char *name)
{
	CLEANUP(free_p) char *dir = state_dir();
	char *path = dir ? take_if_there(format_path("%s/%s.db", dir, name)) : NULL;

	if (!path && dir)
		path = take_if_there(format_path("%s/%u/%s.db", dir, (unsigned)getuid(), name));
	if (!path && dir)
		path = resolve(take_if_there(format_path("%s/private/%s.db", dir, name)));
	if (!path && dir)
		path = resolve(take_if_there(format_path("%s/kept/%s.db", dir, name)));
	return path;
}

char *find_of_user(const char *name)
{
	return is_session_name(name) ? find_in_state_dir(name) : NULL;
}

/* Finding nothing is no error. */
static void add_found(glob_t *found, const char *pattern)
{
	if (pattern)
		(void)glob(pattern, found->gl_pathv ? GLOB_APPEND : 0, NULL, found);
}

/* What root and group rtl may list: STORE/UID/@names, and STORE/NUMBER/UID/@names of containers. */
static void add_of_all(glob_t *found, const char *names)
{
	CLEANUP(free_p) char *users = format_path(FIND_SERVICE_DIR "/*/%s", names);
	CLEANUP(free_p) char *containers = format_path(FIND_SERVICE_DIR "/*/*/%s", names);

	add_found(found, users);
	add_found(found, containers);
}

/* Tries the caller's own folder first; root and group rtl can read the others. */
static char *find_in_service_dir(const char *name)
{
	CLEANUP(free_p) char *file = format_path("%s.db", name);
	char *path =
		take_if_there(format_path(FIND_SERVICE_DIR "/%u/%s.db", (unsigned)getuid(), name));
	glob_t found = {0};

	if (path || !file)
		return path;
	add_of_all(&found, file);
	if (found.gl_pathc)
		path = strdup(found.gl_pathv[0]);
	globfree(&found);
	return path;
}

/* The name of a session goes before that of a job, as in rtl ls. */
static char *find_named_database(const char *name, const struct ask_matches *matches)
{
	char *path =
		matches->count && matches->at[0].is_exact ? xstrdup(matches->at[0].database) : NULL;

	if (!path)
		path = find_in_state_dir(name);
	if (!path)
		path = find_in_service_dir(name);
	if (!path && matches->count)
		path = xstrdup(matches->at[0].database);
	return path;
}

int find_open(const char *name, char error[QUERY_ERROR_BYTES], struct query **ret)
{
	CLEANUP(ask_matches_done) struct ask_matches matches = {0};
	CLEANUP(free_p) char *path = NULL;

	if (strchr(name, '/') || !access(name, F_OK) || !is_session_name(name))
		return query_open(name, error, ret);
	ask_named(name, &matches);
	path = find_named_database(name, &matches);
	if (!path && matches.removal) {
		snprintf(error, QUERY_ERROR_BYTES, "%s: %s", name, matches.removal);
		return -ENOENT;
	}
	return query_open(path ? path : name, error, ret);
}

static bool ends_with(const char *text, const char *ending)
{
	size_t bytes = strlen(text), ending_bytes = strlen(ending);

	return bytes >= ending_bytes && !strcmp(text + bytes - ending_bytes, ending);
}

/* Frees @found. Files beside a database are left out. */
static char **take_found(glob_t *found)
{
	char **paths = xcalloc(found->gl_pathc + 1, sizeof(*paths));

	for (size_t i = 0, fill = 0; i < found->gl_pathc; i++) {
		const char *path = found->gl_pathv[i];

		if (ends_with(path, "-wal") || ends_with(path, "-shm") ||
			ends_with(path, "-journal"))
			continue;
		paths[fill] = resolve(xstrdup(path));
		fill += paths[fill] != NULL;
	}
	globfree(found);
	return paths;
}

static char **find_named(const char *names, bool is_own)
{
	CLEANUP(free_p) char *dir = state_dir();
	CLEANUP(free_p) char *mine = dir ? format_path("%s/%s", dir, names) : NULL;
	CLEANUP(free_p) char *kept = dir ? format_path("%s/*/%s", dir, names) : NULL;
	CLEANUP(free_p)
	char *served = format_path(FIND_SERVICE_DIR "/%u/%s", (unsigned)getuid(), names);
	glob_t found = {0};

	/* Few users can list the service's directory, but all can list their own. */
	if (!is_own)
		add_of_all(&found, names);
	add_found(&found, served);
	add_found(&found, mine);
	add_found(&found, kept);
	return take_found(&found);
}

char **find_files(void)
{
	return find_named("*.db", false);
}

char **find_own_files(void)
{
	return find_named("*.db", true);
}

char **find_kept(void)
{
	CLEANUP(free_p) char *folder = find_private_folder(true);
	CLEANUP(free_p) char *pattern = folder ? format_path("%s/*.db", folder) : NULL;
	glob_t found = {0};

	add_found(&found, pattern);
	return take_found(&found);
}

char **find_stores(void)
{
	char **stores = xcalloc(3, sizeof(*stores)); /* the last entry is NULL */

	stores[0] = xstrdup(FIND_SERVICE_DIR);
	stores[1] = state_dir();
	return stores;
}

char **find_aside(const char *folder)
{
	CLEANUP(free_p) char *pattern = NULL;
	glob_t found = {0};

	if (!folder)
		return find_named("*.db" FIND_ASIDE "*", false);
	if (!strpbrk(folder, "*?[\\"))
		pattern = format_path("%s/*" FIND_ASIDE "*", folder);
	add_found(&found, pattern);
	return take_found(&found);
}

void find_files_free_p(char ***paths)
{
	for (char **path = *paths; path && *path; path++)
		free(*path);
	free(*paths);
}

/* ---- the newest ------------------------------------------------------------------------ */

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

	wal = xasprintf("%s-wal", path);
	wal_ns = written_ns(wal);
	return wal_ns > own_ns ? wal_ns : own_ns;
}

struct dated {
	char *path;
	uint64_t written_ns;
	size_t place; /* as found */
};

struct found {
	struct dated *at;
	size_t count, capacity;
};

static void consider(void *data, const char *path)
{
	struct found *found = data;
	uint64_t ns = newest_written_ns(path);

	if (!ns || !is_recording(path))
		return;
	GROW(found->at, found->count, found->capacity);
	found->at[found->count] = (struct dated){xstrdup(path), ns, found->count};
	found->count++;
}

static int compare_dates(const void *a, const void *b)
{
	const struct dated *x = a, *y = b;

	if (x->written_ns != y->written_ns)
		return x->written_ns > y->written_ns ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

char **newest_databases(void)
{
	CLEANUP(find_files_free_p) char **stored = find_own_files();
	struct found found = {0};
	glob_t here = {0};
	char **paths;

	/*
	 * These come first, so that a file that is also known to a collector has the name that the
	 * user would use.
	 */
	if (!glob("*.db", GLOB_NOSORT, NULL, &here))
		for (size_t i = 0; i < here.gl_pathc; i++)
			consider(&found, here.gl_pathv[i]);
	globfree(&here);
	for (char **path = stored; path && *path; path++)
		consider(&found, *path);
	ask_own_databases(consider, &found);
	if (found.count)
		qsort(found.at, found.count, sizeof(*found.at), compare_dates);
	paths = xcalloc(found.count + 1, sizeof(*paths));
	for (size_t i = 0; i < found.count; i++)
		paths[i] = found.at[i].path;
	free(found.at);
	return paths;
}
