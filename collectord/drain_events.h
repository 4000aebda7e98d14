/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What the rings of host-side events still hold (docs/recorder.md, 8): part of a drain, after
 * the cells and in the same transaction. Store thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collectord/recorder_reader.h"
#include "collectord/writer.h"

struct event_found;
struct process;

/* How far it got. All zero: nothing was read yet. */
struct drain_events {
	unsigned ring; /* that is under way */
	const struct recorder_region *region;
	uint32_t used;	  /* its first entries: no others were ever taken */
	uint8_t *entries; /* a copy of them */
	struct event_found *found;
	uint32_t count;
	uint32_t at; /* the next one found */
};

/*
 * One event, or the next ring is read. @is_alive: its writer goes on meanwhile. 1: go on; 0: that
 * was all. -EBADMSG: the recorder is cut off; -ENOMEM or database_errno().
 */
int drain_events_take(struct drain_events *drain, struct writer *writer, struct process *process,
	const struct recorder_reader *reader, bool is_alive);
void drain_events_done(struct drain_events *drain);
