/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A database that cannot be written: its transaction is rolled back and tried again, the sessions
 * are told, and in the end data is given up and counted as lost. Store thread.
 *
 *   a commit fails        ROLLBACK; its commands come again after 10 ms .. 1 s
 *   it is damaged         goes aside (quarantine.c), and another file takes its name
 *   the disk is full      the reserve is freed, and the commands under way use it; then records
 *                         wait (in their recorders) until there is room for the reserve again
 *   a process ends        its end waits give_up_ns of the trouble; then its unstored records are
 *                         counted as dropped_disk_full or dropped_db_error, in the room that the
 *                         reserve has left
 *   not even that fits    after as long again its end is not written: the tail is unknown
 */
#include "collectord/store/internal.h"

/* Loses nothing of the transaction: its commands are kept and come again. */
void trouble_roll_back(struct store_database *database);

/* Called when a commit or a step has failed. */
void trouble_fail(struct store *store, struct store_database *database, int error);

/* Delays the next try, each time longer. */
void trouble_pause(struct store_database *database);

/* Called when a commit has succeeded: ends the trouble, unless there is still no room on the
 * disk. */
void trouble_over(struct store *store, struct store_database *database);

/* True if there is no room for what @command would write; not_before_ns is set. */
bool trouble_must_wait(
	struct store *store, struct store_database *database, const struct command *command);

/*
 * Gives up what has waited too long. Returns NULL, or the session whose end cannot be written,
 * which close_unwritten() ends.
 */
struct store_session *trouble_give_up(struct store *store, struct store_database *database);
