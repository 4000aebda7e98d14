/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Stores what the rings of host-side events still hold (docs/recorder.md, 8). Part of a drain: runs
 * after the cells, in the same transaction. Store thread.
 */
#include <stdbool.h>

#include "collectord/recorder/reader.h"
#include "collectord/db/rows/writer.h"

struct process;

/*
 * Stores every event that is in no frame. @is_alive: the process goes on writing meanwhile.
 * -EBADMSG: the recorder is cut off; -ENOMEM or database_errno().
 */
int drain_events_take(struct writer *writer, struct process *process,
	const struct recorder_reader *reader, bool is_alive);
