// SPDX-License-Identifier: MIT
#include "cli/database/session/private_runs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/database/session/find_session.h"
#include "proto/base/cleanup.h"

/* rtl ls opens each of them, which takes a millisecond. */
#define LISTED_MAX 256

/*
 * Opens the folder of private runs, or of those that are kept. Missing folders on the path are made
 * for their owner only, as XDG requires. Returns -1 on failure.
 */
static int open_folder(bool is_kept)
{
	CLEANUP(free_p) char *folder = find_private_folder(is_kept);
	int error = 0, fd;

	if (!folder)
		return -1;
	for (char *slash = folder; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		if (mkdir(folder, 0700) && errno != EEXIST && !error)
			error = errno;
		*slash = '/';
	}
	if (mkdir(folder, 0700) && errno != EEXIST && !error)
		error = errno;
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* Why the first of the folders could not be made. */
	if (fd < 0 && error)
		errno = error;
	return fd;
}

static void remove_oldest(int folder)
{
	struct timespec oldest = {.tv_sec = INT64_MAX};
	char name[NAME_MAX + 1] = "";
	int fd = dup(folder);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	unsigned count = 0;

	if (!entries) {
		close_p(&fd);
		return;
	}
	for (const struct dirent *entry; (entry = readdir(entries));) {
		struct stat st;

		if (fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
			!S_ISLNK(st.st_mode))
			continue;
		count++;
		if (st.st_mtim.tv_sec > oldest.tv_sec ||
			(st.st_mtim.tv_sec == oldest.tv_sec &&
				st.st_mtim.tv_nsec >= oldest.tv_nsec))
			continue;
		oldest = st.st_mtim;
		snprintf(name, sizeof(name), "%s", entry->d_name);
	}
	closedir(entries);
	if (count > LISTED_MAX)
		(void)unlinkat(folder, name, 0);
}

/* Makes or replaces the link to @path. Returns 0 or -errno. */
static int put_link(int folder, const char *session, const char *path)
{
	char name[NAME_MAX + 1], fresh[NAME_MAX + 1];
	int r;

	if (snprintf(name, sizeof(name), "%s.db", session) >= (int)sizeof(name) ||
		snprintf(fresh, sizeof(fresh), ".%s.%d", session, getpid()) >= (int)sizeof(fresh))
		return -ENAMETOOLONG;
	if (symlinkat(path, folder, fresh))
		return -errno;
	if (!renameat(folder, fresh, folder, name))
		return 0;
	r = -errno;
	(void)unlinkat(folder, fresh, 0);
	return r;
}

static bool leads_to(int folder, const char *name, const struct stat *file)
{
	struct stat link, st;

	return !fstatat(folder, name, &link, AT_SYMLINK_NOFOLLOW) && S_ISLNK(link.st_mode) &&
	       !fstatat(folder, name, &st, 0) && st.st_dev == file->st_dev &&
	       st.st_ino == file->st_ino;
}

/* Gives a file that has the name of @session, and is not @file, the first of NAME-2, NAME-3 ...
 * that is free. */
static void make_way(int folder, const char *session, const struct stat *file)
{
	char name[NAME_MAX + 1], other[NAME_MAX + 1];
	struct stat st;

	if (snprintf(name, sizeof(name), "%s.db", session) >= (int)sizeof(name) ||
		fstatat(folder, name, &st, 0) || leads_to(folder, name, file))
		return;
	for (unsigned i = 2; i <= LISTED_MAX; i++) {
		if (snprintf(other, sizeof(other), "%s-%u.db", session, i) >= (int)sizeof(other))
			return;
		if (fstatat(folder, other, &st, AT_SYMLINK_NOFOLLOW)) {
			(void)renameat(folder, name, folder, other);
			return;
		}
	}
}

void private_runs_add(const char *session, const char *path)
{
	CLEANUP(close_p) int folder = open_folder(false);
	struct stat file;

	if (folder >= 0 && !stat(path, &file))
		make_way(folder, session, &file);
	if (folder >= 0 && !put_link(folder, session, path))
		remove_oldest(folder);
}

static void drop_links(bool is_kept, const struct stat *file)
{
	CLEANUP(close_p) int folder = open_folder(is_kept);
	int fd = folder < 0 ? -1 : dup(folder);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);

	if (!entries) {
		close_p(&fd);
		return;
	}
	for (const struct dirent *entry; (entry = readdir(entries));)
		if (leads_to(folder, entry->d_name, file))
			(void)unlinkat(folder, entry->d_name, 0);
	closedir(entries);
}

bool private_runs_keeps(const char *path)
{
	CLEANUP(find_files_free_p) char **kept = find_kept();
	struct stat st, other;

	for (char **at = kept; at && *at; at++)
		if (!stat(path, &st) && !stat(*at, &other) && st.st_dev == other.st_dev &&
			st.st_ino == other.st_ino)
			return true;
	return false;
}

/* Checks that no other file has the name among those that are kept. */
static int check_name(int folder, const char *session, const struct stat *file)
{
	char name[NAME_MAX + 1];
	struct stat other;

	if (snprintf(name, sizeof(name), "%s.db", session) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	return fstatat(folder, name, &other, 0) || leads_to(folder, name, file) ? 0 : -EEXIST;
}

/* Gives the file its other names, as that of --name, in the folder that it moves to as well, where
 * they are free. */
static void copy_links(bool is_kept, const char *path, const struct stat *file)
{
	CLEANUP(close_p) int from = open_folder(!is_kept), to = open_folder(is_kept);
	int fd = from < 0 || to < 0 ? -1 : dup(from);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);

	if (!entries) {
		close_p(&fd);
		return;
	}
	for (const struct dirent *entry; (entry = readdir(entries));) {
		size_t bytes = strlen(entry->d_name);
		char name[NAME_MAX + 1];

		if (bytes <= 3 || strcmp(entry->d_name + bytes - 3, ".db") != 0 ||
			!leads_to(from, entry->d_name, file))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)bytes - 3, entry->d_name);
		if (check_name(to, name, file) == 0)
			(void)put_link(to, name, path);
	}
	closedir(entries);
}

int private_runs_keep(const char *session, const char *path, bool is_kept)
{
	CLEANUP(close_p) int folder = open_folder(is_kept);
	struct stat file;
	int r;

	if (folder < 0 || stat(path, &file))
		return -errno;
	if (!is_kept) {
		/* It stays listed, as the newest. */
		r = put_link(folder, session, path);
		if (r == 0) {
			copy_links(false, path, &file);
			drop_links(true, &file);
		}
		return r;
	}
	r = check_name(folder, session, &file);
	if (r == 0)
		r = put_link(folder, session, path);
	if (r == 0) {
		copy_links(true, path, &file);
		drop_links(false, &file);
	}
	return r;
}

void private_runs_forget(const char *path)
{
	struct stat file;

	if (stat(path, &file))
		return;
	drop_links(false, &file);
	drop_links(true, &file);
}
