/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Determines whether a session is complete. It is summed from the database, so that it does not
 * depend on anything in memory. Store thread.
 */
#include "collectord/db/rows/writer.h"
#include "proto/names/completeness.h"

#include <sys/types.h>

/*
 * @session_id 0: all sessions of the file. @is_live: the session is not closed. database_errno().
 */
int verdict_read(struct writer *writer, int64_t session_id, bool is_live, struct completeness *ret);

/*
 * Checks the whole file, in the open transaction: rows that the ledger counts but the table lacks
 * become a loss, rows_missing. Reads every row. -EUCLEAN: some cannot be read; database_errno().
 */
int verdict_count_rows(struct writer *writer);

/*
 * For a session during which the collector did not listen for a time: records the loss "unwatched"
 * if a rank is missing. Without @is_new it may have been recorded before, and is deleted if the
 * ranks have come since. database_errno().
 */
int verdict_put_unwatched(struct writer *writer, int64_t session_id, bool is_new);

/* Counts further processes of the file that could not be recorded, in the open transaction. */
int verdict_add_unseen(struct writer *writer, unsigned processes, uid_t uid);

/* Writes the line, the verdict and "simulated" to rtl_meta. */
int verdict_save(struct writer *writer, const struct completeness *completeness);
