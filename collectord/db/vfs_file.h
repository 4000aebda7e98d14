/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Methods of an SQLite VFS that pass on to the file of another VFS. Files of the outer VFS begin
 * with a struct vfs_file, whose `real` is set when they are opened. Any thread.
 */
#include <sqlite3.h>

struct vfs_file {
	sqlite3_file base;
	sqlite3_file *real;
};

static inline sqlite3_file *vfs_real(sqlite3_file *file)
{
	return ((struct vfs_file *)file)->real;
}

static inline int vfs_size(sqlite3_file *file, sqlite3_int64 *ret)
{
	return vfs_real(file)->pMethods->xFileSize(vfs_real(file), ret);
}

static inline int vfs_lock(sqlite3_file *file, int level)
{
	return vfs_real(file)->pMethods->xLock(vfs_real(file), level);
}

static inline int vfs_unlock(sqlite3_file *file, int level)
{
	return vfs_real(file)->pMethods->xUnlock(vfs_real(file), level);
}

static inline int vfs_check_lock(sqlite3_file *file, int *ret)
{
	return vfs_real(file)->pMethods->xCheckReservedLock(vfs_real(file), ret);
}

static inline int vfs_control(sqlite3_file *file, int operation, void *argument)
{
	return vfs_real(file)->pMethods->xFileControl(vfs_real(file), operation, argument);
}

static inline int vfs_sector(sqlite3_file *file)
{
	return vfs_real(file)->pMethods->xSectorSize(vfs_real(file));
}

static inline void vfs_shm_barrier(sqlite3_file *file)
{
	vfs_real(file)->pMethods->xShmBarrier(vfs_real(file));
}

static inline int vfs_shm_unmap(sqlite3_file *file, int is_deleted)
{
	return vfs_real(file)->pMethods->xShmUnmap(vfs_real(file), is_deleted);
}

/* For the initializer of a struct sqlite3_io_methods. */
#define VFS_HAND_ON                                                                                \
	.xFileSize = vfs_size, .xLock = vfs_lock, .xUnlock = vfs_unlock,                           \
	.xCheckReservedLock = vfs_check_lock, .xFileControl = vfs_control,                         \
	.xSectorSize = vfs_sector, .xShmBarrier = vfs_shm_barrier, .xShmUnmap = vfs_shm_unmap
