/* SPDX-License-Identifier: MIT */
#include "tests/reliability/vfs/fault_vfs.h"

#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collectord/db/vfs_file.h"
#include "tests/reliability/vfs/unsynced.h"

struct file {
	struct vfs_file on;
	struct unsynced *unsynced; /* NULL: not watched */
	uint64_t dirty;		   /* bytes since the last sync */
	sqlite3_file real[];
};

static sqlite3_vfs vfs;
static const sqlite3_vfs *under;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fault_vfs fault;
static uint64_t operations, sync_bytes_max;

static bool is_watched(const sqlite3_file *file)
{
	return ((const struct file *)file)->unsynced != NULL;
}

/* True: this one fails. The power may go instead. */
static bool fails(const sqlite3_file *file, enum fault_vfs_kind kind)
{
	bool is_cut, does_fail;
	uint64_t seed;

	if (!is_watched(file))
		return false;
	pthread_mutex_lock(&lock);
	if (fault.kinds & kind)
		operations++;
	is_cut = (fault.kinds & kind) && fault.cut_at && operations == fault.cut_at;
	does_fail = (fault.kinds & kind) && fault.fail_at &&
		    (fault.for_ever ? operations >= fault.fail_at : operations == fault.fail_at);
	seed = fault.seed;
	pthread_mutex_unlock(&lock);
	if (is_cut) {
		unsynced_lose(seed);
		raise(SIGKILL);
	}
	return does_fail;
}

static void throttle(uint64_t bytes, const uint64_t *at)
{
	uint64_t rate, ns;
	struct timespec pause;

	pthread_mutex_lock(&lock);
	rate = *at;
	pthread_mutex_unlock(&lock);
	if (!rate)
		return;
	ns = bytes * 1000000000u / rate;
	pause = (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
	(void)nanosleep(&pause, NULL); /* shorter is only a faster disk */
}

/* ---- of a file ----------------------------------------------------------------------------- */

static int file_close(sqlite3_file *file)
{
	unsynced_close(((struct file *)file)->unsynced);
	return vfs_real(file)->pMethods->xClose(vfs_real(file));
}

static int file_read(sqlite3_file *file, void *data, int bytes, sqlite3_int64 at)
{
	if (fails(file, FAULT_VFS_READ))
		return SQLITE_IOERR_READ;
	return vfs_real(file)->pMethods->xRead(vfs_real(file), data, bytes, at);
}

static int file_write(sqlite3_file *file, const void *data, int bytes, sqlite3_int64 at)
{
	bool is_full;

	pthread_mutex_lock(&lock);
	is_full = fault.is_full;
	pthread_mutex_unlock(&lock);
	if (fails(file, FAULT_VFS_WRITE))
		return is_full ? SQLITE_FULL : SQLITE_IOERR_WRITE;
	if (is_watched(file)) {
		throttle((uint64_t)bytes, &fault.bytes_per_second);
		((struct file *)file)->dirty += (uint64_t)bytes;
		unsynced_write(((struct file *)file)->unsynced, data, (size_t)bytes, at);
	}
	return vfs_real(file)->pMethods->xWrite(vfs_real(file), data, bytes, at);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 bytes)
{
	if (fails(file, FAULT_VFS_TRUNCATE))
		return SQLITE_IOERR_TRUNCATE;
	if (is_watched(file))
		unsynced_truncate(((struct file *)file)->unsynced, bytes);
	return vfs_real(file)->pMethods->xTruncate(vfs_real(file), bytes);
}

static int file_sync(sqlite3_file *file, int flags)
{
	uint64_t *dirty = &((struct file *)file)->dirty;
	int r;

	if (fails(file, FAULT_VFS_SYNC))
		return SQLITE_IOERR_FSYNC;
	throttle(*dirty, &fault.synced_per_second);
	pthread_mutex_lock(&lock);
	sync_bytes_max = *dirty > sync_bytes_max ? *dirty : sync_bytes_max;
	pthread_mutex_unlock(&lock);
	*dirty = 0;
	r = vfs_real(file)->pMethods->xSync(vfs_real(file), flags);
	if (r == SQLITE_OK && is_watched(file))
		unsynced_sync(((struct file *)file)->unsynced);
	return r;
}

/* No promise of the disk is believed: writes may tear, and come in any order. */
static int file_traits(sqlite3_file *file)
{
	(void)file;
	return 0;
}

static int file_shm_map(sqlite3_file *file, int page, int bytes, int extend, void volatile **ret)
{
	if (fails(file, FAULT_VFS_SHM)) {
		*ret = NULL;
		return SQLITE_IOERR_SHMMAP;
	}
	return vfs_real(file)->pMethods->xShmMap(vfs_real(file), page, bytes, extend, ret);
}

static int file_shm_lock(sqlite3_file *file, int at, int n, int flags)
{
	if ((flags & SQLITE_SHM_LOCK) && fails(file, FAULT_VFS_SHM))
		return SQLITE_IOERR_SHMLOCK;
	return vfs_real(file)->pMethods->xShmLock(vfs_real(file), at, n, flags);
}

static const sqlite3_io_methods methods = {
	VFS_HAND_ON,
	.iVersion = 2, /* no xFetch: every read goes through here */
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xDeviceCharacteristics = file_traits,
	.xShmMap = file_shm_map,
	.xShmLock = file_shm_lock,
};

/* ---- of all -------------------------------------------------------------------------------- */

static int open_file(
	sqlite3_vfs *self, const char *path, sqlite3_file *base, int flags, int *ret_flags)
{
	struct file *file = (struct file *)base;
	int r = under->xOpen((sqlite3_vfs *)under, path, file->real, flags, ret_flags);

	(void)self;
	file->on.base.pMethods = NULL;
	file->on.real = file->real;
	file->unsynced = NULL;
	file->dirty = 0;
	if (r != SQLITE_OK)
		return r;
	file->on.base.pMethods = &methods;
	if (path && (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)) &&
		(flags & SQLITE_OPEN_READWRITE))
		file->unsynced = unsynced_open(path);
	return SQLITE_OK;
}

void fault_vfs_set(const struct fault_vfs *wanted)
{
	pthread_mutex_lock(&lock);
	fault = *wanted;
	operations = sync_bytes_max = 0;
	unsynced_watch(fault.cut_at != 0);
	pthread_mutex_unlock(&lock);
}

uint64_t fault_vfs_operations(void)
{
	uint64_t n;

	pthread_mutex_lock(&lock);
	n = operations;
	pthread_mutex_unlock(&lock);
	return n;
}

uint64_t fault_vfs_sync_bytes_max(void)
{
	uint64_t n;

	pthread_mutex_lock(&lock);
	n = sync_bytes_max;
	pthread_mutex_unlock(&lock);
	return n;
}

unsigned fault_vfs_writers_max(void)
{
	return unsynced_users_max();
}

static void parse(char *text, struct fault_vfs *ret)
{
	const struct {
		const char *name;
		uint64_t *at;
	} numbers[] = {{"fail_at=", &ret->fail_at}, {"cut_at=", &ret->cut_at},
		{"seed=", &ret->seed}, {"bytes_per_second=", &ret->bytes_per_second},
		{"synced_per_second=", &ret->synced_per_second}};
	const struct {
		const char *name;
		unsigned kind;
	} kinds[] = {{"write", FAULT_VFS_WRITE}, {"sync", FAULT_VFS_SYNC},
		{"truncate", FAULT_VFS_TRUNCATE}, {"shm", FAULT_VFS_SHM}, {"read", FAULT_VFS_READ},
		{"all", FAULT_VFS_ALL}};

	for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
		for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
			if (!strncmp(word, numbers[i].name, strlen(numbers[i].name)))
				*numbers[i].at = strtoull(word + strlen(numbers[i].name), NULL, 10);
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			if (!strcmp(word, kinds[i].name))
				ret->kinds |= kinds[i].kind;
		ret->for_ever |= !strcmp(word, "for_ever");
		ret->is_full |= !strcmp(word, "full");
	}
}

void fault_vfs_install(void)
{
	const char *given = getenv("RTL_VFS");
	struct fault_vfs wanted = {0};
	char *text;

	under = sqlite3_vfs_find("unix");
	vfs = *under;
	vfs.zName = "fault";
	vfs.pNext = NULL;
	vfs.szOsFile = (int)sizeof(struct file) + under->szOsFile;
	vfs.xOpen = open_file;
	if (sqlite3_vfs_register(&vfs, 1) != SQLITE_OK)
		abort();
	text = given ? strdup(given) : NULL;
	if (text)
		parse(text, &wanted);
	free(text);
	fault_vfs_set(&wanted);
}
