/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Is a session complete? Summed from its database, so that nothing in memory can be forgotten.
 * Store thread.
 */
#include "collectord/db/writer.h"
#include "proto/names/completeness.h"

/* @session_id 0: of all sessions in the file. @is_live: not closed. database_errno(). */
int verdict_read(struct writer *writer, int64_t session_id, bool is_live, struct completeness *ret);

/*
 * Of the whole file, in the open transaction: what the ledger has and the table does not becomes
 * a loss, rows_missing. Reads every row. -EUCLEAN: not all can be read; database_errno().
 */
int verdict_count_rows(struct writer *writer);

/*
 * Of a session for which for a time nobody listened: whether some rank is missing, "unwatched". Not
 * @is_new: it may have been said before, and they have come. database_errno().
 */
int verdict_put_unwatched(struct writer *writer, int64_t session_id, bool is_new);

/* In the open transaction: so many more processes of the file could not be recorded. */
int verdict_add_unseen(struct writer *writer, unsigned processes, uid_t uid);

/* Puts the line, the verdict and "simulated" into rtl_meta. */
int verdict_save(struct writer *writer, const struct completeness *completeness);
