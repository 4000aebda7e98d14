/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Stores the intervals in which a process recorded, from its definitions, in rtl_recording. All of
 * them are sent with every connection and once more at its death; existing rows do not change.
 * Store thread, in the open transaction.
 */
#include "collectord/ingest/process/process.h"

/* Called after a ROLLBACK and at the start. database_errno(). */
int recording_reload(struct writer *writer, struct process *process);

/* Returns 0; -EBADMSG: out of range, or more than RECORDINGS_MAX; database_errno(). */
int recording_take(struct writer *writer, struct process *process, const Rtl__Defines *defines);
