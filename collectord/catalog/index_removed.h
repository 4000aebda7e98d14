/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The index of closed sessions that go: which is the oldest, that it is going, and that it went.
 * A database may hold several sessions; it goes when all of them are closed. Store thread.
 * All return database_errno() or what is said.
 */
#include "collectord/catalog/index.h"

/* Sizes that are not known yet, @bytes_of() tells some of them. 1: there are more; 0. */
int index_weigh(struct index *index, uint64_t (*bytes_of)(const char *database));

#define INDEX_ANY ((uid_t)-1)

struct index_closed {
	char *database; /* to be freed */
	uid_t uid;
	uint64_t end_ns; /* CLOCK_REALTIME, of its last session */
	uint64_t bytes;
};

/* The database of @tenant that was closed first and has no reason to be kept. 1; 0: there is none.
 */
int index_find_oldest(struct index *index, uid_t tenant, struct index_closed *ret);

/* It must stay, and is passed over until index_unkeep() of @why, NULL: of whatever. */
int index_keep(struct index *index, const char *database, const char *why);
int index_unkeep(struct index *index, const char *why);
/* What those take that must stay. */
int index_kept_bytes(struct index *index, uint64_t *ret);

/* The sessions of @database, and what was set aside of it, are going; then: are gone. */
int index_begin_removal(struct index *index, const char *database, const char *why);
int index_end_removal(struct index *index, const char *database);

/* Its file is not there any more, whoever took it: so are its sessions, open or not. */
int index_take_gone(struct index *index, const char *database, const char *why);

/* Is there a session of @database, or of what was set aside of it, or is it just going? 1, 0. */
int index_knows(struct index *index, const char *database);

/* One reading of the index for all that is asked until index_read_end(): each by itself locks and unlocks
 * its file, ten system calls. What fails here only takes longer. Nothing may be changed between. */
void index_read_begin(struct index *index);
void index_read_end(struct index *index);

/* Each database that is going; *@is_there: there is another one of its name. Copied first. */
int index_each_going(struct index *index,
	void (*take)(const char *database, uid_t uid, bool is_there, void *data), void *data);

struct index_removed {
	struct index_entry session;
	const char *why;
	uint64_t removed_ns; /* CLOCK_REALTIME */
};

/* The sessions of @database that went last (NULL: of any that went, of each tenant
 * SESSIONS_REMOVED_PER_UID_MAX at most), the latest @max of them, oldest first. */
int index_each_removed(struct index *index, const char *database, unsigned max,
	void (*take)(const struct index_removed *removed, void *data), void *data);
