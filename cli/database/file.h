/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Examines a database file before SQLite opens it: opening a FIFO would block for ever, and the
 * messages of SQLite for a directory or a missing file are not helpful; and finds which process has
 * it open, by the locks on the files beside it. Must be called before this process opens the file,
 * because closing a descriptor of it later would release the locks of SQLite.
 */
#include <stdbool.h>
#include <sys/types.h>

#include "cli/database/query.h"

struct query_file {
	bool is_in_use; /* another process has it open and may write to it */
	bool has_wal;	/* it exists and is not empty */
	bool is_dir_writable;
	uint64_t bytes;
};

/*
 * Returns 0; or -ENOENT, -EACCES, -EISDIR, -EINVAL (no SQLite file) or -EIO, with a line in @error.
 */
int query_file_look(const char *path, struct query_file *ret, char error[QUERY_ERROR_BYTES]);

/* Returns @path as a URI for a read-only connection. NULL if memory is short. */
char *query_file_uri(const char *path, bool is_immutable);

/* SQLite keeps a shared lock on this byte of the -shm file as long as a WAL connection is open. */
#define FILE_LOCK_SHM	    "-shm"
#define FILE_LOCK_SHM_BYTE  128
/* A collector locks this file from before it creates the database until it ends. */
#define FILE_LOCK_COLLECTOR "-lock"

/*
 * Checks whether a process has a database open, or will open it: whether one has locked byte @at of
 * the file named @path and @suffix. Any thread; like the above, before this process opens it.
 * Returns 1, with its pid in @ret_pid, or -1 there if it is in another pid namespace; 0 if it is
 * not locked or there is no such file; -ELOOP for a symbolic link; -ENOMEM; or -errno of open().
 */
int file_lock_find(const char *path, const char *suffix, off_t at, pid_t *ret_pid);
