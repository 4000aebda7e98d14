/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Where a path leads that root was given: a symbolic link on the way belongs to its owner, who may
 * let it lead elsewhere. Called by main before either thread runs.
 */
#include <sys/types.h>

/*
 * @path, absolute, without a symbolic link in it, as far as it is there; @trusted beside root and
 * ourselves may own links; (uid_t)-1: nobody else. -EPERM: *@ret is a link of another owner;
 * -ELOOP, -ENOMEM and what lstat and readlink say: *@ret is NULL. *@ret is the caller's.
 */
int links_resolve(const char *path, uid_t trusted, char **ret);
