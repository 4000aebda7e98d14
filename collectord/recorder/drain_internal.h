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

	struct recorder_queue *queues; /* header.queues_used elements */
	uint64_t queue_count;
	struct recorder_cell *cell, *after; /* both in one allocation */
	uint64_t last_unreadable;    /* number of the last frame if it cannot be read; else 0 */
	struct recorder_slot *slots; /* with is_alive all slots, else a chunk of them */
	uint64_t slots_to;	     /* number of slots read */
	uint64_t slot_count;
	uint32_t *flights; /* with is_alive: hash of used slots, index + 1; 0: free */
	size_t flights_mask;
};

/* drain_slots.c: stores the records that are in no frame */
/* Copies the slots of a living process. A record never moves to another slot. */
int drain_copy_slots(struct drain *drain);
int drain_take_slots(struct drain *drain);
/* The dispatches in the frame @d are not in flight any more. */
void drain_forget_flights(struct drain *drain, const Rtl__Dispatches *d);
void drain_slots_done(struct drain *drain);
