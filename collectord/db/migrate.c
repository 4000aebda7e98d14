/* SPDX-License-Identifier: MIT */
#include "collectord/db/migrate.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "collectord/db/database.h"
#include "collectord/db/tenant_files.h"
#include "proto/base/cleanup.h"
#include "proto/names/schema.h"

/* This migration is only for files without dispatches. */
#define VERSION_WITHOUT_ROWS 11
/* The unit in which a disk has written a file or not: smaller than one of SQLite's pages. */
#define DISK_BLOCK_BYTES     4096u
static_assert(DATABASE_PAGE_BYTES % DISK_BLOCK_BYTES == 0, "the image is whole blocks");

/* Returns SQLite's code. */
static int read_int(sqlite3 *db, const char *sql, int *ret)
{
	sqlite3_stmt *statement;
	int r = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

	if (r != SQLITE_OK)
		return r;
	if (sqlite3_step(statement) == SQLITE_ROW)
		*ret = sqlite3_column_int(statement, 0);
	return sqlite3_finalize(statement);
}

static int read_pragma(sqlite3 *db, const char *sql, int *ret)
{
	return database_errno(read_int(db, sql, ret));
}

/* Takes ownership of @bytes, always. */
static int open_image(unsigned char *bytes, sqlite3 **ret)
{
	sqlite3_int64 size = (sqlite3_int64)schema_image_bytes;
	int r = sqlite3_open_v2(":memory:", ret, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

	if (r != SQLITE_OK) {
		sqlite3_free(bytes);
		return r;
	}
	return sqlite3_deserialize(*ret, "main", bytes, size, size,
		SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
}

static int copy_image(sqlite3 *db, sqlite3 *image)
{
	sqlite3_backup *backup = sqlite3_backup_init(db, "main", image, "main");

	if (!backup)
		return sqlite3_errcode(db);
	(void)sqlite3_backup_step(backup, -1); /* _finish() returns the same error again */
	return sqlite3_backup_finish(backup);
}

/* The caller frees it with sqlite3_free(). NULL: no memory. */
static unsigned char *new_image(void)
{
	unsigned char *bytes = sqlite3_malloc64(schema_image_bytes);

	if (!bytes)
		return NULL;
	memset(bytes, 0, schema_image_bytes);
	for (const struct schema_run *run = schema_image; run->bytes; run++)
		memcpy(bytes + run->at, run->data, run->bytes);
	return bytes;
}

/* Copies the image page by page in one transaction. To run the migrations one by one would take ten
 * times as long. */
static int make_new(sqlite3 *db)
{
	unsigned char *bytes = new_image();
	sqlite3 *image = NULL;
	int r;

	if (!bytes)
		return -ENOMEM;
	r = open_image(bytes, &image);
	if (r == SQLITE_OK)
		r = copy_image(db, image);
	(void)sqlite3_close(image);
	return database_errno(r);
}

/* ---- a new file ---------------------------------------------------------------------------- */

/* Opens a file that has no name yet. -EOPNOTSUPP: there are no such files here. */
static int open_nameless(const char *path, mode_t mode)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];
	int fd;

	if (!slash || (size_t)snprintf(folder, sizeof(folder), "%.*s/", (int)(slash - path),
			      path) >= sizeof(folder))
		return -EOPNOTSUPP;
	fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
	/* The kernel or the file system has no O_TMPFILE. */
	if (fd < 0)
		return errno == EISDIR || errno == EINVAL ? -EOPNOTSUPP : -errno;
	/* Before Linux 6.0 the umask is not applied to such a file on a file system without ACLs.
	 * The umask of the collector is strict. */
	if (fgetxattr(fd, "system.posix_acl_access", NULL, 0) < 0 && errno == EOPNOTSUPP)
		(void)fchmod(fd, mode & S_IRWXU);
	return fd;
}

/* Allocates room for the whole file, since quota and retention count its size. Leaves holes only if
 * the file system cannot allocate. */
static int make_room(int fd)
{
	if (fallocate(fd, 0, 0, (off_t)schema_image_bytes) == 0)
		return 0;
	if (errno != EOPNOTSUPP && errno != ENOSYS)
		return -errno;
	return ftruncate(fd, (off_t)schema_image_bytes) < 0 ? -errno : 0;
}

/* Writes the runs that are not zero. */
static int write_image(int fd)
{
	int r = make_room(fd);

	if (r < 0)
		return r;
	for (const struct schema_run *run = schema_image; run->bytes; run++) {
		ssize_t n = pwrite(fd, run->data, run->bytes, (off_t)run->at);

		if (n < 0)
			return -errno;
		/* SQLite also takes a short write for a full disk. */
		if ((size_t)n != run->bytes)
			return -ENOSPC;
	}
	return 0;
}

static int give_name(int fd, const char *path)
{
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	/* There is no /proc, or a sandbox forbids links. Creating an empty file may still be
	 * allowed. */
	return errno == EEXIST ? -EEXIST : -EOPNOTSUPP;
}

/* Removes the name, unless another process has put another file there since @made was called. */
static void take_name(int fd, const char *path)
{
	if (storage_is_named(fd, path))
		(void)unlink(path); /* this call made it, and it holds nothing */
}

int migrate_make_file(const char *path, mode_t mode, void (*made)(void *), void *data)
{
	CLEANUP(close_p) int fd = open_nameless(path, mode);
	int r = fd < 0 ? fd : write_image(fd);

	if (r == 0)
		r = give_name(fd, path);
	if (r < 0)
		return r;
	made(data);
	if (fdatasync(fd) == 0)
		return 0;
	r = -errno;
	take_name(fd, path);
	return r;
}

/* True if the file holds only parts of the image of a new file, with zeros in place of the rest. */
static bool is_unwritten(int fd, const unsigned char *image)
{
	static const unsigned char zeros[DISK_BLOCK_BYTES];
	unsigned char block[DISK_BLOCK_BYTES];
	bool has_gap = false;

	for (size_t at = 0; at < schema_image_bytes; at += sizeof(block)) {
		if (pread(fd, block, sizeof(block), (off_t)at) != (ssize_t)sizeof(block))
			return false;
		if (!memcmp(block, image + at, sizeof(block)))
			continue;
		if (memcmp(block, zeros, sizeof(block)) != 0)
			return false;
		has_gap = true;
	}
	return has_gap;
}

int migrate_forget_unwritten(const char *path)
{
	CLEANUP(close_p) int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	unsigned char *image;
	struct stat st;
	int r = 0;

	/* The next caller that needs the file reports a read error. */
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
		(size_t)st.st_size != schema_image_bytes)
		return 0;
	image = new_image();
	if (!image)
		return -ENOMEM;
	if (is_unwritten(fd, image) && ftruncate(fd, 0) < 0)
		r = -errno;
	sqlite3_free(image);
	return r;
}

/* ---- one that is there --------------------------------------------------------------------- */

/*
 * True if migration @m does not apply: rows stay in the table that they are in. To copy a hundred
 * million of them would block the store for minutes, and the disk would have to hold them twice.
 * The feed can write to both tables.
 */
static int is_left_out(sqlite3 *db, const struct migration *m, bool *ret)
{
	int has_rows = 0;
	int r = m->version == VERSION_WITHOUT_ROWS
			? read_int(db, "SELECT EXISTS (SELECT 1 FROM rtl_dispatch)", &has_rows)
			: SQLITE_OK;

	*ret = has_rows;
	return r;
}

static int apply(sqlite3 *db, const struct migration *m)
{
	bool is_left;
	char end[64];
	int r = is_left_out(db, m, &is_left);

	if (r == SQLITE_OK && !is_left)
		r = sqlite3_exec(db, m->sql, NULL, NULL, NULL);
	snprintf(end, sizeof(end), "PRAGMA user_version=%d", m->version);
	return r == SQLITE_OK ? sqlite3_exec(db, end, NULL, NULL, NULL) : r;
}

static int apply_from(sqlite3 *db, int version)
{
	int r = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);

	for (const struct migration *m = migrations; r == SQLITE_OK && m->version; m++)
		if (m->version > version)
			r = apply(db, m);
	if (r == SQLITE_OK)
		r = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	if (r == SQLITE_OK)
		return 0;
	/* If BEGIN failed, there is no transaction to end; its error is the one to report. */
	(void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return database_schema_errno(r);
}

/* An empty file is new; any other must be marked as ours. */
static int check_origin(sqlite3 *db, int version)
{
	int id = 0, objects = 0, r;

	r = read_pragma(db, "PRAGMA application_id", &id);
	if (r < 0)
		return r;
	r = read_pragma(db, "SELECT count(*) FROM sqlite_master", &objects);
	if (r < 0)
		return r;
	/* A file of ours without a version has tables nevertheless: the image would overwrite
	 * them. */
	if (id == SCHEMA_APPLICATION_ID)
		return objects && !version ? -EUCLEAN : 0;
	return id || version || objects ? -EMEDIUMTYPE : 0;
}

int migrate_run(sqlite3 *db)
{
	int version = 0, r;

	r = read_pragma(db, "PRAGMA user_version", &version);
	if (r == 0)
		r = check_origin(db, version);
	if (r < 0)
		return r;
	if (version > SCHEMA_VERSION)
		return -EPROTONOSUPPORT;
	if (version == SCHEMA_VERSION)
		return 0;
	return version ? apply_from(db, version) : make_new(db);
}
