/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Handles frames of a tenant that is over its quota: they are checked as if they were stored, then
 * counted instead. Their frame numbers count as taken, in the same transaction. Store thread.
 */
#include "collectord/ingest/ingest.h"

/* Number of records for which a numbered frame is charged. */
uint64_t ingest_quota_records(const Rtl__Frame *frame);

/*
 * Returns 0 if all its records are counted; -EBADMSG if it is not valid; -ENOMEM: the caller rolls
 * back.
 */
int ingest_quota_drop(struct process *process, const Rtl__Frame *frame, char why[INGEST_WHY_BYTES]);
