/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A database that cannot take what it should: rolled back, tried again, said, and in the end
 * given up, with everything that is lost by that in the books. Store thread.
 *
 *   a commit fails        ROLLBACK; its commands come again after 10 ms .. 1 s
 *   it is damaged         goes aside (quarantine.c), and another file takes its name
 *   the disk is full      the reserve is freed, what was under way is done with it; then records
 *                         wait (in their recorders) until there is room for the reserve again
 *   who ends meanwhile    waits give_up_ns of the trouble; then its unstored records are counted,
 *                         dropped_disk_full or dropped_db_error, in the room that the reserve has
 *                         left. Not while half a drain is stored: that disk works
 *   not even that fits    after as long again its end is not written: the tail is unknown
 */
#include "collectord/store/internal.h"

/* Nothing of the transaction is lost: its commands are kept and come again. */
void trouble_roll_back(struct store_database *database);

/* A commit or a step has failed. */
void trouble_fail(struct store *store, struct store_database *database, int error);

/* The next try is later, and later each time. */
void trouble_pause(struct store_database *database);

/* A commit has succeeded: the trouble before it, if any, is over unless there is still no room. */
void trouble_over(struct store *store, struct store_database *database);

/* There is no room for what @command would write: not_before_ns is set. */
bool trouble_must_wait(
	struct store *store, struct store_database *database, const struct command *command);

/* Gives up what has waited too long. True: @database is closed and gone. */
bool trouble_give_up(struct store *store, struct store_database *database);
