/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Opens a database by the FILE or the name of a session that a user typed. A name is searched with
 * the collectors that this user may ask, then in the state directories; without a name it is the
 * newest. One thread, for verbs; prints nothing; waits for collectors with the client's deadlines.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cli/database/query.h"

/*
 * Opens the database @name. If a file of that name exists, it is opened. Errors are those of
 * query_open(), with the line in @error.
 */
int find_open(const char *name, char error[QUERY_ERROR_BYTES], struct query **ret);

/*
 * Returns the databases in the state directories of this user and, if this user may read them, of
 * the service. The list ends with NULL; the result is NULL if memory is short or there are none.
 */
char **find_files(void);

/*
 * Returns the folder that holds links to private runs, named after their sessions, or to those that
 * are kept (private_runs.h): malloc'ed; NULL if the user has no home.
 */
char *find_private_folder(bool is_kept);

/*
 * Returns the database of the session @name in the state directories of this user, allocated; NULL
 * if there is none. No collector is asked.
 */
char *find_of_user(const char *name);

/* Like find_files(), for the private runs that are kept. */
char **find_kept(void);

/* Like find_files(), for this user's databases only. */
char **find_own_files(void);

/* Like find_files(), for the folders that contain them, each with its index. */
char **find_stores(void);

/* A collector renames a damaged file to NAME.db, this text, and the time. */
#define FIND_ASIDE ".corrupt-"
/*
 * Returns such files in @folder, or in the folders of find_files() if it is NULL. The result is
 * like that of find_files().
 */
char **find_aside(const char *folder);
void find_files_free_p(char ***paths);

/* CLOCK_REALTIME of the last change of a database or of its log; 0 if it does not exist. */
uint64_t newest_written_ns(const char *path);

/*
 * Returns the databases in the working folder (*.db), those of this user in the state directories,
 * and those that this user's sessions are writing elsewhere, what was written last first. One that
 * was found twice is there twice. The result is like that of find_files().
 */
char **newest_databases(void);
