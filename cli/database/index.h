/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What the collectors of this user's stores wrote down of closed sessions (index.db), so that a
 * list of ten thousand opens none of their files. Read at once, in parts, so that no collector
 * waits for more than one of them. Of a file that is not what it was when it was closed nothing is
 * said: it has to be asked itself. Prints nothing. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct query_index_session {
	char *path;
	char *name, *job, *command, *line; /* NULL: unknown */
	uint64_t start_realtime_ns, dispatched, stored, lost, bytes, changed_ns;
	uint32_t uid, processes;
	bool is_simulated;
};

/* Sorted by path, as @folders name them. All zero is an empty one. */
struct query_index {
	struct query_index_session *sessions;
	size_t count, capacity;
};

/* Adds what @folder/index.db says: nothing where there is none that may be read, or one of another
 * version, or no memory. */
void query_index_add(struct query_index *index, const char *folder);
/* After the last one. */
void query_index_sort(struct query_index *index);
void query_index_done(struct query_index *index);

/* Of the file @path, which was not changed since; NULL: it is not known. */
const struct query_index_session *query_index_find(
	const struct query_index *index, const char *path);
