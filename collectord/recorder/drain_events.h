/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Stores what the rings of host-side events still hold (docs/recorder.md, 8). Part of a drain: runs
 * after the cells, in the same transaction. Store thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collectord/recorder/reader.h"
#include "collectord/db/rows/writer.h"

struct event_found;
struct event_run;
struct process;

/* Entries that are read and sorted at a time. To examine one costs an eighth of storing one. */
#define DRAIN_EVENTS_CHUNK	      1024u
#define DRAIN_EVENTS_LOOKS_PER_RECORD 8u

/* The progress of the drain through the rings. All zero: nothing was read yet. */
struct drain_events {
	unsigned ring; /* the current ring */
	const struct recorder_region *region;
	uint32_t used;	  /* only its first entries were ever written */
	uint32_t read;	  /* entries copied, ... */
	uint32_t looked;  /* ... and entries examined */
	uint8_t *entries; /* the copy */
	struct event_found *found;
	uint32_t count;
	struct event_run *runs; /* one for each chunk, each sorted */
	uint32_t run_count;
};

/*
 * Stores one event, or reads a chunk of the next ring; *@ret_records says how many records that
 * costs. @is_alive: the process goes on writing meanwhile. 1: call again; 0: nothing is left.
 * -EBADMSG: the recorder is cut off; -ENOMEM or database_errno().
 */
int drain_events_take(struct drain_events *drain, struct writer *writer, struct process *process,
	const struct recorder_reader *reader, bool is_alive, uint64_t *ret_records);
void drain_events_done(struct drain_events *drain);
