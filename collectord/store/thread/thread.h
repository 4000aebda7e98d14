/* SPDX-License-Identifier: MIT */
#pragma once
/* What the files of the store thread share: its queue, its turns, and the commands that it runs. */
#include <stdbool.h>
#include <stdint.h>

#include "collectord/store/internal.h"

/* store.c */
/* Takes ownership of @command; NULL gives -ENOMEM. Loop thread. */
int store_post(struct store *store, struct command *command);
/* Called with the lock held. The first tells whether the queue holds something that ends the wait
 * of the store thread; the second wakes the thread if so. */
bool store_has_work_locked(const struct store *store);
void store_wake_locked(struct store *store);
/*
 * CLOCK_MONOTONIC until which frames alone, while they are few, do not wake the store thread; 0:
 * they do. @until_ns: when it wakes anyway. @is_flood: frames follow each other closely.
 */
uint64_t store_doze_end(const struct store *store, uint64_t until_ns, bool is_flood);

/* scheduler.c */
/* Puts the command into the queue of its database, or of its session while that waits. */
void turns_route(struct store *store, struct command *command);
/* Opens one session and gives each database one turn. */
void turns_round(struct store *store);
/* Does all that is left, before the end of the store. */
void turns_finish(struct store *store);
/* True if some session can be opened now. */
bool turns_has_opens(struct store *store);

/* requests.c */
/* Makes a handle without a command to open it. -ENOMEM, -EINVAL. */
int store_session_new(struct store *store, const struct store_session_params *params, void *owner,
	struct store_session **ret);

/* commands.c */
/*
 * Does what can be done now, in a turn of bounded length. @is_last: does everything, and waits for
 * nothing. True: it made a step.
 */
bool work_database(struct store *store, struct store_database *database, bool is_last);

/* in_flight_poll.c */
/* CLOCK_MONOTONIC of the next scan; UINT64_MAX: no process is to be scanned. */
uint64_t scan_next_ns(const struct store_database *database);
/*
 * Scans what is in flight, if that is due or a client asks. The next commit stores what it finds.
 * 0, STEP_UNDONE.
 */
int scan_in_flight(struct store *store, struct store_database *database, bool is_asked);

/* recover.c: continues what an earlier run of the collector left open. */
void recover_sessions(struct store *store, const char *path);
/* Makes @database, which no session continues, one file. True: it is closed; else it is retried. */
bool recover_seal(struct store *store, struct store_database *database, bool is_last);
/* Answers which processes of @session have not ended. database_errno(). */
int recover_processes(struct store_session *session);
/* Answers CONTROLS if controls were stored in this boot. */
int recover_controls(struct store_session *session);
/* Runs a command like the functions of close_session.c. */
int recover_end_process(
	struct store *store, struct store_database *database, const struct command *command);
