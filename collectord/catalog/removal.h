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
 * Unlinks the database, then its -wal, -shm, -journal, -lock, and what was set aside of it; what
 * is not ours stays. 0 also when some of it was gone.
 */
int removal_unlink(const char *store, const char *database, uid_t uid);

/* The same of one in which nothing was ever stored, but not of what was set aside, in which it was. */
int removal_unlink_vacant(const char *store, const char *database, uid_t uid);
