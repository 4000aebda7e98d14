// SPDX-License-Identifier: MIT
/*
 * A private run lies where its user wanted it, so rtl ls would not find it. A link with the name of
 * its session in $XDG_STATE_HOME/rtl/private is the index: verbs find the file by it as they find
 * those of a store (cli/database/session/find_session.c). Files are not looked at, as one of them may lie
 * on a server that does not answer; the oldest links go. Nothing here stops a job, and nothing is
 * said.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/database/session/find_session.h"
#include "cli/run/collector/collector.h"
#include "proto/base/cleanup.h"

/* rtl ls opens each of them, which takes a millisecond. */
#define LISTED_MAX 256

/* Opens the folder. Missing folders on the path are made for their owner only, as XDG requires. */
static int open_folder(void)
{
	CLEANUP(free_p) char *folder = find_private_folder();

	if (!folder)
		return -1;
	for (char *slash = folder; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		(void)mkdir(folder, 0700);
		*slash = '/';
	}
	(void)mkdir(folder, 0700);
	return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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

void run_list_private(const struct run_collector *collector)
{
	const char *path = collector->publish[0] ? collector->publish : collector->database;
	char name[NAME_MAX + 1], fresh[NAME_MAX + 1];
	CLEANUP(close_p) int folder = -1;

	if (!collector->is_private || !collector->session[0] || path[0] != '/')
		return;
	if (snprintf(name, sizeof(name), "%s.db", collector->session) >= (int)sizeof(name) ||
		snprintf(fresh, sizeof(fresh), ".%s.%d", collector->session, getpid()) >=
			(int)sizeof(fresh))
		return;
	folder = open_folder();
	if (folder < 0 || symlinkat(path, folder, fresh))
		return;
	if (renameat(folder, fresh, folder, name))
		(void)unlinkat(folder, fresh, 0);
	remove_oldest(folder);
}
