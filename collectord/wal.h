/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * SQLite's write-ahead log as a file, before SQLite has opened it: what it would silently take for
 * the end of the log. Reads only. Store thread.
 */
#include <stdbool.h>
#include <stdint.h>

#define WAL_HEADER_BYTES 32u

bool wal_is_header(const uint8_t header[WAL_HEADER_BYTES]);

/*
 * Does the log @path break off although a commit lies behind? A writer that is killed leaves one
 * frame torn, the last; here the disk, or the power, has taken what was committed. 1, 0 (also
 * when there is no log), or -errno. Reads all of it.
 */
int wal_is_cut(const char *path);
