/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The files of one closed session, and nothing else: looked at through the folder of its tenant,
 * never through a link, and never what is not a file of ours. Store thread; none of them may be
 * open here (closing one would drop SQLite's locks).
 */
#include <sys/types.h>

/*
 * May STORE/UID/NAME.db go? 0; -ENOENT: it has gone already; -EBUSY: somebody reads it (a
 * transaction is open; one that only has it open keeps what it has); -ELOOP, -EMEDIUMTYPE, -EMLINK,
 * -EPERM: not ours; what open() says.
 */
int removal_check(const char *store, const char *database, uid_t uid);

/*
 * Begins to unlink the database, then its -wal, -shm, -journal, -lock, and what was set aside of
 * it; what is not ours stays. In a process of its own: its owner may hold a file's lock for ever,
 * and whoever unlinks that waits, with the lock of the folder. Its pid, for removal_end(); -errno.
 */
pid_t removal_start(const char *store, const char *database, uid_t uid);

/* -EAGAIN: it is under way. Else it has ended, as unlink() says; 0 also when some of it was gone.
 */
int removal_end(pid_t removal);

/*
 * The same of one in which nothing was ever stored, but not of what was set aside, in which it was.
 * Is waited for, a while: its path is used again. -EBUSY: its owner holds it, and it stays.
 */
int removal_unlink_vacant(const char *store, const char *database, uid_t uid);
