/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The last words of a process: what its recorder holds beyond the frames that came over the
 * socket. docs/recorder.md has the rules, and why each record is stored once. The caller wraps
 * it in one transaction, with hw and `drained`, which stays open while others have their turn
 * between two slices: a rollback is the end of the drain, and it begins anew. Store thread.
 */
#include "collectord/ingest/process.h"

struct drain;

/* What drain_go_on() says when there is more to read. */
#define DRAIN_MORE     1
/* A slice ends after DRAIN_SLICE_RECORDS, or after so long where single ones are dear (a name of
 * 16 KiB to be demangled): what another user's frame may wait for. */
#define DRAIN_SLICE_NS 5000000u

/*
 * @memfd is borrowed until drain_free(). With @is_alive the process still writes: what was in
 * flight at one moment is stored as outstanding, and it must not come back. -ENOMEM.
 */
int drain_new(struct writer *writer, struct process *process, int memfd, bool is_alive,
	struct drain **ret);

/*
 * A slice of it. DRAIN_MORE; 0: that was the last, also when the recorder cannot be believed: then
 * process->is_drained stays false and the books say why. -ENOMEM or database_errno(): roll back
 * and begin anew.
 */
int drain_go_on(struct drain *drain);

/* What it has put into the transaction stays there. Returns NULL. */
struct drain *drain_free(struct drain *drain);

/*
 * Instead, when nothing more can be stored: only the counters are read, and all that they say is
 * missing is lost to @why. In one go; as drain_go_on() otherwise.
 */
int drain_give_up(struct writer *writer, struct process *process, int memfd, enum ledger_loss why);
