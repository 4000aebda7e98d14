/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The user that a uid is charged to where users share a limit. /etc/subuid gives one user tens of
 * thousands of uids: with a share for each of them one user could take everything. What a uid may
 * see does not depend on it. Read once, then for any thread.
 */
#include <sys/types.h>

struct subuids;

/* Reads a file in the format of /etc/subuid. Malformed lines are skipped; a missing file counts as
 * empty. 0; -ENOMEM; -E2BIG: more than SUBUID_RANGES_MAX ranges; -errno of open(). */
int subuids_read(const char *path, struct subuids **ret);
/* Every uid is charged to @owner. NULL: out of memory. */
struct subuids *subuids_of_one(uid_t owner);
struct subuids *subuids_free(struct subuids *subuids);

/*
 * The owner of @uid. If @uid is subordinate to a user who can log in, that user, for all ranges. If
 * it is subordinate to root or to a service (which hand uids on to containers), the first uid of
 * its SUBUID_BLOCK, the size of a container, whose root may be any uid of the block. Otherwise
 * @uid. Of nested ranges the narrowest counts. With @subuids NULL, always @uid.
 */
uid_t subuids_owner(const struct subuids *subuids, uid_t uid);
