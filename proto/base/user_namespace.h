/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Whether we see who others are. In a user namespace that does not name every uid of the machine
 * the kernel shows one and the same uid for all the others. Any thread; reads /proc and stats.
 */
#include <stdbool.h>
#include <sys/types.h>

/* Other users may be shown as namespace_hidden_uid(): our user namespace is not the host's. */
bool namespace_hides_uids(void);
uid_t namespace_hidden_uid(void);

/* /proc is of a pid namespace around ours: there are processes that we have no pid for. */
bool namespace_hides_pids(void);

/*
 * Who listens on the socket @path is shown as @uid. True: it is somebody outside of our user
 * namespace who put it there, in a directory that nobody in here may change: what a container's
 * runtime mounts.
 */
bool namespace_is_from_outside(const char *path, uid_t uid);
