/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The intervals in which a process recorded, from its definitions into rtl_recording. They come
 * whole with every connection and once more at its death: what is there already stays as it is.
 * Store thread, in the open transaction.
 */
#include "collectord/ingest/process.h"

/* After a ROLLBACK, and at the start. database_errno(). */
int recording_reload(struct writer *writer, struct process *process);

/* 0; -EBADMSG: out of bounds, or more than RECORDINGS_MAX; database_errno(). */
int recording_take(struct writer *writer, struct process *process, const Rtl__Defines *defines);
