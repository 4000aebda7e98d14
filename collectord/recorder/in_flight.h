/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Scans what a living process has in flight, to show what hangs and in which kernel. A scan reads
 * the counters of the recorder (some KiB). It reads the slots only if a queue with work in flight
 * has not advanced since the scan before, or if a client asks. The rows stay in rtl_in_flight until
 * the dispatches end. Store thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collectord/ingest/process/process.h"

struct in_flight {
	int memfd;	    /* the recorder; -1: there is none */
	bool may_have_rows; /* in rtl_in_flight */
	uint64_t *finished; /* by queue, as the scan before saw it */
	uint64_t queues;
};

/* Takes ownership of @memfd. */
void in_flight_init(struct in_flight *watch, int memfd);
void in_flight_done(struct in_flight *watch);

/*
 * Called in an open transaction, or opens one; process_save() follows. @is_asked: stores all
 * dispatches in flight, however short. An invalid recorder counts as having nothing in flight; the
 * drain reports it. 1: something was written; 0: nothing was; -ENOMEM or database_errno(): the
 * caller rolls back.
 */
int in_flight_look(struct in_flight *watch, struct writer *writer, struct process *process,
	bool is_asked);

/* Deletes the rows of a process that was drained; rtl_outstanding has its dispatches.
 * database_errno(). */
int in_flight_forget(struct writer *writer, int64_t process_id);
