/* SPDX-License-Identifier: MIT */
#pragma once
/* What the files of the index share: index.c, and index_removed.c for what goes. */
#include <sqlite3.h>

struct index {
	sqlite3 *db;
	sqlite3_stmt *put;
};
