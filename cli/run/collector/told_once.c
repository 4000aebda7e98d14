// SPDX-License-Identifier: MIT
#include "cli/run/collector/told_once.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/collector/places.h"
#include "cli/run/job/launcher.h"
#include "proto/base/cleanup.h"

/* No launch takes so long to start. */
#define TOLD_KEPT_S 3600

/* Removes the marks of old launches. */
static void sweep(const char *path_of_folder)
{
	DIR *folder = opendir(path_of_folder);
	time_t now = time(NULL);

	if (!folder)
		return;
	for (struct dirent *entry; (entry = readdir(folder));) {
		const char *dot = strrchr(entry->d_name, '.');
		struct stat st;

		if (dot && !strcmp(dot, ".told") &&
			!fstatat(dirfd(folder), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
			st.st_mtime + TOLD_KEPT_S < now)
			(void)unlinkat(dirfd(folder), entry->d_name, 0);
	}
	closedir(folder);
}

bool run_tells_launch(const struct run_launch *launch, bool is_found_by_all)
{
	char folder[PATH_MAX], name[PLACES_NAME_BYTES], path[PATH_MAX + 128];
	CLEANUP(close_p) int fd = -1;

	if (!launch->is_shared)
		return true;
	if (!launch->launcher || places_runtime_dir(true, folder) < 0)
		return !is_found_by_all || rank_is_first(&launch->rank);
	places_session_name(launch->job, name);
	snprintf(path, sizeof(path), "%s/%s-%d-%llu.told", folder, name, (int)launch->launcher,
		launch->launcher_start);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return errno != EEXIST;
	sweep(folder);
	return true;
}
