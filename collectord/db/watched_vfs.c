/* SPDX-License-Identifier: MIT */
#include "collectord/db/watched_vfs.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "collectord/db/vfs_file.h"
#include "proto/base/clock.h"

/* The most that one sync has to write. A disk of 0.1 MB/s takes 10 s for the smaller value. */
#define PIECE_BYTES_MIN (1u << 20)
#define PIECE_BYTES_MAX (64u << 20)

struct file {
	struct vfs_file on;
	bool is_paced;
	uint64_t unsynced; /* bytes written since the last sync */
	sqlite3_file real[];
};

struct beat {
	int (*beat)(void *data);
	void *data;
};

static sqlite3_vfs vfs;
static sqlite3_vfs *under;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_installed; /* guarded by lock */
static _Thread_local struct beat current;
static _Thread_local uint64_t patience_us = UINT64_MAX;
/* Bytes that this thread's disk writes in a second, learnt from the last sync of at least
 * PIECE_BYTES_MIN. The initial value is more than a short session writes. */
static _Thread_local uint64_t piece_bytes = 2 * PIECE_BYTES_MIN;

void pace_set_beat(int (*beat)(void *data), void *data)
{
	current = (struct beat){beat, data};
}

void pace_beat(void)
{
	if (current.beat)
		(void)current.beat(current.data); /* only SQLite heeds the result */
}

void pace_set_patience(uint64_t us)
{
	patience_us = us;
}

static void learn(uint64_t bytes, uint64_t ns)
{
	uint64_t per_second = ns ? bytes * 1000000000u / ns : PIECE_BYTES_MAX;

	if (bytes < PIECE_BYTES_MIN)
		return; /* the time was the latency of the disk */
	piece_bytes = per_second > PIECE_BYTES_MAX   ? PIECE_BYTES_MAX
		      : per_second < PIECE_BYTES_MIN ? PIECE_BYTES_MIN
						     : per_second;
}

/* ---- methods of a file -------------------------------------------------------------------- */

static int file_close(sqlite3_file *file)
{
	return vfs_real(file)->pMethods->xClose(vfs_real(file));
}

static int file_read(sqlite3_file *file, void *data, int bytes, sqlite3_int64 at)
{
	pace_beat();
	return vfs_real(file)->pMethods->xRead(vfs_real(file), data, bytes, at);
}

static int file_sync(sqlite3_file *base, int flags)
{
	struct file *file = (struct file *)base;
	uint64_t start_ns = clock_monotonic_ns();
	int r;

	pace_beat();
	r = file->real->pMethods->xSync(file->real, flags);
	if (r == SQLITE_OK)
		learn(file->unsynced, clock_monotonic_ns() - start_ns);
	file->unsynced = 0;
	pace_beat();
	return r;
}

/* Syncs more often than SQLite asks, which breaks no guarantee that SQLite relies on. */
static int file_write(sqlite3_file *base, const void *data, int bytes, sqlite3_int64 at)
{
	struct file *file = (struct file *)base;
	int r;

	pace_beat();
	r = file->real->pMethods->xWrite(file->real, data, bytes, at);
	if (r != SQLITE_OK || !file->is_paced)
		return r;
	file->unsynced += (uint64_t)bytes;
	return file->unsynced < piece_bytes ? r : file_sync(base, SQLITE_SYNC_NORMAL);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 bytes)
{
	return vfs_real(file)->pMethods->xTruncate(vfs_real(file), bytes);
}

static int file_traits(sqlite3_file *file)
{
	return vfs_real(file)->pMethods->xDeviceCharacteristics(vfs_real(file));
}

static int file_shm_map(sqlite3_file *file, int page, int bytes, int extend, void volatile **ret)
{
	return vfs_real(file)->pMethods->xShmMap(vfs_real(file), page, bytes, extend, ret);
}

static int file_shm_lock(sqlite3_file *file, int at, int n, int flags)
{
	return vfs_real(file)->pMethods->xShmLock(vfs_real(file), at, n, flags);
}

static const sqlite3_io_methods methods = {
	VFS_HAND_ON,
	.iVersion = 2, /* no xFetch, so reads beat, too */
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xDeviceCharacteristics = file_traits,
	.xShmMap = file_shm_map,
	.xShmLock = file_shm_lock,
};

/* ---- the VFS ------------------------------------------------------------------------------- */

static int open_file(
	sqlite3_vfs *self, const char *path, sqlite3_file *base, int flags, int *ret_flags)
{
	struct file *file = (struct file *)base;
	int r = under->xOpen(under, path, file->real, flags, ret_flags);

	(void)self;
	file->on.real = file->real;
	file->on.base.pMethods = r == SQLITE_OK ? &methods : NULL;
	file->is_paced = (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)) != 0;
	file->unsynced = 0;
	return r;
}

/* Reports the whole time as slept even if it was cut short, so that SQLite does not retry
 * longer. */
static int sleep_within(sqlite3_vfs *self, int us)
{
	uint64_t most = us > 0 ? (uint64_t)us : 0;

	(void)self;
	pace_beat();
	if (most > patience_us)
		most = patience_us;
	patience_us -= most;
	if (most)
		(void)under->xSleep(under, (int)most);
	return us;
}

/* Fails if SQLite finds no memory to initialize itself. */
static bool install(void)
{
	/* Wraps the default VFS, which tests replace by one that fails. */
	under = sqlite3_vfs_find(NULL);
	if (!under)
		return false;
	vfs = *under;
	vfs.zName = "rtl-pace";
	vfs.pNext = NULL;
	vfs.szOsFile = (int)sizeof(struct file) + under->szOsFile;
	vfs.xOpen = open_file;
	vfs.xSleep = sleep_within;
	return sqlite3_vfs_register(&vfs, 0) == SQLITE_OK;
}

const char *pace_vfs(void)
{
	bool is_there;

	pthread_mutex_lock(&lock);
	is_there = is_installed = is_installed || install();
	pthread_mutex_unlock(&lock);
	return is_there ? vfs.zName : NULL;
}
