/* SPDX-License-Identifier: MIT */
#pragma once
/* What the files of a drain share, and nobody else includes. Store thread. */
#include "collectord/recorder/drain.h"
#include "collectord/recorder/drain_events.h"
#include "collectord/recorder/counters.h"

struct drain {
	struct writer *writer;
	struct process *process;
	struct recorder_reader reader;
	bool is_alive;
	unsigned phase;	   /* that is under way */
	uint64_t left;	   /* records of this slice, ... */
	uint64_t until_ns; /* ... and its end, CLOCK_MONOTONIC */

	struct recorder_queue *queues; /* header.queues_used of them */
	uint64_t queue_count;
	struct recorder_log defines;
	struct recorder_cell *cell, *after; /* one piece of memory */
	uint32_t cells_passed;
	uint64_t last_unreadable;    /* number of the last frame, when it is; else 0 */
	struct recorder_slot *slots; /* with is_alive all, else a chunk */
	uint64_t slots_to;	     /* so many were read */
	uint32_t shape_at;	     /* the next one to be kept */
	uint64_t slot_at;	     /* the next one to be stored */
	uint64_t slot_count;
	uint32_t *flights; /* only with is_alive: those in use, plus one, by hash; 0: an empty place
			    */
	size_t flights_mask;
	uint64_t queue_at; /* the next one whose books are taken */
	struct drain_events events;
};

/* So much was done. True: somebody else's turn. */
bool drain_spend(struct drain *drain, uint64_t records);

/* drain_slots.c: what is in no frame */
int drain_begin_slots(struct drain *drain);
/* Phases. Of a living process all are copied before anything else is read: one may be in a frame
 * when that is come to, and then it is not in flight; none moves to another slot. */
int drain_copy_slots(struct drain *drain);
/* A slot says what its shape is, not which: what its frames brought is found then. */
int drain_keep_shapes(struct drain *drain);
int drain_take_slots(struct drain *drain);
/* What is in the frame @d is not in flight. */
void drain_forget_flights(struct drain *drain, const Rtl__Dispatches *d);
void drain_slots_done(struct drain *drain);
