/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The database that an import writes: under a temporary name until it is whole, with one
 * transaction per file. It uses the collector's code for rows and texts, without a collector. It
 * prints nothing; @error has the reason of a failure. Everything runs on one thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cli/import/input/trace_file.h"
#include "collectord/db/rows/writer.h"

/* The origin of the times of a file. */
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
	IMPORT_CALL_IMPORT_PUT,
	IMPORT_COLLECTIVE_PUT,
	IMPORT_COLLECTIVE_IMPORT_PUT,
	IMPORT_COPY_PUT,
	IMPORT_MARKER_PUT,
	IMPORT_METRIC_PUT,
	IMPORT_STEP_PUT,
	IMPORT_QUEUE_PUT,
	IMPORT_GPU_PUT,
	IMPORT_API_PUT,
	IMPORT_STATEMENTS,
};

/* Counts of one file. */
struct import_counts {
	uint64_t kernels, copies, calls, ops, ranges, collectives, metrics;
	uint64_t linked;  /* kernels and copies whose call is known */
	uint64_t skipped; /* events that have no place in the database */
};

struct import_session {
	int64_t id; /* 0: no process has this clock yet */
	int64_t first_ns, last_ns;
};

struct import_store {
	const char *name; /* of the database; borrowed */
	char *path;	  /* the temporary name */
	struct writer *writer;
	sqlite3_stmt *statements[IMPORT_STATEMENTS];
	struct msg_arena *arena;
	struct import_session session[IMPORT_CLOCKS];
	struct import_session before[IMPORT_CLOCKS]; /* as they were before the open file */
	/* id of the file whose rows are being written */
	int64_t import_id;
	struct import_counts counts; /* counts of that file */
	char error[TRACE_FILE_ERROR_BYTES];
};

/*
 * Begins a new database, or a copy of the database @name to add to. Returns 0, or -errno with the
 * reason in @ret->error.
 */
int import_store_open(const char *name, bool is_appended, struct import_store *ret);
/* Gives the database its name. Returns 0, or -errno with the reason in @error. */
int import_store_publish(struct import_store *store);
/* Removes a database that has not been published. */
void import_store_done(struct import_store *store);

/*
 * Begins the rows of @file, which import_store_commit() ends. @source is the tool that recorded it,
 * NULL for a database of rtl. Returns 0, 1 if the store has the file already, or -errno.
 */
int import_store_begin(struct import_store *store, const struct trace_file *file, const char *kind,
	const char *source);
int import_store_commit(struct import_store *store);
/* Undoes all that was written since import_store_begin(). */
int import_store_rollback(struct import_store *store);

/* Returns the session of a process whose times count from @clock; the first call makes it. */
int import_store_session(struct import_store *store, enum import_clock clock, int64_t *ret_id);
/* Extends the session to contain these times. */
void import_store_stretch(
	struct import_store *store, enum import_clock clock, int64_t first_ns, int64_t last_ns);

/* Return the row ids of texts of the file, which are cut at 64 KiB. */
int import_store_text(struct import_store *store, const char *text, size_t length, int64_t *ret_id);
int import_store_kernel(
	struct import_store *store, const char *name, size_t length, int64_t *ret_id);

/* Sets @store->error to what SQLite reports, unless @r is no error. Returns @r. */
int import_store_fail(struct import_store *store, int r);

static inline void import_bind(sqlite3_stmt *statement, int index, bool has, int64_t value)
{
	database_bind_optional(statement, index, has, value);
}
