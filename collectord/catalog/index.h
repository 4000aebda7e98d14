/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The index of a store, or of one tenant of the service: every session, open and closed, and the
 * path of its database. It is small and written when a session opens and closes; no data is lost
 * with it. Store thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct index;
struct subuids;

/*
 * Opens or creates @path; *@ret_is_new: it was created, or is empty. -EMEDIUMTYPE: not an index of
 * rtl; -EUCLEAN: damaged; -EPERM: not a file that we may write; database_errno().
 */
int index_open(
	const char *path, const struct subuids *subuids, struct index **ret, bool *ret_is_new);
struct index_state {
	bool is_new;
	int damage;  /* 0: it was intact; else why it was set aside */
	char *aside; /* its new path; the caller frees it */
};
/* The same, but sets a damaged or foreign file aside and creates a new one. */
int index_open_or_renew(const char *path, const struct subuids *subuids, struct index **ret,
	struct index_state *ret_state);
struct index *index_close(struct index *index);

/*
 * Registers @changed, which is called after each change with the database whose rows have changed,
 * or NULL for any. It must not call the index.
 */
void index_watch(
	struct index *index, void (*changed)(const char *database, void *data), void *data);

/*
 * Copies the rows of @tenant from another index of any version into this empty one, all of them or
 * none. The caller may ignore an error: the databases hold what the rows say. database_errno().
 */
int index_take_over(struct index *index, const char *path, uid_t tenant);

/* The absolute path of its file, valid while it is open. */
const char *index_file_path(const struct index *index);

/* Adapts the index to a store that was moved or copied: changes the paths to this store. */
int index_settle(struct index *index);

/* Counts of a closed session that retention does not need. */
struct index_counts {
	uint64_t changed_ns; /* CLOCK_REALTIME of the last change of the file; 0: no count is
			      * known */
	uint64_t dispatched;
	uint64_t lost;
	uint32_t processes;
	bool is_simulated;
};

struct index_entry {
	const char *database; /* absolute path; the key together with name */
	const char *name;
	const char *job;     /* NULL: unknown */
	const char *command; /* NULL: unknown */
	uid_t uid;
	uint64_t start_realtime_ns;
	uint64_t end_realtime_ns; /* 0: open */
	bool is_complete;
	const char *line; /* NULL: open */
	uint64_t stored;  /* number of stored dispatches */
	uint64_t bytes;	  /* 0: unknown */
	struct index_counts counts;
};

int index_put(struct index *index, const struct index_entry *entry);

/*
 * Returns 1 if the index @path names a session, or a removal that is under way, or cannot be read;
 * 0 if it names none, or is missing.
 */
int index_has_sessions(const char *path);

/* Calls @take with at most @max databases that have an open session. @take may call index_put(). */
int index_each_open(struct index *index, unsigned max,
	void (*take)(const char *database, void *data), void *data);

/* Returns 1 if @database is known and all its sessions are closed, else 0, or database_errno(). */
int index_is_closed(struct index *index, const char *database);

/*
 * Finds the newest open session with the uid, job and name of @like (the name may be followed by
 * '-' and more), after skipping @skip others. The caller frees both texts. Returns 1, 0 if there is
 * none, or database_errno().
 */
int index_find_open(struct index *index, const struct index_entry *like, unsigned skip,
	char **ret_database, char **ret_name);

/* Calls @take with the @max sessions that were closed last, oldest first. */
int index_each_closed(struct index *index, unsigned max,
	void (*take)(const struct index_entry *entry, void *data), void *data);

/*
 * Calls @take with @max closed sessions: the last of each tenant, then the last but one of each,
 * and so on, so that no tenant takes the room of the others; at most @each of a tenant.
 */
int index_each_closed_of_all(struct index *index, unsigned each, unsigned max,
	void (*take)(const struct index_entry *entry, void *data), void *data);

/*
 * Records that the database @path was renamed to @aside and that its sessions ended with @line.
 * database_errno().
 */
int index_set_aside(struct index *index, const char *path, const char *aside, const char *line);

/*
 * Calls @take with the name, job, command and uid of each open session of @path. Returns their
 * number, or database_errno().
 */
int index_each_session(struct index *index, const char *path,
	void (*take)(const struct index_entry *entry, void *data), void *data);
