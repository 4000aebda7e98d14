/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Finds a listening collector and decides whether it may have our data. Nothing here waits. Any
 * thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/base/limits.h"

#define DIAL_PATHS_MAX 2

/* @socket is RTL_SOCKET, or "" for the usual places. Returns the number of paths. */
unsigned dial_paths(const char *socket, char path[DIAL_PATHS_MAX][LABEL_BYTES_MAX]);

/*
 * Connects to the first of @path that exists, *@ret_at, if its listener is trusted. Returns the
 * socket or -errno. -EAGAIN: the listener's backlog is full; -EKEYREJECTED: it is not trusted.
 * @is_kept: the socket will stay open, so fails with -EMFILE if the program would have too few
 * descriptors left.
 */
int dial(
	char path[DIAL_PATHS_MAX][LABEL_BYTES_MAX], unsigned paths, bool is_kept, unsigned *ret_at);

/*
 * For a process that cannot be recorded and therefore has no connection: sends @hello, which says
 * so. If no collector accepts it at once, it is lost.
 */
void dial_tell(const char *socket, const uint8_t *hello, size_t hello_bytes);

/*
 * Whether a collector that runs as @uid may have our data: the same user, root, or user rtl.
 * (proto/base/user_namespace.h covers a collector whose socket was mounted into our container.)
 */
bool dial_trusts(uid_t uid, const char *passwd);
