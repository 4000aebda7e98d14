/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Files that a collector has written, and an input that damages one: bytes, whole pages' heads, the
 * log, the length, or by SQL. Pages are of 1 KiB, so that an input reaches as much as it can. Of
 * each there are those of older schemas, too.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectord/store/store.h"
#include "proto/names/schema.h"
#include "tests/fuzz/fuzz.h"

struct file {
	uint8_t *bytes, *log; /* of PATH and PATH-wal */
	size_t count, log_count;
};

enum file_kind {
	FILE_CLOSED, /* its session has ended */
	FILE_LEFT,   /* its collector was killed */
	FILE_INDEX,  /* index.db, which says that FILE_LEFT is at files_path() */
	FILE_KINDS
};

/* The newest schema, and all before it. */
#define FILES_OLDER ((unsigned)SCHEMA_VERSION)

/* Makes them; once a process. */
void files_init(void);
/* The paths of a damaged file and of a damaged index. */
const char *files_path(void);
const char *files_index_path(void);

/*
 * Writes a file of @kind to its place, as an rtl of @older schemas ago wrote it, changed as the
 * rest of
 * @tape says. SQL is of databases only: an index could be told to name any file of this machine.
 */
void files_write(enum file_kind kind, unsigned older, struct tape *tape);
/* Writes the file as it was made. */
void files_write_whole(enum file_kind kind, const char *path);
/* Removes all files at these paths. */
void files_remove(void);

/* Takes answers until one is @wanted or, of @last, what says that it will not come. The answer is
 * the caller's to end. */
void files_wait(struct store *store, enum store_answer_kind wanted, enum store_answer_kind last,
	struct store_answer *ret);
/* Opens session @name in @path. NULL: refused. */
struct store_session *files_open_session(struct store *store, const char *path, const char *name);
/* A process of it, which sends three frames of dispatches. NULL: refused. */
struct store_process *files_open_process(struct store *store, struct store_session *session);
/* The process has ended, and the session. */
void files_close(struct store *store, struct store_session *session, struct store_process *process);
