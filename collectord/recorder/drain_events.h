/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What the rings of host-side events still hold (docs/recorder.md, 8): part of a drain, after
 * the cells and in the same transaction. Store thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collectord/recorder/reader.h"
#include "collectord/db/writer.h"

struct event_found;
struct event_run;
struct process;

/* So many entries are read at a time, and sorted: to look at one is a small part of storing one. */
#define DRAIN_EVENTS_CHUNK	      1024u
#define DRAIN_EVENTS_LOOKS_PER_RECORD 8u

/* How far it got. All zero: nothing was read yet. */
struct drain_events {
	unsigned ring; /* that is under way */
	const struct recorder_region *region;
	uint32_t used;	  /* its first entries: no others were ever taken */
	uint32_t read;	  /* so many of them are copied, ... */
	uint32_t looked;  /* ... and looked at */
	uint8_t *entries; /* the copy */
	struct event_found *found;
	uint32_t count;
	struct event_run *runs; /* of found: each chunk's, in order */
	uint32_t run_count;
};

/*
 * One event, or a chunk of the next ring is read: *@ret_records says what that is worth.
 * @is_alive: its writer goes on meanwhile. 1: go on; 0: that was all. -EBADMSG: the recorder is cut
 * off; -ENOMEM or database_errno().
 */
int drain_events_take(struct drain_events *drain, struct writer *writer, struct process *process,
	const struct recorder_reader *reader, bool is_alive, uint64_t *ret_records);
void drain_events_done(struct drain_events *drain);
