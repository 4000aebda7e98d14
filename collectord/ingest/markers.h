/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Markers of one process into rows, from a frame or from the ring of its recorder. Store
 * thread; in the open transaction.
 */
#include "collectord/ingest/ingest.h"
#include "proto/recorder/layout.h"

/* A frame, whole or not at all. -EBADMSG and @why; -ENOMEM or database_errno(). */
int ingest_markers(struct writer *writer, struct process *process, const Rtl__Markers *markers,
	char why[INGEST_WHY_BYTES]);

/* One entry of the ring. -EBADMSG: it makes no sense. */
int ingest_marker_event(
	struct writer *writer, struct process *process, const struct recorder_marker *marker);
