/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What the rings of host-side events still hold (docs/recorder.md, 8): part of a drain, after
 * the cells and in the same transaction. Store thread.
 */
#include <stdbool.h>

#include "collectord/recorder_reader.h"
#include "collectord/writer.h"

struct process;

/* @is_alive: its writer goes on meanwhile. -EBADMSG: the recorder is cut off; -ENOMEM or
 * database_errno(). */
int drain_events(struct writer *writer, struct process *process,
	const struct recorder_reader *reader, bool is_alive);
