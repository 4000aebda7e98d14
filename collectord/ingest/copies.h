/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Asynchronous copies into rtl_copy_base, in the open transaction: from frames and from the
 * entries of a dead process's recorder. Their times come apart, and later. Store thread.
 */
#include "collectord/ingest/ingest.h"
#include "proto/recorder/layout.h"

/* As ingest_frame(): 0; -EBADMSG and @why, before the first row; database_errno(). */
int ingest_copies(struct writer *writer, struct process *process, const Rtl__Copies *copies,
	char why[INGEST_WHY_BYTES]);

/*
 * An entry of the recorder, RECORDER_CALL_COPY or RECORDER_CALL_COPY_TIMES. 0; -EBADMSG: it makes
 * no sense; database_errno().
 */
int ingest_copy_entry(
	struct writer *writer, struct process *process, const struct recorder_call *entry);
