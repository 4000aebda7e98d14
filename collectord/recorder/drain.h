/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Drains a recorder: stores what it holds beyond the frames that came over the socket.
 * docs/recorder.md has the rules and explains why each record is stored once. The caller wraps the
 * drain in one transaction together with hw_frame and `drained`. The transaction stays open while
 * other databases have their turn between two slices. A rollback ends the drain, and the caller
 * begins a new one. Store thread.
 */
#include "collectord/ingest/process/process.h"

struct drain;

/* Returned by drain_go_on() when there is more to read. */
#define DRAIN_MORE     1
/* A slice ends after DRAIN_SLICE_RECORDS records, or after this time if single records are
 * expensive (such as a name of 16 KiB that has to be demangled). Another user's frame may wait this
 * long. */
#define DRAIN_SLICE_NS 5000000u

/*
 * @memfd is borrowed until drain_free(). With @is_alive the process still writes: the dispatches
 * that were in flight at one moment are stored as outstanding, and the process must not come back.
 * -ENOMEM.
 */
int drain_new(struct writer *writer, struct process *process, int memfd, bool is_alive,
	struct drain **ret);

/*
 * Runs one slice. DRAIN_MORE: call again. 0: the drain is over, also when the recorder is invalid:
 * then process->is_drained stays false and the ledger says why. -ENOMEM or database_errno(): the
 * caller rolls back and begins a new drain.
 */
int drain_go_on(struct drain *drain);

/* What the drain has put into the transaction stays in it. Returns NULL. */
struct drain *drain_free(struct drain *drain);

/*
 * Replaces a drain when no more records can be stored: reads only the counters, and counts all
 * missing records as lost to @why. Runs in one call; errors as drain_go_on().
 */
int drain_give_up(struct writer *writer, struct process *process, int memfd, enum ledger_loss why);
