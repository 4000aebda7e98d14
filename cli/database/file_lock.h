/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Which process has a database open, or will open it, by the locks on the files beside it. Any
 * thread. A look closes a descriptor of that file, which drops this process's own locks on it, so
 * it comes before this process opens the database.
 */
#include <sys/types.h>

/* SQLite holds a shared lock on this byte of the -shm file as long as a WAL connection is open. */
#define FILE_LOCK_SHM	    "-shm"
#define FILE_LOCK_SHM_BYTE  128
/* A collector has this one from before it makes the database until it is gone. */
#define FILE_LOCK_COLLECTOR "-lock"

/*
 * Whether a process has locked byte @at of the file named @path and @suffix. 1, with its pid in
 * @ret_pid, or -1 if that is in another pid namespace; 0: not locked, or no such file; -ELOOP: a
 * symbolic link; -ENOMEM; -errno of open().
 */
int file_lock_find(const char *path, const char *suffix, off_t at, pid_t *ret_pid);
