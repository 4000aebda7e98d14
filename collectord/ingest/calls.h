/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Stores host calls and collectives in rtl_call_base and rtl_collective_base, in the open
 * transaction: from frames, and from the entries of a dead process's recorder. Store thread.
 */
#include "collectord/ingest/ingest.h"
#include "proto/recorder/layout.h"

/*
 * As ingest_frame(): returns 0; -EBADMSG with @why, before the first row; -ENOMEM or
 * database_errno().
 */
int ingest_host_calls(struct writer *writer, struct process *process, const Rtl__HostCalls *calls,
	char why[INGEST_WHY_BYTES]);
int ingest_collectives(struct writer *writer, struct process *process,
	const Rtl__Collectives *collectives, char why[INGEST_WHY_BYTES]);

/*
 * Stores an entry of the recorder, RECORDER_CALL_HOST or RECORDER_CALL_COLLECTIVE. Returns 0;
 * -EBADMSG if it is not valid; -ENOMEM or database_errno().
 */
int ingest_call_entry(
	struct writer *writer, struct process *process, const struct recorder_call *entry);
