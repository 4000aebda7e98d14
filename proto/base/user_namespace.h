/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Whether this process sees the real uids of other processes. In a user namespace that does not map
 * every uid of the machine the kernel shows one uid for all unmapped ones. Any thread; reads /proc
 * and calls stat().
 */
#include <stdbool.h>
#include <sys/types.h>

/* Other users may be shown as namespace_hidden_uid(): our user namespace is not the host's. */
bool namespace_hides_uids(void);
uid_t namespace_hidden_uid(void);

/* /proc is of a pid namespace around ours: there are processes that we have no pid for. */
bool namespace_hides_pids(void);

/*
 * The kernel shows @uid for the process that listens on the socket @path. True if that process is
 * outside our user namespace and the socket lies in a directory that no user in here may change, as
 * where a container runtime mounts it.
 */
bool namespace_is_from_outside(const char *path, uid_t uid);
