// SPDX-License-Identifier: MIT
#include "cli/run/output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/run/job/launcher.h"
#include "cli/run/job/options.h"
#include "cli/base/command.h"
#include "cli/base/message.h"
#include "cli/collector/places.h"
#include "cli/database/session/private_runs.h"
#include "cli/run/output/output_in_use.h"
#include "proto/base/cleanup.h"

/* If there are more predecessors than this, something else is wrong. */
#define ASIDE_MAX 10000

/* Files that SQLite keeps beside a database; they are part of it until it is closed. */
static const char *const companions[] = {"-wal", "-shm", "-journal"};

static int fail(const struct run_output *output, const char *why)
{
	say("%s: %s", output->display, why);
	return CMD_RUN_FAILED;
}

/* The folder must exist, the file need not. Symbolic links in the folder's path are allowed. */
static int make_absolute(struct run_output *output)
{
	char folder[PATH_MAX], real[PATH_MAX];
	const char *slash = strrchr(output->display, '/');
	const char *name = slash ? slash + 1 : output->display;
	int n;

	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return fail(output, "that is a directory; name a file");
	if (!slash)
		strcpy(folder, ".");
	else
		snprintf(folder, sizeof(folder), "%.*s",
			slash == output->display ? 1 : (int)(slash - output->display),
			output->display);
	if (!realpath(folder, real)) {
		say("%s: cannot be written there: %m", output->display);
		return CMD_RUN_FAILED;
	}
	n = snprintf(
		output->path, sizeof(output->path), "%s/%s", strcmp(real, "/") ? real : "", name);
	return n < (int)sizeof(output->path) ? 0 : fail(output, "the path is too long");
}

int run_output_name(struct run_output *output, const struct run_options *options,
	const struct run_launch *launch)
{
	char name[PLACES_NAME_BYTES];
	int r = 0;

	output->is_default = !options->output;
	output->local[0] = '\0';
	if (options->output) {
		r = run_output_expand(options->output, launch, output->display);
	} else if (launch->is_shared || launch->is_named) {
		places_session_name(launch->job, name);
		snprintf(output->display, sizeof(output->display), "./rtl-%s.db", name);
	} else {
		snprintf(output->display, sizeof(output->display), "./rtl-%d.db", (int)getpid());
	}
	return r ? r : make_absolute(output);
}

/* Room for a path and the suffixes that are added to its name here. */
#define BESIDE_BYTES (PATH_MAX + 64)

static void beside(char ret[BESIDE_BYTES], const char *path, const char *suffix, const char *more)
{
	snprintf(ret, BESIDE_BYTES, "%s%s%s", path, suffix, more);
}

/* Renames FILE to FILE.1 or the first free name; a write-ahead log moves with its database. */
static int move_aside(const struct run_output *output)
{
	char from[BESIDE_BYTES], to[BESIDE_BYTES], suffix[16];
	int i;

	for (i = 1; i < ASIDE_MAX; i++) {
		snprintf(suffix, sizeof(suffix), ".%d", i);
		beside(to, output->path, suffix, "");
		if (!renameat2(AT_FDCWD, output->path, AT_FDCWD, to, RENAME_NOREPLACE))
			break;
		if (errno == EINVAL && access(to, F_OK) < 0) /* NFS does not know the flag */
			if (!rename(output->path, to))
				break;
		if (errno != EEXIST && errno != EINVAL) {
			say("%s: cannot be moved aside: %m; use -f to overwrite it",
				output->display);
			return CMD_RUN_FAILED;
		}
	}
	if (i == ASIDE_MAX)
		return fail(output, "cannot be moved aside: too many are there");
	for (size_t k = 0; k < 3; k++) {
		beside(from, output->path, companions[k], "");
		beside(to, output->path, suffix, companions[k]);
		(void)rename(from, to); /* usually there is none */
	}
	say("%s exists: moved aside to %s%s", output->display, output->display, suffix);
	return 0;
}

static int remove_old(const struct run_output *output, bool is_there)
{
	char path[BESIDE_BYTES];

	if (is_there && unlink(output->path) < 0) {
		say("%s: cannot be overwritten: %m", output->display);
		return CMD_RUN_FAILED;
	}
	/* A log without its database would be replayed into the new one. */
	for (size_t i = 0; i < 3; i++) {
		beside(path, output->path, companions[i], "");
		if (unlink(path) < 0 && errno != ENOENT) {
			say("%s: cannot be removed: %m", path);
			return CMD_RUN_FAILED;
		}
	}
	return 0;
}

/* SQLite opens no path that is longer with the names of its companions (MAX_PATHNAME: 512). */
#define DATABASE_PATH_MAX 512

/* Returns 0 or -ENAMETOOLONG, before SQLite fails with a less clear message. */
static int check_length(const struct run_output *output)
{
	const size_t longest = strlen("-journal");

	if (strlen(output->path) + longest > DATABASE_PATH_MAX ||
		strlen(strrchr(output->path, '/') + 1) + longest > NAME_MAX)
		return -ENAMETOOLONG;
	return 0;
}

/* Checks whether a file can be created there, without leaving one. Returns 0 or -errno. */
static int check_folder(const struct run_output *output)
{
	CLEANUP(close_p) int fd = -1;
	char folder[PATH_MAX];
	char *slash;

	strcpy(folder, output->path);
	slash = strrchr(folder, '/');
	slash[slash == folder] = '\0';
	fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (fd >= 0)
		return 0;
	if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
		return -errno;
	return access(folder, W_OK | X_OK) < 0 ? -errno : 0;
}

static bool is_file(const char *path, uintmax_t device, uintmax_t inode)
{
	struct stat st;

	return lstat(path, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

/* Numbers rtl-X.db as rtl-X-2.db, rtl-X-3.db and so on: @stem is the path without ".db". */
static int set_number(struct run_output *output, const char *stem, int number)
{
	int n = snprintf(output->path, sizeof(output->path), "%s-%d.db", stem, number);

	if (n >= (int)sizeof(output->path))
		return -ENAMETOOLONG;
	snprintf(output->display, sizeof(output->display), ".%s", strrchr(output->path, '/'));
	return 0;
}

static void take_stem(const struct run_output *output, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%.*s", (int)strlen(output->path) - 3, output->path);
}

/* Chooses the first free number. */
static int number_default(struct run_output *output)
{
	char stem[PATH_MAX];
	struct stat st;
	int r = 0;

	take_stem(output, stem);
	for (int i = 2; r == 0 && i < ASIDE_MAX; i++) {
		r = set_number(output, stem, i);
		if (r == 0 && lstat(output->path, &st) < 0 && errno == ENOENT)
			return 0;
	}
	return r < 0 ? r : -EEXIST;
}

bool run_output_is(struct run_output *output, uintmax_t device, uintmax_t inode)
{
	struct run_output other = *output;
	char stem[PATH_MAX];

	if (is_file(output->path, device, inode))
		return true;
	take_stem(output, stem);
	for (int i = 2; output->is_default && i < ASIDE_MAX; i++) {
		if (set_number(&other, stem, i) < 0 || access(other.path, F_OK) < 0)
			return false;
		if (!is_file(other.path, device, inode))
			continue;
		*output = other;
		return true;
	}
	return false;
}

static bool is_overwritable(const struct run_output *output, const struct run_options *options)
{
	return options->is_forced || (options->is_aside && !output->is_default);
}

/* A writer whose file is removed would lose all that it writes from then on. */
static int check_unused(const struct run_output *output)
{
	pid_t pid = run_output_wait_unused(output->path, output->display);

	if (!pid)
		return 0;
	say("%s: is in use by pid %d; wait for it, or name another file", output->display,
		(int)pid);
	return CMD_RUN_FAILED;
}

/* The session that takes the place of one that is kept would be kept in turn. */
static int check_unkept(const struct run_output *output)
{
	if (!private_runs_keeps(output->path))
		return 0;
	say("%s: it is kept; rtl keep --off %s ends that", output->display, output->display);
	return CMD_RUN_FAILED;
}

int run_output_check(const struct run_output *output, const struct run_options *options)
{
	struct stat st;
	bool is_there = lstat(output->path, &st) == 0;
	int r;

	/* -f must not replace a device, a directory or a symbolic link. */
	if (is_there && !output->is_default && !S_ISREG(st.st_mode))
		return fail(output, "exists and is not a regular file");
	if (is_there && !output->is_default && !is_overwritable(output, options))
		return fail(output, "exists; use -f to overwrite it");
	if (is_there && is_overwritable(output, options) &&
		(check_unkept(output) || check_unused(output)))
		return CMD_RUN_FAILED;
	r = check_length(output);
	if (r == 0)
		r = check_folder(output);
	if (r == 0 || output->is_default)
		return r;
	say("%s: cannot be written there: %s", output->display, strerror(-r));
	return CMD_RUN_FAILED;
}

int run_output_clear(struct run_output *output, const struct run_options *options)
{
	struct stat st;
	bool is_there = lstat(output->path, &st) == 0;

	if (is_there && output->is_default && !(options->is_forced && S_ISREG(st.st_mode)))
		return number_default(output);
	if (is_there && !options->is_forced)
		return move_aside(output);
	return remove_old(output, is_there);
}
