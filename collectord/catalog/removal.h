/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Removes the files of one closed session and nothing else: it works in the directory of its
 * tenant, never follows a link, and never touches a file that is not ours. Store thread; the store
 * must have none of these files open, because closing one would drop SQLite's locks.
 */
#include <sys/types.h>

/*
 * Checks whether STORE/UID/NAME.db may be removed. Returns 0; -ENOENT: it is gone already; -EBUSY:
 * a reader has an open transaction (a reader that only has it open keeps its data); -ELOOP,
 * -EMEDIUMTYPE, -EMLINK, -EPERM: not a file of ours; or an error of open().
 */
int removal_check(const char *store, const char *database, uid_t uid);

/*
 * Starts to unlink the database, then its -wal, -shm, -journal and -lock, and the files set aside
 * from it; files that are not ours stay. This runs in a process of its own: the tenant may hold a
 * lock on a file for ever, and then unlink() blocks with the directory locked. Returns the pid, for
 * removal_end(), or -errno.
 */
pid_t removal_start(const char *store, const char *database, uid_t uid);

/*
 * Returns -EAGAIN while the removal runs, else its result: 0, even if some files were gone already,
 * or an error of unlink().
 */
int removal_end(pid_t removal);

/*
 * Unlinks a database in which nothing was ever stored, without the files set aside, which do hold
 * data. Waits for a while, because the path is used again. -EBUSY: the tenant holds it, and it
 * stays.
 */
int removal_unlink_vacant(const char *store, const char *database, uid_t uid);
