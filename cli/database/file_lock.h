/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Finds the process that has a database open, or will open it, by the locks on the files beside it.
 * Any thread. The check closes a descriptor of that file, which releases this process's own locks
 * on it, so it must come before this process opens the database.
 */
#include <sys/types.h>

/* SQLite keeps a shared lock on this byte of the -shm file as long as a WAL connection is open. */
#define FILE_LOCK_SHM	    "-shm"
#define FILE_LOCK_SHM_BYTE  128
/* A collector locks this file from before it creates the database until it ends. */
#define FILE_LOCK_COLLECTOR "-lock"

/*
 * Checks whether a process has locked byte @at of the file named @path and @suffix. Returns 1, with
 * its pid in @ret_pid, or -1 there if it is in another pid namespace; 0 if it is not locked or
 * there is no such file; -ELOOP for a symbolic link; -ENOMEM; or -errno of open().
 */
int file_lock_find(const char *path, const char *suffix, off_t at, pid_t *ret_pid);
