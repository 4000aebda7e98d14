/* SPDX-License-Identifier: MIT */
#pragma once
/* Declarations that only the files of a drain share. Store thread. */
#include "collectord/recorder/drain.h"
#include "collectord/recorder/drain_events.h"
#include "collectord/recorder/counters.h"

struct drain {
	struct writer *writer;
	struct process *process;
	struct recorder_reader reader;
	bool is_alive;
	unsigned phase;	   /* the current phase */
	uint64_t left;	   /* records that this slice may still take, ... */
	uint64_t until_ns; /* ... and its end, CLOCK_MONOTONIC */

	struct recorder_queue *queues; /* header.queues_used elements */
	uint64_t queue_count;
	struct recorder_log defines;
	struct recorder_cell *cell, *after; /* both in one allocation */
	uint32_t cells_passed;
	uint64_t last_unreadable;    /* number of the last frame if it cannot be read; else 0 */
	struct recorder_slot *slots; /* with is_alive all slots, else a chunk of them */
	uint64_t slots_to;	     /* number of slots read */
	uint32_t shape_at;	     /* the next shape to keep */
	uint64_t slot_at;	     /* the next slot to store */
	uint64_t slot_count;
	uint32_t *flights; /* with is_alive: hash of used slots, index + 1; 0: free */
	size_t flights_mask;
	uint64_t queue_at; /* the next queue whose counters are taken */
	struct drain_events events;
};

/* Charges the slice for @records. True: the slice is over. */
bool drain_spend(struct drain *drain, uint64_t records);

/* drain_slots.c: stores the records that are in no frame */
int drain_begin_slots(struct drain *drain);
/* Phases. The slots of a living process are copied before anything else is read. A slot's record
 * may be in a frame by the time the cells are read; it is then not in flight. A record never moves
 * to another slot. */
int drain_copy_slots(struct drain *drain);
/* A slot holds the values of its shape but no id, so the shapes of the frames are kept for
 * look-up. */
int drain_keep_shapes(struct drain *drain);
int drain_take_slots(struct drain *drain);
/* The dispatches in the frame @d are not in flight any more. */
void drain_forget_flights(struct drain *drain, const Rtl__Dispatches *d);
void drain_slots_done(struct drain *drain);
