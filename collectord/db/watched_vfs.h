/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Passes SQLite's file operations on, with two additions: each operation is a beat (a sign of
 * life), and no sync has more to write than the disk writes in about a second. Otherwise a
 * checkpoint writes to the kernel's cache at once and then waits for all of it in one call: on a
 * slow disk for minutes, during which the watchdog could not tell a slow store from a hung one.
 * Any thread; each has its own beat.
 */
#include <stdint.h>

/* Sets the function that SQLite's work on this thread calls as a sign of life; NULL: none. */
void pace_set_beat(int (*beat)(void *data), void *data);
/* Beats for other work on a file. */
void pace_beat(void);

/*
 * Limits the time that SQLite on this thread sleeps while it waits for locks to @us from now on.
 * After that SQLite retries without sleeping and gives up; otherwise it waits 10 s for a process
 * that holds a WAL whose index has to be built.
 */
void pace_set_patience(uint64_t us);

/* Returns the name of the VFS to open a database with. NULL: no memory for it now. */
const char *pace_vfs(void);
