/* SPDX-License-Identifier: MIT */
#include "collectord/catalog/free_space.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "proto/base/cleanup.h"
#include "proto/base/clock.h"

#define CHECK_NS 100000000u

struct room {
	int fd;	    /* of the reserve file; -1: none */
	int folder; /* opened with O_PATH */
	uint64_t reserve_bytes;
	uint64_t keep_free_bytes;
	bool is_spent; /* used only without a file; otherwise the size of the file counts,
			* because other processes share it */
	bool is_there;
	uint64_t checked_ns; /* CLOCK_MONOTONIC of the last check; 0: check now */
};

int room_open_reserve(const char *folder)
{
	char path[] = "/.rtl-reserve-XXXXXX";
	CLEANUP(free_p) char *named = NULL;
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
	named = malloc(strlen(folder) + sizeof(path));
	if (!named)
		return -1;
	strcpy(stpcpy(named, folder), path);
	fd = mkostemp(named, O_CLOEXEC);
	if (fd >= 0)
		(void)unlink(named); /* a file that stays is empty and harmless */
	return fd;
}

/* posix_fallocate() is not used: on a file system without support it would write every byte. */
static int fill(struct room *room)
{
	int r;

	do
		r = fallocate(room->fd, 0, 0, (off_t)room->reserve_bytes);
	while (r < 0 && errno == EINTR);
	if (r == 0)
		return 0;
	r = -errno;
	if (ftruncate(room->fd, 0) < 0) /* a part of the reserve is of no use */
		return -errno;
	return r;
}

static bool is_spent(const struct room *room)
{
	struct stat st;

	if (room->fd < 0 || fstat(room->fd, &st) < 0)
		return room->is_spent;
	return (uint64_t)st.st_blocks * 512u < room->reserve_bytes;
}

int room_open(const char *folder, int reserve, uint64_t reserve_bytes, uint64_t keep_free_bytes,
	struct room **ret)
{
	CLEANUP(free_p) struct room *room = calloc(1, sizeof(*room));
	int r;

	if (!room)
		return -ENOMEM;
	*room = (struct room){
		.fd = -1, .reserve_bytes = reserve_bytes, .keep_free_bytes = keep_free_bytes};
	room->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (room->folder < 0)
		return -errno;
	room->fd = reserve < 0 ? room_open_reserve(folder) : fcntl(reserve, F_DUPFD_CLOEXEC, 0);
	r = room->fd < 0 ? -errno : fill(room);
	room->is_spent = r == -ENOSPC || r == -EDQUOT;
	if (r < 0 && !room->is_spent)
		close_p(&room->fd), room->fd = -1;
	*ret = TAKE(room);
	return 0;
}

struct room *room_close(struct room *room)
{
	if (!room)
		return NULL;
	close_p(&room->fd);
	close_p(&room->folder);
	free(room);
	return NULL;
}

bool room_spend(struct room *room)
{
	bool was_spent = is_spent(room);

	room->is_spent = true;
	room->is_there = false;
	room->checked_ns = clock_monotonic_ns();
	if (was_spent || room->fd < 0)
		return false;
	return ftruncate(room->fd, 0) == 0;
}

/*
 * The free space for a user without privileges. If statvfs() fails, the next write fails too and
 * reports it.
 */
static bool has_free(const struct room *room, uint64_t bytes)
{
	struct statvfs fs;

	if (fstatvfs(room->folder, &fs) < 0)
		return true;
	return (uint64_t)fs.f_bavail * fs.f_frsize >= bytes;
}

void room_keep_free(struct room *room, uint64_t bytes)
{
	room->keep_free_bytes = bytes;
	room->checked_ns = 0;
}

int64_t room_left(const struct room *room)
{
	uint64_t kept = room->keep_free_bytes + (is_spent(room) ? room->reserve_bytes : 0);
	struct statvfs fs;

	if (fstatvfs(room->folder, &fs) < 0)
		return INT64_MAX;
	return (int64_t)((uint64_t)fs.f_bavail * fs.f_frsize) - (int64_t)kept;
}

static bool has_room(struct room *room)
{
	uint64_t wanted = room->keep_free_bytes;

	/* Without a reserve file, too, the disk counts as full until a reserve would fit. */
	if (is_spent(room))
		wanted += room->reserve_bytes;
	if (!has_free(room, wanted))
		return false;
	if (is_spent(room) && room->fd >= 0 && fill(room) < 0)
		return false;
	room->is_spent = false;
	return true;
}

bool room_is_there(struct room *room)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (room->checked_ns && now_ns - room->checked_ns < CHECK_NS)
		return room->is_there;
	room->checked_ns = now_ns;
	room->is_there = has_room(room);
	return room->is_there;
}
