/* SPDX-License-Identifier: MIT */
#include "collectord/db/damaged_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collectord/db/wal.h"
#include "proto/base/cleanup.h"
#include "proto/base/format.h"
#include "proto/names/schema.h"

#define HEADER_BYTES 100u
/* The schema of a file of ours is in the first MiB; with 32 KiB pages it would fit 20 times. */
#define START_BYTES  (1u << 20)
/* More files than this with one name and one second are not ours. */
#define NAMES_MAX    1000

static const char magic[16] = "SQLite format 3";
static const char ours[] = "CREATE TABLE rtl_session (";
static const char *const companions[] = {"-wal", "-shm", "-journal"};
#define COMPANIONS (sizeof(companions) / sizeof(companions[0]))

bool aside_is_damage(int error)
{
	return error == -EUCLEAN || error == -EMEDIUMTYPE || error == -EPROTONOSUPPORT;
}

/* ---- looking -------------------------------------------------------------------------------- */

static uint32_t get_u32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static bool is_page_size(uint32_t bytes)
{
	return bytes >= 512 && bytes <= 65536 && !(bytes & (bytes - 1));
}

/* Returns how many bytes were read, with the size of the file in *@ret_size, or the error of
 * open(). */
static ssize_t read_start(const char *path, uint8_t *bytes, size_t count, off_t *ret_size)
{
	CLEANUP(close_p) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	n = pread(fd, bytes, count, 0);
	*ret_size = st.st_size;
	return n < 0 ? -errno : n;
}

/* Checks header fields to which SQLite always writes the same few values. */
static bool is_sound(const uint8_t *header)
{
	const uint8_t *versions = header + 18;
	uint32_t encoding = get_u32(header + 56), format = get_u32(header + 44);

	return versions[0] >= 1 && versions[0] <= 2 && versions[1] == versions[0] && !header[20] &&
	       header[21] == 64 && header[22] == 32 && header[23] == 32 && encoding == 1 &&
	       format >= 1 && format <= 4;
}

/* True if the file is shorter than its header says. Only without a WAL: the header may lag behind
 * it. */
static bool is_cut(const uint8_t *header, off_t size, uint32_t page_bytes)
{
	bool is_counted = get_u32(header + 24) == get_u32(header + 92);

	return size % page_bytes || (is_counted && size / page_bytes < get_u32(header + 28));
}

static int check_header(const uint8_t *header, off_t size, bool has_wal, uint32_t application_id,
	uint32_t version_max)
{
	uint32_t page_bytes = (uint32_t)header[16] << 8 | header[17];

	if (memcmp(header, magic, sizeof(magic)) != 0)
		return -EMEDIUMTYPE;
	if (page_bytes == 1)
		page_bytes = 65536;
	if (get_u32(header + 68) != application_id)
		return -EMEDIUMTYPE;
	if (!is_page_size(page_bytes) || !is_sound(header) ||
		(!has_wal && is_cut(header, size, page_bytes)))
		return -EUCLEAN;
	return get_u32(header + 60) > version_max ? -EPROTONOSUPPORT : 0;
}

/*
 * Checks the header of the WAL. SQLite takes a WAL with a bad header for an empty one and
 * overwrites it. A WAL that holds only zeros was never written: a power cut leaves that.
 */
static int check_wal(const char *path, bool *ret_is_filled)
{
	static const uint8_t zeros[WAL_HEADER_BYTES];
	uint8_t header[WAL_HEADER_BYTES] = {0};
	CLEANUP(free_p) char *wal = format_new("%s-wal", path);
	off_t size = 0;
	ssize_t n;

	if (!wal)
		return -ENOMEM;
	n = read_start(wal, header, sizeof(header), &size);
	*ret_is_filled = size > 0;
	if (n == -ENOENT || n == 0)
		return 0;
	if (n < 0)
		return (int)n;
	if (!memcmp(header, zeros, (size_t)n))
		return 0;
	return (size_t)n == sizeof(header) && wal_is_header(header) ? 0 : -EUCLEAN;
}

/* A rollback journal means that SQLite first has to undo a change, so the header of the file alone
 * does not tell whether the file is sound. */
static bool has_journal(const char *path)
{
	CLEANUP(free_p) char *journal = format_new("%s-journal", path);
	struct stat st;

	return journal && lstat(journal, &st) == 0 && st.st_size > 0;
}

int aside_check(const char *path, uint32_t application_id, uint32_t version_max)
{
	uint8_t header[HEADER_BYTES];
	bool has_wal = false;
	off_t size = 0;
	ssize_t n = read_start(path, header, sizeof(header), &size);
	int r;

	if (n < 0 || has_journal(path))
		return n < 0 ? (int)n : 0;
	r = check_wal(path, &has_wal);
	if (r < 0 && r != -EUCLEAN)
		return r;
	/* SQLite would delete the WAL of an empty file. */
	if (!n)
		return has_wal ? -EUCLEAN : 0;
	if ((size_t)n < sizeof(header))
		return memcmp(header, magic, (size_t)n < sizeof(magic) ? (size_t)n : sizeof(magic))
			       ? -EMEDIUMTYPE
			       : -EUCLEAN;
	return r < 0 ? r : check_header(header, size, has_wal, application_id, version_max);
}

bool aside_is_ours(const char *path)
{
	CLEANUP(free_p) uint8_t *start = malloc(START_BYTES);
	off_t size;
	ssize_t n = start ? read_start(path, start, START_BYTES, &size) : 0;

	if (n < (ssize_t)HEADER_BYTES)
		return false;
	if (!memcmp(start, magic, sizeof(magic)) && get_u32(start + 68) == SCHEMA_APPLICATION_ID)
		return true;
	return memmem(start, (size_t)n, ours, sizeof(ours) - 1) != NULL;
}

/* ---- moving --------------------------------------------------------------------------------- */

static int rename_new(const char *from, const char *to)
{
	struct stat st;

	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL)
		return -errno;
	/* This file system has no RENAME_NOREPLACE; only the collector makes such names in its
	 * folder. */
	if (lstat(to, &st) == 0)
		return -EEXIST;
	return rename(from, to) < 0 ? -errno : 0;
}

/* Moves the companion files that are there. */
static void move_companions(const char *from, const char *to)
{
	for (size_t i = 0; i < COMPANIONS; i++) {
		CLEANUP(free_p) char *old = format_new("%s%s", from, companions[i]);
		CLEANUP(free_p) char *new = format_new("%s%s", to, companions[i]);

		if (old && new)
			(void)rename_new(old, new); /* a companion may be missing */
	}
}

/* Syncs the folder: a rename is only as durable as its folder. */
static void sync_folder(const char *path)
{
	CLEANUP(free_p) char *folder = strdup(path);
	char *slash = folder ? strrchr(folder, '/') : NULL;

	if (slash) {
		CLEANUP(close_p) int fd = -1;

		slash[slash == folder] = 0;
		fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			(void)fsync(fd); /* an error changes nothing: there is no other way */
	}
}

static bool is_taken(const char *aside)
{
	struct stat st;

	for (size_t i = 0; i < COMPANIONS; i++) {
		CLEANUP(free_p) char *path = format_new("%s%s", aside, companions[i]);

		if (!path)
			return true;
		if (lstat(path, &st) == 0)
			return true;
	}
	return false;
}

/* Returns the @attempt-th name for a file that is set aside now. */
static char *name_aside(const char *path, int attempt)
{
	time_t now = time(NULL);
	char when[32] = "unknown";
	struct tm tm;

	if (gmtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &tm);
	return attempt == 1 ? format_new("%s.corrupt-%s", path, when)
			    : format_new("%s.corrupt-%s-%d", path, when, attempt);
}

int aside_move(const char *path, char **ret_aside)
{
	for (int attempt = 1; attempt < NAMES_MAX; attempt++) {
		CLEANUP(free_p) char *aside = name_aside(path, attempt);
		int r;

		if (!aside)
			return -ENOMEM;
		if (is_taken(aside))
			continue;
		/* The database moves first: aside_move_orphans() handles a WAL that was left
		 * without its database. */
		r = rename_new(path, aside);
		if (r == -EEXIST)
			continue;
		if (r < 0)
			return r;
		move_companions(path, aside);
		sync_folder(path);
		*ret_aside = TAKE(aside);
		return 0;
	}
	return -EEXIST;
}

void aside_undo(const char *path, const char *aside)
{
	(void)rename_new(aside, path); /* on failure the file is safe under the other name */
	move_companions(aside, path);
	sync_folder(path);
}

void aside_move_orphans(const char *path)
{
	for (int attempt = 1; attempt < NAMES_MAX; attempt++) {
		CLEANUP(free_p) char *aside = name_aside(path, attempt);
		struct stat st;

		if (!aside)
			return;
		if (is_taken(aside) || lstat(aside, &st) == 0)
			continue;
		move_companions(path, aside);
		return;
	}
}
