/* SPDX-License-Identifier: MIT */
#pragma once
/* What the files of the index share: index.c, index_removed.c for what goes, and index_totals.c for
 * what there is of each tenant. */
#include <stdbool.h>
#include <stdint.h>
#include <sqlite3.h>
#include <sys/types.h>

struct index_tenant;
struct subuids;

/* The sessions of the database in @path, a text's place in a statement, and of what was set aside
 * of it: that belongs to the one that has its name now. As a range: it is looked up. */
#define INDEX_OF_DATABASE(path)                                                                    \
	"(database = " path " OR (database >= " path " || '.corrupt-' AND database < " path        \
	" || '.corrupt.'))"

struct index {
	sqlite3 *db;
	sqlite3_stmt *put;
	sqlite3_stmt *knows;	       /* NULL: nobody has asked yet */
	const struct subuids *subuids; /* a tenant is whom a uid counts as */
	struct index_tenant *tenants;  /* by uid */
	bool has_totals;	       /* of all rows; else they are read when somebody asks */
	uint64_t removed;	       /* rows of what went */
	void (*changed)(const char *database, void *data); /* NULL: nobody wants to hear it */
	void *changed_data;
};

/* Its rows of @database are others now, and committed; NULL: of any. */
void index_say_changed(const struct index *index, const char *database);

/* Around each change of the rows of @database; what cannot be counted is read anew. */
void index_totals_before(struct index *index, const char *database);
void index_totals_after(struct index *index, const char *database);
/* So many rows more, or less, tell of what went of @tenant. */
void index_totals_removed(struct index *index, uid_t tenant, int64_t more);
/* Of whom most rows tell. False: nobody, or they cannot be counted. */
bool index_totals_most_removed(struct index *index, uid_t *ret);
void index_totals_forget(struct index *index);
