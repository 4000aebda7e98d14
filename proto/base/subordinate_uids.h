/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Whom a uid counts as where users share something. /etc/subuid gives one user tens of thousands of
 * them: with a share each he would have all there is. Who may see what does not depend on it. Read
 * once, then any thread.
 */
#include <sys/types.h>

struct subuids;

/* As /etc/subuid; lines that are none are passed over, and a file that is not there is an empty
 * one. -ENOMEM; -E2BIG: more than SUBUID_RANGES_MAX; what opening says. */
int subuids_read(const char *path, struct subuids **ret);
struct subuids *subuids_free(struct subuids *subuids);

/*
 * Of a uid that is subordinate to somebody who logs in: that user, for all his ranges. Of one that
 * is to root or to a program's user (who hand them on to containers): the first of its
 * SUBUID_BLOCK, as much as a container is given, whose root may be any of them. Else @uid. Of ranges
 * that lie in others the narrowest counts. @subuids NULL: always @uid.
 */
uid_t subuids_owner(const struct subuids *subuids, uid_t uid);
