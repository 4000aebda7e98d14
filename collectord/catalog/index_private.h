/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Shared by the files of the index: index.c, index_removed.c for removals, and index_totals.c for
 * the sums.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sqlite3.h>
#include <sys/types.h>

#include "collectord/catalog/index_totals.h"

struct subuids;

/*
 * Selects the sessions of the database @path, a parameter of the statement, and of files that were
 * set aside from it: they belong to the database that has the path now. The range condition allows
 * an index lookup.
 */
#define INDEX_OF_DATABASE(path)                                                                    \
	"(database = " path " OR (database >= " path " || '.corrupt-' AND database < " path        \
	" || '.corrupt.'))"

struct index {
	sqlite3 *db;
	sqlite3_stmt *put;
	sqlite3_stmt *knows;	       /* prepared on first use */
	const struct subuids *subuids; /* maps a uid to its tenant */
	struct index_totals totals;
	bool has_totals; /* the sums cover all rows; otherwise they are read when needed */
	void (*changed)(const char *database, void *data); /* NULL: no callback */
	void *changed_data;
};

/*
 * Reports that the rows of @database have changed and are committed; NULL: those of any database.
 */
void index_say_changed(const struct index *index, const char *database);

/*
 * Called before and after each change of the rows of @database. If the sums cannot be adjusted,
 * they are read again.
 */
void index_totals_before(struct index *index, const char *database);
void index_totals_after(struct index *index, const char *database);
/* Adds @more, which may be negative, to the number of removed sessions. */
void index_totals_removed(struct index *index, int64_t more);
void index_totals_forget(struct index *index);
