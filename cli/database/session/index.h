/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What the collectors of this user's stores recorded about closed sessions (index.db), so that a
 * list of ten thousand opens none of their files. It is read once, in parts, so that a collector
 * waits for no more than one part. A file that changed after it was closed is not found here and
 * must be opened itself. Prints nothing. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct query_index_session {
	char *path;
	char *name, *job, *command, *line; /* NULL if unknown */
	uint64_t start_realtime_ns, dispatched, stored, lost, bytes, changed_ns;
	uint32_t uid, processes;
	bool is_simulated;
};

/*
 * Sorted by path, which starts with the folder as the caller named it. An all-zero struct is empty.
 */
struct query_index {
	struct query_index_session *sessions;
	size_t count, capacity;
};

/*
 * Adds the rows of @folder/index.db: none if it cannot be read, has another version, or memory is
 * short.
 */
void query_index_add(struct query_index *index, const char *folder);
/* Called after the last query_index_add(). */
void query_index_sort(struct query_index *index);
void query_index_done(struct query_index *index);

/* Returns the row of the file @path if that has not changed since; NULL if it is not known. */
const struct query_index_session *query_index_find(
	const struct query_index *index, const char *path);
