/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Where a collector listens, and whether it may have our data. Nothing here waits. Any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/base/limits.h"

#define DIAL_PATHS_MAX 2

/* @socket: RTL_SOCKET, or "" for the usual places. How many. */
unsigned dial_paths(const char *socket, char path[DIAL_PATHS_MAX][LABEL_BYTES_MAX]);

/*
 * A socket connected to the first of @path that is there, *@ret_at, whose listener we trust.
 * -errno: -EAGAIN: its line is full; -EKEYREJECTED: it is not trusted. @is_kept: it will stay, and
 * the program be left what it needs (-EMFILE).
 */
int dial(
	char path[DIAL_PATHS_MAX][LABEL_BYTES_MAX], unsigned paths, bool is_kept, unsigned *ret_at);

/*
 * Of a process that cannot be recorded, and so has no connection: @hello, which says so. Who is not
 * there to take it, or not at once, is not told.
 */
void dial_tell(const char *socket, const uint8_t *hello, size_t hello_bytes);

/*
 * Whether a collector that runs as @uid may have our data: ourselves, root, user rtl. (Or whoever
 * mounted its socket into our container: proto/base/user_namespace.h.)
 */
bool dial_trusts(uid_t uid, const char *passwd);
