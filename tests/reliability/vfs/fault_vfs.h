/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A disk that fails: SQLite's own VFS with a throttle, errors at the n-th operation, and a power
 * cut that takes what was not synced. It becomes the default VFS. Only files of databases and
 * their WALs are watched. Operations are counted from fault_vfs_set() on. Any thread.
 */
#include <stdbool.h>
#include <stdint.h>

enum fault_vfs_kind {
	FAULT_VFS_WRITE = 1,
	FAULT_VFS_SYNC = 2,
	FAULT_VFS_TRUNCATE = 4,
	FAULT_VFS_SHM = 8, /* map and lock */
	FAULT_VFS_READ = 16,
	FAULT_VFS_ALL = 31,
};

struct fault_vfs {
	unsigned kinds;		   /* that are counted */
	uint64_t fail_at;	   /* 0: never */
	bool for_ever;		   /* that one and all after it */
	bool is_full;		   /* a write fails with SQLITE_FULL instead of an I/O error */
	uint64_t cut_at;	   /* the power goes at that operation: SIGKILL after the loss */
	uint64_t seed;		   /* which of the unsynced writes are lost */
	uint64_t bytes_per_second; /* 0: as fast as it goes */
	uint64_t synced_per_second; /* likewise of what a sync finds: the kernel's memory took it */
};

/* Once, before any database is opened. With RTL_VFS in the environment it starts like that:
 * "bytes_per_second=N", "write,fail_at=N,for_ever" ... */
void fault_vfs_install(void);

/* Injects @fault from now on; operations count from 0. */
void fault_vfs_set(const struct fault_vfs *fault);
/* The most connections that could write to one database at a time, since the start. */
unsigned fault_vfs_writers_max(void);
/* The most that one sync of a file found to be written, in bytes; since fault_vfs_set(). */
uint64_t fault_vfs_sync_bytes_max(void);
/* How many operations of its kinds there were since. */
uint64_t fault_vfs_operations(void);
