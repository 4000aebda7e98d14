/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The last words of a process: what its recorder holds beyond the frames that came over the
 * socket. docs/recorder.md has the rules, and why each record is stored once. The caller wraps
 * it in one transaction, with hw and `drained`. Store thread.
 */
#include "collectord/process.h"

/*
 * @memfd is borrowed. With @is_alive the process still writes: what was in flight at one moment
 * is stored as outstanding, and it must not come back.
 * 0, also when the recorder cannot be believed: then process->is_drained stays false and the
 * books say why. -ENOMEM or database_errno(): roll back and try again.
 */
int drain_process(struct writer *writer, struct process *process, int memfd, bool is_alive);

/*
 * Instead, when nothing more can be stored: only the counters are read, and all that they say is
 * missing is lost to @why. As drain_process() otherwise.
 */
int drain_give_up(struct writer *writer, struct process *process, int memfd, enum ledger_loss why);
