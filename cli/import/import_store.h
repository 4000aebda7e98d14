/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The database that an import writes: beside its name until it is whole, one transaction a file.
 * Through the collector's own code for rows and texts, without a collector. Says nothing; what
 * fails is in @error. One thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cli/import/trace_file.h"
#include "collectord/db/writer.h"

/* What the times of a file count from. */
enum import_clock { IMPORT_REALTIME, IMPORT_BOOTTIME, IMPORT_UNKNOWN, IMPORT_CLOCKS };

enum import_statement {
	IMPORT_SESSION_PUT,
	IMPORT_SESSION_END,
	IMPORT_CLOCK_PUT,
	IMPORT_FILE_FIND,
	IMPORT_FILE_PUT,
	IMPORT_FILE_COUNT,
	IMPORT_PROCESS_PUT,
	IMPORT_PROCESS_END,
	IMPORT_OP_PUT,
	IMPORT_CALL_PUT,
	IMPORT_CALL_MORE_PUT,
	IMPORT_COLLECTIVE_PUT,
	IMPORT_COLLECTIVE_MORE_PUT,
	IMPORT_COPY_PUT,
	IMPORT_MARKER_PUT,
	IMPORT_METRIC_PUT,
	IMPORT_STEP_PUT,
	IMPORT_QUEUE_PUT,
	IMPORT_GPU_PUT,
	IMPORT_API_PUT,
	IMPORT_STATEMENTS,
};

/* Of a file, where its rows are. */
struct import_counts {
	uint64_t kernels, copies, calls, ops, ranges, collectives, metrics;
	uint64_t linked;  /* kernels and copies whose call is known */
	uint64_t skipped; /* events that have no place in a database */
};

struct import_session {
	int64_t id; /* 0: no process has its clock yet */
	int64_t first_ns, last_ns;
};

struct import_store {
	const char *name; /* of the database; borrowed */
	char *path;	  /* where it is written until it is whole */
	struct writer *writer;
	sqlite3_stmt *at[IMPORT_STATEMENTS];
	struct msg_arena *arena;
	struct import_session session[IMPORT_CLOCKS];
	struct import_session before[IMPORT_CLOCKS]; /* as the open file found them */
	int64_t import_id;			     /* of the file whose rows are being written */
	struct import_counts counts;		     /* of it */
	char error[TRACE_FILE_ERROR_BYTES];
};

/*
 * Begins it: new, or a copy of the database @name to which is added. 0, or -errno with a line in
 * @ret->error.
 */
int import_store_open(const char *name, bool is_appended, struct import_store *ret);
/* The file has its name, and all that was imported; 0 or -errno with its line. */
int import_store_publish(struct import_store *store);
/* Removes what has not been published. */
void import_store_done(struct import_store *store);

/*
 * Begins and ends the rows of @file. @source: the tool that recorded it, or NULL of a database of
 * ours. 1: it is here already. 0, -errno.
 */
int import_store_begin(struct import_store *store, const struct trace_file *file, const char *kind,
	const char *source);
int import_store_commit(struct import_store *store);
/* Nothing of it was ever written. */
int import_store_rollback(struct import_store *store);

/* The session of a process whose times count from @clock, made on first sight. */
int import_store_session(struct import_store *store, enum import_clock clock, int64_t *ret_id);
/* Its times, so that the session holds them all. */
void import_store_stretch(
	struct import_store *store, enum import_clock clock, int64_t first_ns, int64_t last_ns);

/* Row ids of texts of the file, cut at 64 KiB. */
int import_store_text(struct import_store *store, const char *text, size_t length, int64_t *ret_id);
int import_store_kernel(
	struct import_store *store, const char *name, size_t length, int64_t *ret_id);

/* Fills @store->error with what SQLite says; returns @r. */
int import_store_fail(struct import_store *store, int r);

static inline void import_bind(sqlite3_stmt *statement, int index, bool has, int64_t value)
{
	database_bind_optional(statement, index, has, value);
}
