/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The database that is meant where none is named. One thread; prints nothing; may ask the
 * collectors of this user, with the client's deadlines.
 */
#include <stdint.h>

/* CLOCK_REALTIME of the last change of a database or of its log; 0: it is not there. */
uint64_t newest_written_ns(const char *path);

/*
 * The one written last among those in the working folder (*.db), this user's in the state
 * directories, and those that this user's sessions are writing elsewhere. malloc'ed; NULL: there
 * is none, or no memory.
 */
char *newest_database(void);
