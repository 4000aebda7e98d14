/* SPDX-License-Identifier: MIT */
/* What opening a session's file may do and how long it may wait, and what an error of it means. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "collectord/db/damaged_file.h"
#include "collectord/store/internal.h"
#include "proto/base/limits.h"

bool session_file_may_renew(const struct store *store, const char *path)
{
	return store->index || aside_is_ours(path);
}

const char *store_explain(int r)
{
	static_assert(STORE_RESERVE_BYTES == 16u << 20, "what is said of a full disk");

	switch (r) {
	case -EEXIST:
		return "it exists already, and no database is ever overwritten";
	case -EMEDIUMTYPE:
		return "it is not a database of rtl";
	case -EPROTONOSUPPORT:
		return "it was written by a newer rtl";
	case -ENOTSUP:
		return "its file system has no shared memory for SQLite's WAL; choose a local one";
	case -EMLINK:
		return "it has several links";
	case -EUCLEAN:
		return "it is corrupt";
	case -ESTALE:
		return "it is not the file any more that was made for this";
	case -ENOSPC:
		return "the disk is full (16 MiB and --keep-free of it stay free)";
	default:
		return strerror(-r);
	}
}
