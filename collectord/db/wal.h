/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * SQLite's write-ahead log as a file: what SQLite would silently take for its end, and who keeps it
 * from being used again. Store thread.
 */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define WAL_HEADER_BYTES 32u

bool wal_is_header(const uint8_t header[WAL_HEADER_BYTES]);

/*
 * Does the log of @db, which has been read and not been written since it was opened, break off
 * although a commit lies behind? A writer that is killed leaves one frame torn, the last; here the
 * disk, or the power, has taken what was committed. What lies before the end is SQLite's to judge,
 * and has been: read is only what it left. 1, 0 (also when there is no log), or -errno.
 */
int wal_is_cut(sqlite3 *db);

/*
 * Is the log of @db as long as SQLite's index of it says? Another process may have cut it off, and
 * SQLite would go on behind the hole, with what it has in memory, until the hole is copied into the
 * database. -EUCLEAN: it is shorter; else 0.
 */
int wal_check_whole(sqlite3 *db);

/*
 * Cuts off what lies behind the end of the log: of a transaction that was never acknowledged, since
 * it failed, or since its writer died before it had told SQLite's index of it while a reader kept
 * that. A shorter transaction would cover its begin alone, and its end then look like what was
 * lost. Not before what was lost has been noted. 0 (also when there is nothing), -EBUSY,
 * database_errno().
 */
int wal_trim(sqlite3 *db);

/* Of the log of @database; 0: there is none. */
uint64_t wal_bytes(const char *database);

/* Holds the log of @database, whose name then goes at once: its blocks are freed when the
 * descriptor is closed. -1: there is none. SQLite has no locks on it that this would drop. */
int wal_hold(const char *database);

/* Has the kernel begin to write the log of @database to the disk, and waits for none of it. */
void wal_send(const char *database);

/* A descriptor for wal_readers(). To close it drops the locks that SQLite has on that file in this
 * process: only where it has none there, or has closed the database. -1: there is none. */
int wal_open_index(const char *database);

/*
 * How many snapshots of the database whose index is @index other processes read at this moment, and
 * *@ret_pid one of them (0: of another pid namespace). The kernel looks at the locks of that file
 * alone: /proc/locks has those of the whole machine, and takes the square of their number.
 */
unsigned wal_readers(int index, pid_t *ret_pid);
