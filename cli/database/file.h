/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Looks at a database file before SQLite opens it: to open a FIFO would wait for ever, and SQLite's
 * messages for a directory or a missing file are of no help. To be called before this process opens
 * the file, because closing a descriptor of it later would drop SQLite's locks.
 */
#include <stdbool.h>

#include "cli/database/query.h"

struct query_file {
	bool is_in_use; /* another process has it open and may write to it */
	bool has_wal;	/* not empty */
	bool is_dir_writable;
	uint64_t bytes;
};

/* 0; -ENOENT, -EACCES, -EISDIR, -EINVAL (no SQLite file), -EIO, each with its line in @error. */
int query_file_look(const char *path, struct query_file *ret, char error[QUERY_ERROR_BYTES]);

/* Whether its header says so, found out without SQLite: false also where it cannot be read. */
bool query_file_is_ours(const char *path);

/* @path as a URI for a read-only connection. NULL: no memory. */
char *query_file_uri(const char *path, bool is_immutable);
