/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Stores asynchronous copies in rtl_copy_base, in the open transaction: from frames, and from the
 * entries of a dead process's recorder. The times of a copy arrive later, in a record of their own.
 * Store thread.
 */
#include "collectord/ingest/ingest.h"
#include "proto/recorder/layout.h"

/* Stores a frame like ingest_frame(): returns 0; -EBADMSG with @why, before the first row;
 * database_errno(). */
int ingest_copies(struct writer *writer, struct process *process, const Rtl__Copies *copies,
	char why[INGEST_WHY_BYTES]);

/*
 * Stores an entry of the recorder, RECORDER_CALL_COPY or RECORDER_CALL_COPY_TIMES. Returns 0;
 * -EBADMSG if it is not valid; database_errno().
 */
int ingest_copy_entry(
	struct writer *writer, struct process *process, const struct recorder_call *entry);
