/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Stores markers of one process as rows, from a frame or from the ring of its recorder. Store
 * thread; in the open transaction.
 */
#include "collectord/ingest/ingest.h"
#include "proto/recorder/layout.h"

/* Takes a frame, whole or not at all. -EBADMSG with @why; -ENOMEM or database_errno(). */
int ingest_markers(struct writer *writer, struct process *process, const Rtl__Markers *markers,
	char why[INGEST_WHY_BYTES]);

/* Takes one entry of the ring. -EBADMSG if it is not valid. */
int ingest_marker_event(
	struct writer *writer, struct process *process, const struct recorder_marker *marker);
