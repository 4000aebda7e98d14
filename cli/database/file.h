/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Examines a database file before SQLite opens it: opening a FIFO would block for ever, and the
 * messages of SQLite for a directory or a missing file are not helpful. Must be called before this
 * process opens the file, because closing a descriptor of it later would release the locks of
 * SQLite.
 */
#include <stdbool.h>

#include "cli/database/query.h"

struct query_file {
	bool is_in_use; /* another process has it open and may write to it */
	bool has_wal;	/* it exists and is not empty */
	bool is_dir_writable;
	uint64_t bytes;
};

/*
 * Returns 0; or -ENOENT, -EACCES, -EISDIR, -EINVAL (no SQLite file) or -EIO, with a line in @error.
 */
int query_file_look(const char *path, struct query_file *ret, char error[QUERY_ERROR_BYTES]);

/*
 * True if the header says that it is a database of rtl; read without SQLite. Also false if it
 * cannot be read.
 */
bool query_file_is_ours(const char *path);

/* Returns @path as a URI for a read-only connection. NULL if memory is short. */
char *query_file_uri(const char *path, bool is_immutable);
