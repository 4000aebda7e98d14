/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * SQLite's files as ever, but that each operation on them is a sign of life, and that no sync has
 * more to write than the disk does in about a second. A checkpoint otherwise writes into the
 * kernel's memory at once and then waits for all of it in one call: on a slow disk for minutes, in
 * which nobody can tell whether we still live. Any thread; each has a beat of its own.
 */
#include <stdint.h>

/* Whom SQLite's work on this thread tells that it goes on; NULL: nobody. */
void pace_set_beat(int (*beat)(void *data), void *data);
/* The same of other work on a file. */
void pace_beat(void);

/*
 * While SQLite on this thread waits for others it sleeps no longer than @us from now on, and than
 * *@also_us, which outlives that and from which it is taken, too; NULL: there is none. Past that it
 * looks again at once, and gives up: on who holds a log whose index is to be made after 10 s else.
 */
void pace_set_patience(uint64_t us, uint64_t *also_us);

/* The VFS to open a database with. NULL: no memory for it now. */
const char *pace_vfs(void);
