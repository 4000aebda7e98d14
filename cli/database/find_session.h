/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * From what a user typed, FILE or a session's name, to an open database. A name is looked up
 * with the collectors that this user may ask, then in the state directories. For verbs;
 * prints nothing.
 */
#include "cli/database/query.h"

/*
 * Opens the database of @name. What exists as a file is a file. Errors as query_open(), with
 * the line in @error.
 */
int find_open(const char *name, char error[QUERY_ERROR_BYTES], struct query **ret);

/*
 * The databases in the state directories of this user and, if this user may read them, of the
 * service. NULL-terminated; NULL: no memory, or there are none.
 */
char **find_files(void);

/* Those of this user alone. Likewise. */
char **find_own_files(void);

/* Where those lie: their stores, each with its index. Likewise. */
char **find_stores(void);

/* What a collector calls a file that it had to set aside: NAME.db, this, and when. */
#define FIND_ASIDE ".corrupt-"
/* Such files in @folder, or (NULL) where find_files() looks. As find_files(). */
char **find_aside(const char *folder);
void find_files_free_p(char ***paths);
