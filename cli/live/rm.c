// SPDX-License-Identifier: MIT
/* rtl rm: removes sessions of this user, with all files that belong to them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/memory.h"
#include "cli/base/command.h"
#include "cli/base/message.h"
#include "cli/database/file.h"
#include "cli/database/session/find_session.h"
#include "cli/database/session/private_runs.h"
#include "cli/live/owned.h"
#include "proto/base/cleanup.h"

static const struct argp_option options[] = {
	{"force", 'f', NULL, 0, "what is not there is no error", 0},
	{0},
};

static const struct argp parser = {options, owned_parse, "SESSION|FILE...",
	"Remove sessions of yours: the database, what lies beside it (-wal, -shm), and the entry "
	"in "
	"the list of sessions. Nothing is asked, and each is removed or refused on its own, as by "
	"rm(1).\v"
	"A session that is live, being read or kept (rtl keep) is refused, and so is what is no "
	"database of rtl or another user's. Exit status: 0; 1: something is still there, and why.",
	NULL, NULL, NULL};

/* Returns true if a process writes to it, with its pid in *@ret; -1: it is not visible here. */
static bool is_in_use(const char *path, pid_t *ret)
{
	return file_lock_find(path, FILE_LOCK_COLLECTOR, 0, ret) == 1 ||
	       file_lock_find(path, FILE_LOCK_SHM, FILE_LOCK_SHM_BYTE, ret) == 1;
}

/* Returns 0 or -errno. What is not there is no error. */
static int unlink_beside(const char *path, const char *ending)
{
	CLEANUP(free_p) char *beside = NULL;
	struct stat st;

	beside = xasprintf("%s%s", path, ending);
	if (lstat(beside, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return 0;
	return unlink(beside) && errno != ENOENT ? -errno : 0;
}

/* The database goes first: without its log a reader would see only a part of it. */
static bool remove_file(const struct owned *owned, char why[OWNED_WHY_BYTES])
{
	static const char *const endings[] = {"", "-wal", "-shm", "-journal", "-lock"};
	pid_t pid = 0;
	int r = 0;

	if (private_runs_keeps(owned->path)) {
		snprintf(why, OWNED_WHY_BYTES, "it is kept; rtl keep --off ends that");
		return false;
	}
	if (is_in_use(owned->path, &pid)) {
		snprintf(why, OWNED_WHY_BYTES, pid > 0 ? "pid %d has it open" : "it is open", pid);
		return false;
	}
	private_runs_forget(owned->path);
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings) && !r; i++)
		r = unlink_beside(owned->path, endings[i]);
	if (r)
		snprintf(why, OWNED_WHY_BYTES, "cannot be removed: %s", strerror(-r));
	return !r;
}

/* False: it is still there, or never was, and the reason is printed. */
static bool remove_one(const char *name, bool is_forced)
{
	CLEANUP(owned_done) struct owned owned = {0};
	char why[OWNED_WHY_BYTES] = "";

	switch (owned_ask(name, "remove", &owned, why)) {
	case OWNED_DONE:
		if (*why)
			say("%s: %s", name, why);
		return true;
	case OWNED_REFUSED:
		say("rm: %s: %s", name, why);
		return false;
	default:
		break;
	}
	if (!owned.path) {
		if (!is_forced)
			say("rm: %s: no session of yours, and no file; rtl ls lists them", name);
		return is_forced;
	}
	if (owned_check_file(&owned, why) && remove_file(&owned, why))
		return true;
	say("rm: %s: %s", name, why);
	return false;
}

int cmd_rm(int argc, char **argv)
{
	return owned_each(&parser, argc, argv, remove_one);
}
