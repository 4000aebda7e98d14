/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Resolves the symbolic links in a path that was given to root: the owner of a link may change
 * where it leads. Called by main before the threads start.
 */
#include <sys/types.h>

/*
 * Resolves every symbolic link in the part of @path that exists; @path is absolute. Root, our own
 * user and @trusted may own links; (uid_t)-1 trusts no further user. -EPERM: *@ret is a link that
 * another user owns; -ELOOP, -ENOMEM or an error of lstat() or readlink(): *@ret is NULL. The
 * caller owns *@ret.
 */
int links_resolve(const char *path, uid_t trusted, char **ret);
