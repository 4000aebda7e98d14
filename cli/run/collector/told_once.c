// SPDX-License-Identifier: MIT
#include "cli/run/collector/told_once.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/collector/places.h"
#include "cli/run/job/launcher.h"
#include "proto/base/cleanup.h"

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
	return fd >= 0 || errno != EEXIST;
}
