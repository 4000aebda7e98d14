/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The index of a store, of a service that of a tenant: every session, open and closed, and where
 * its database lies. Small, written when a session opens and when it closes; its loss loses no
 * data. Store thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct index;
struct subuids;

/*
 * Opens or makes @path (*@ret_is_new: it was made, or says nothing). -EMEDIUMTYPE: not an index of
 * ours; -EUCLEAN: damaged; -EPERM: not a file that we may write; database_errno().
 */
int index_open(
	const char *path, const struct subuids *subuids, struct index **ret, bool *ret_is_new);
struct index_state {
	bool is_new;
	int damage;  /* 0: it was whole; else why it went aside */
	char *aside; /* where to; to be freed */
};
/* The same; in the place of one that is damaged, or none of ours, another one is made. */
int index_open_or_renew(const char *path, const struct subuids *subuids, struct index **ret,
	struct index_state *ret_state);
struct index *index_close(struct index *index);

/*
 * From now on @changed is called after each change, with the database whose rows it was about, or
 * NULL: with any. It must not call back.
 */
void index_watch(
	struct index *index, void (*changed)(const char *database, void *data), void *data);

/*
 * Into an index that says nothing: what another one, of any version, says of @tenant, all of it or
 * none. What cannot be read there is not missed. database_errno().
 */
int index_take_over(struct index *index, const char *path, uid_t tenant);

/* Its path, absolute; as long as it is open. */
const char *index_file_path(const struct index *index);

/* The store was moved, or is a copy: its databases are those that lie here, and no others. */
int index_settle(struct index *index);

/* Of a closed session, beside what retention needs. */
struct index_counts {
	uint64_t changed_ns; /* the last change of its file, CLOCK_REALTIME; 0: none of this is
				known */
	uint64_t dispatched;
	uint64_t lost;
	uint32_t processes;
	bool is_simulated;
};

struct index_entry {
	const char *database; /* absolute path; with name the key */
	const char *name;
	const char *job;     /* NULL: unknown */
	const char *command; /* NULL: unknown */
	uid_t uid;
	uint64_t start_realtime_ns;
	uint64_t end_realtime_ns; /* 0: open */
	bool is_complete;
	const char *line; /* NULL: open */
	uint64_t stored;  /* dispatches */
	uint64_t bytes;	  /* 0: not known */
	struct index_counts counts;
};

int index_put(struct index *index, const struct index_entry *entry);

/* Calls @take with each database that is said to be open, at most @max; it may call index_put(). */
int index_each_open(struct index *index, unsigned max,
	void (*take)(const char *database, void *data), void *data);

/* Is @database known, and every session of it closed? 1, 0, or database_errno(). */
int index_is_closed(struct index *index, const char *database);

/* The open session of the uid, job and name (perhaps with something behind a '-') of @like that
 * began last, when @skip others are left out. Both texts are to be freed. 1, 0: none;
 * database_errno(). */
int index_find_open(struct index *index, const struct index_entry *like, unsigned skip,
	char **ret_database, char **ret_name);

/* Calls @take with the latest @max sessions that were closed since then, the oldest first. */
int index_each_closed_since(struct index *index, uint64_t since_realtime_ns, unsigned max,
	void (*take)(const struct index_entry *entry, void *data), void *data);

/* The file @path of sessions is @aside now, and they have ended with @line. database_errno(). */
int index_set_aside(struct index *index, const char *path, const char *aside, const char *line);

/* Calls @take with each open session of @path: its name, job, command and uid. How many, or
 * database_errno(). */
int index_each_session(struct index *index, const char *path,
	void (*take)(const struct index_entry *entry, void *data), void *data);
