/* SPDX-License-Identifier: MIT */
#include "collectord/pace.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/clock.h"

/* The most that one sync has to write; a disk of 0.1 MB/s takes 10 s for the least. */
#define PIECE_BYTES_MIN (1u << 20)
#define PIECE_BYTES_MAX (64u << 20)

struct file {
	sqlite3_file base;
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
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local struct beat current;
/* Of this thread's disk, as the last sync of more than the least has shown; before: more than a short
 * session writes. */
static _Thread_local uint64_t piece_bytes = 2 * PIECE_BYTES_MIN;

void pace_set_beat(int (*beat)(void *data), void *data)
{
	current = (struct beat){beat, data};
}

void pace_beat(void)
{
	if (current.beat)
		(void)current.beat(current.data); /* it is for those who can end their work */
}

static sqlite3_file *real_of(sqlite3_file *file)
{
	return ((struct file *)file)->real;
}

static void learn(uint64_t bytes, uint64_t ns)
{
	uint64_t per_second = ns ? bytes * 1000000000u / ns : PIECE_BYTES_MAX;

	if (bytes < PIECE_BYTES_MIN)
		return; /* how long that took was the disk's latency */
	piece_bytes = per_second > PIECE_BYTES_MAX   ? PIECE_BYTES_MAX
		      : per_second < PIECE_BYTES_MIN ? PIECE_BYTES_MIN
						     : per_second;
}

/* ---- of a file ----------------------------------------------------------------------------- */

static int file_close(sqlite3_file *file)
{
	return real_of(file)->pMethods->xClose(real_of(file));
}

static int file_read(sqlite3_file *file, void *data, int bytes, sqlite3_int64 at)
{
	pace_beat();
	return real_of(file)->pMethods->xRead(real_of(file), data, bytes, at);
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

/* More syncs than SQLite asks for take nothing from what it relies on. */
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
	return real_of(file)->pMethods->xTruncate(real_of(file), bytes);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret)
{
	return real_of(file)->pMethods->xFileSize(real_of(file), ret);
}

static int file_lock(sqlite3_file *file, int level)
{
	return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
	return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int file_check_lock(sqlite3_file *file, int *ret)
{
	return real_of(file)->pMethods->xCheckReservedLock(real_of(file), ret);
}

static int file_control(sqlite3_file *file, int operation, void *argument)
{
	return real_of(file)->pMethods->xFileControl(real_of(file), operation, argument);
}

static int file_sector(sqlite3_file *file)
{
	return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int file_traits(sqlite3_file *file)
{
	return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int file_shm_map(sqlite3_file *file, int page, int bytes, int extend, void volatile **ret)
{
	return real_of(file)->pMethods->xShmMap(real_of(file), page, bytes, extend, ret);
}

static int file_shm_lock(sqlite3_file *file, int at, int n, int flags)
{
	return real_of(file)->pMethods->xShmLock(real_of(file), at, n, flags);
}

static void file_shm_barrier(sqlite3_file *file)
{
	real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int file_shm_unmap(sqlite3_file *file, int is_deleted)
{
	return real_of(file)->pMethods->xShmUnmap(real_of(file), is_deleted);
}

static const sqlite3_io_methods methods = {
	.iVersion = 2, /* no xFetch: what is read beats, too */
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_unlock,
	.xCheckReservedLock = file_check_lock,
	.xFileControl = file_control,
	.xSectorSize = file_sector,
	.xDeviceCharacteristics = file_traits,
	.xShmMap = file_shm_map,
	.xShmLock = file_shm_lock,
	.xShmBarrier = file_shm_barrier,
	.xShmUnmap = file_shm_unmap,
};

/* ---- of all -------------------------------------------------------------------------------- */

static int open_file(
	sqlite3_vfs *self, const char *path, sqlite3_file *base, int flags, int *ret_flags)
{
	struct file *file = (struct file *)base;
	int r = under->xOpen(under, path, file->real, flags, ret_flags);

	(void)self;
	file->base.pMethods = r == SQLITE_OK ? &methods : NULL;
	file->is_paced = (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)) != 0;
	file->unsynced = 0;
	return r;
}

static void install(void)
{
	/* The default one: tests have one that fails. */
	under = sqlite3_vfs_find(NULL);
	vfs = *under;
	vfs.zName = "rtl-pace";
	vfs.pNext = NULL;
	vfs.szOsFile = (int)sizeof(struct file) + under->szOsFile;
	vfs.xOpen = open_file;
	(void)sqlite3_vfs_register(&vfs, 0); /* where it is not, no database can be opened */
}

const char *pace_vfs(void)
{
	(void)pthread_once(&once, install);
	return vfs.zName;
}
