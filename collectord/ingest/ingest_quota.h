/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Frames of a tenant that is over its quota: checked as if they were stored, then counted instead.
 * Their numbers count as taken, in the same transaction. Store thread.
 */
#include "collectord/ingest/ingest.h"

/* What a numbered frame is charged for. */
uint64_t ingest_quota_records(const Rtl__Frame *frame);

/* 0: all its records are counted. -EBADMSG: it makes no sense; -ENOMEM: roll back. */
int ingest_quota_drop(struct process *process, const Rtl__Frame *frame, char why[INGEST_WHY_BYTES]);
