/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The part of the index for removals: finds the oldest closed database, and records that it is
 * being removed and that it was removed. A database may hold several sessions and is removed when
 * all of them are closed. Store thread. Every function returns database_errno() on failure.
 */
#include "collectord/catalog/index.h"

/* Determines some of the missing sizes by @bytes_of(). Returns 1 if more are missing, else 0. */
int index_weigh(struct index *index, uint64_t (*bytes_of)(const char *database));

struct index_closed {
	char *database; /* the caller frees it */
	uid_t uid;
	uint64_t end_ns; /* CLOCK_REALTIME of the end of its last session */
	uint64_t bytes;
};

/*
 * Finds the database that was closed first and that may be removed. Returns 1, or 0 if there is
 * none.
 */
int index_find_oldest(struct index *index, struct index_closed *ret);

/*
 * Excludes @database from removal until index_unkeep() is called with the same @why; index_unkeep()
 * with NULL ends every exclusion but those that the owner of a session wants.
 */
int index_keep(struct index *index, const char *database, const char *why);
int index_unkeep(struct index *index, const char *why);

/* Begins or ends the exclusion that the owner of the session wants. */
int index_keep_for_owner(struct index *index, const char *database, bool is_kept);

struct index_owned {
	char *database; /* the caller frees it */
	bool is_open;	/* a session in it, or in a file set aside from it, is */
	bool is_kept;	/* its owner wants one of these files */
};

/*
 * Finds the database of @uid that is at @database, or, if that is NULL, has the session @name; of
 * several, also files set aside, the newest. Returns 1, or 0 if there is none.
 */
int index_find_owned(struct index *index, uid_t uid, const char *name, const char *database,
	struct index_owned *ret);

/* Counts the databases that their owners keep, and the bytes in them. */
int index_count_owned(struct index *index, unsigned *ret_count, uint64_t *ret_bytes);

/* Calls @take for each database that its owner keeps, at most @max of them. */
int index_each_owned(struct index *index, unsigned max,
	void (*take)(const char *database, uid_t uid, void *data), void *data);

/* Counts the closed sessions that are excluded for the reason @why. */
int index_count_kept(struct index *index, const char *why, uint64_t *ret);

/* Size of the databases that are excluded. */
int index_kept_bytes(struct index *index, uint64_t *ret);

/*
 * Begins and ends the removal of the sessions of @database and of files that were set aside from
 * it. What was removed for INDEX_OWNERS_REQUEST is then forgotten: index_end_removal() returns 1.
 */
#define INDEX_OWNERS_REQUEST "its owner removed it"
int index_begin_removal(struct index *index, const char *database, const char *why);
int index_end_removal(struct index *index, const char *database);

/*
 * Records that the file of @database is missing, for whatever reason, and its sessions with it,
 * open or not.
 */
int index_take_gone(struct index *index, const char *database, const char *why);

/*
 * Returns 1 if @database, or a file set aside from it, has a session or is being removed, else 0.
 */
int index_knows(struct index *index, const char *database);

/*
 * Runs all queries until index_read_end() in one read transaction. Otherwise each query locks and
 * unlocks the file, which takes ten system calls. A failure here only makes them slower. The index
 * must not be changed in between.
 */
void index_read_begin(struct index *index);
void index_read_end(struct index *index);

/*
 * Calls @take for each database whose removal is under way. @is_replaced: a new database has the
 * same path. Each row is copied before the call.
 */
int index_each_going(struct index *index,
	void (*take)(const char *database, uid_t uid, bool is_replaced, void *data), void *data);

struct index_removed {
	struct index_entry session;
	const char *why;
	uint64_t removed_ns; /* CLOCK_REALTIME */
};

/*
 * Calls @take with the sessions of @database that were removed last; with NULL, with removed
 * sessions of all databases, at most SESSIONS_REMOVED_PER_UID_MAX of each tenant. Passes the latest
 * @max of them, oldest first.
 */
int index_each_removed(struct index *index, const char *database, unsigned max,
	void (*take)(const struct index_removed *removed, void *data), void *data);
