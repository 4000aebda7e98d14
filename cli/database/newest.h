/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The database to use if the user names none. One thread; prints nothing; may ask the collectors of
 * this user, with the client's deadlines.
 */
#include <stdint.h>

/* CLOCK_REALTIME of the last change of a database or of its log; 0 if it does not exist. */
uint64_t newest_written_ns(const char *path);

/*
 * Returns the database that was written last among those in the working folder (*.db), those of
 * this user in the state directories, and those that this user's sessions are writing elsewhere.
 * Allocated; NULL if there is none or memory is short.
 */
char *newest_database(void);
