/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * SQLite's write-ahead log (WAL) as a file: finds committed data that SQLite would silently ignore,
 * and the readers that keep the WAL from being restarted. Store thread.
 */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define WAL_HEADER_BYTES 32u

bool wal_is_header(const uint8_t header[WAL_HEADER_BYTES]);

/*
 * True if the WAL of @db breaks off although a commit lies behind the break. @db was read, but not
 * written, since it was opened. A writer that is killed leaves only its last frame torn; here the
 * disk or a power cut has lost committed data. SQLite has already checked what lies before the
 * break; this reads only the rest. 1, 0 (also if there is no WAL), or -errno.
 */
int wal_is_cut(sqlite3 *db);

/*
 * Checks that the WAL of @db is as long as SQLite's index says. Another process may have truncated
 * it; SQLite would go on behind the hole, from memory, until a checkpoint copies the hole into the
 * database. -EUCLEAN: it is shorter; else 0.
 */
int wal_check_whole(sqlite3 *db);

/*
 * Cuts off frames behind the end of the WAL. They belong to a transaction that was never
 * acknowledged: it failed, or its writer died before it updated SQLite's index while a reader kept
 * that alive. A shorter transaction would overwrite only their begin, and the rest would look like
 * lost data. Call it only after lost data has been noted. 0 (also if there is nothing), -EBUSY,
 * database_errno().
 */
int wal_trim(sqlite3 *db);

/* Size of the WAL of @database; 0: there is none. */
uint64_t wal_bytes(const char *database);

/* Opens the WAL of @database before its name is removed: its blocks are freed when the caller
 * closes the descriptor. -1: there is none. SQLite has no locks on the WAL that closing it could
 * drop. */
int wal_hold(const char *database);

/* Makes the kernel start to write the WAL of @database to the disk; does not wait. */
void wal_send(const char *database);

/* Opens a descriptor for wal_readers(). Closing it drops the locks that SQLite has on that file in
 * this process, so the caller closes it only if SQLite has none there or has closed the database.
 * -1: there is none. */
int wal_open_index(const char *database);

/*
 * Counts the snapshots that other processes read now, of the database whose index is @index, with
 * the pid of one of them in *@ret_pid (0: in another pid namespace). The kernel looks only at the
 * locks of that file. /proc/locks lists those of the whole machine and takes time quadratic in
 * their number.
 */
unsigned wal_readers(int index, pid_t *ret_pid);
