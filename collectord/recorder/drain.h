/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Drains a recorder: stores what it holds beyond the frames that came over the socket.
 * docs/recorder.md has the rules and explains why each record is stored once. The caller wraps the
 * drain in one transaction together with hw_frame and `drained`. Store thread.
 */
#include "collectord/ingest/process/process.h"

/*
 * Stores all of it. @memfd is borrowed. With @is_alive the process still writes: the dispatches
 * that were in flight at one moment are stored as outstanding, and the process must not come back.
 * 0: also when the recorder is invalid; then process->is_drained stays false and the ledger says
 * why. -ENOMEM or database_errno(): the caller rolls back.
 */
int drain_recorder(struct writer *writer, struct process *process, int memfd, bool is_alive);

/*
 * Replaces a drain when no more records can be stored: reads only the counters, and counts all
 * missing records as lost to @why. Errors as drain_recorder().
 */
int drain_give_up(struct writer *writer, struct process *process, int memfd, enum ledger_loss why);
