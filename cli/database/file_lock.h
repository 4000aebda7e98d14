/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Who has a database open, or will: the locks of the files beside it. Any thread; to close what was
 * asked lets go of this process's own locks on that file, so it is asked before that opens it.
 */
#include <sys/types.h>

/* SQLite holds a shared lock on this byte of the -shm file as long as a WAL connection is open. */
#define FILE_LOCK_SHM	    "-shm"
#define FILE_LOCK_SHM_BYTE  128
/* A collector has this one from before it makes the database until it is gone. */
#define FILE_LOCK_COLLECTOR "-lock"

/*
 * Has anybody byte @at of the file locked that is named @path and @suffix? 1, and its process in
 * @ret_pid, -1 where that is of another namespace; 0: nobody, or there is no such file; else what
 * kept us from looking: -ELOOP of a symbolic link, -ENOMEM, what open() says.
 */
int file_lock_find(const char *path, const char *suffix, off_t at, pid_t *ret_pid);
