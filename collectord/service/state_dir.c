/* SPDX-License-Identifier: MIT */
#include "collectord/service/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/cleanup.h"

#define SHARED_MODE 0711
#define OWN_MODE    0700

/*
 * The umask is strict, for databases; a directory that other users pass through needs its exact
 * mode.
 */
static int make_directory(const char *path, mode_t mode)
{
	if (mkdir(path, mode) < 0)
		return errno == EEXIST ? 0 : -errno;
	return chmod(path, mode) < 0 ? -errno : 0;
}

static int make_parents(const char *path, mode_t mode)
{
	int r = 0;
	CLEANUP(free_p) char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	for (char *at = strchr(copy + 1, '/'); at && r == 0; at = strchr(at + 1, '/')) {
		*at = '\0';
		r = make_directory(copy, mode);
		*at = '/';
	}
	return r;
}

/* A collector that a user started may store in any directory that the user chose. */
static bool is_trusted(const struct place *place, uid_t owner)
{
	return !place->is_shared || owner == 0 || owner == geteuid() || owner == place->uid;
}

/* Sets mode and owner of our own directory; a directory that another user made is left as it is. */
static int set_right(int fd, const struct place *place, bool is_created, bool *ret_is_theirs)
{
	const mode_t writable = place->is_shared ? S_IWGRP | S_IWOTH : S_IWOTH;
	bool is_ours = is_created || place->is_system;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	/* A user that may write there could replace a database by a link. */
	if (!is_ours && ((st.st_mode & writable) || !is_trusted(place, st.st_uid)))
		return -EPERM;
	if (is_ours && (st.st_mode & 0777) != (place->is_shared ? SHARED_MODE : OWN_MODE) &&
		fchmod(fd, place->is_shared ? SHARED_MODE : OWN_MODE) < 0)
		return -errno;
	*ret_is_theirs = place->uid != (uid_t)-1 && (is_ours || st.st_uid == place->uid);
	if (*ret_is_theirs && st.st_uid != place->uid && fchown(fd, place->uid, place->gid) < 0)
		return -errno;
	return 0;
}

int place_prepare(const struct place *place, bool *ret_is_theirs)
{
	CLEANUP(close_p) int fd = -1;
	bool is_created;
	int r = make_parents(place->path, place->is_shared ? 0755 : OWN_MODE);

	if (r < 0)
		return r;
	is_created = mkdir(place->path, OWN_MODE) == 0;
	if (!is_created && errno != EEXIST)
		return -errno;
	fd = open(place->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : set_right(fd, place, is_created, ret_is_theirs);
}

void place_raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= DESCRIPTORS_WANTED)
		return;
	limit.rlim_cur = limit.rlim_max < DESCRIPTORS_WANTED ? limit.rlim_max : DESCRIPTORS_WANTED;
	(void)setrlimit(RLIMIT_NOFILE, &limit); /* fewer descriptors only mean fewer connections */
}

int place_become(uid_t uid, gid_t gid)
{
	if (setgroups(1, &gid) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	return setuid(0) == 0 ? -EPERM : 0; /* root must be gone for good */
}
