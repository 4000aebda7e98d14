/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Sorts events that come nearly in the order of their starts, in bounded memory: a number of them
 * is held back. Events that come later than that allows are detected, and the caller must read
 * again with sorted rows. Pure functions; one thread.
 */
#include "cli/trace/breakdown.h"

struct reorder {
	struct breakdown_event *held;
	size_t count, capacity, limit;
	bool is_sorted; /* set by the caller: events come in order, and none is too late */
	bool is_unsorted;
	bool is_inexact; /* an event came too late, and was left out */
	bool has_floor;
	int64_t floor_ns; /* start of the last event that was passed on */
};

void reorder_init(struct reorder *reorder, size_t limit);
void reorder_done(struct reorder *reorder);
/* Returns 0 or what breakdown_add() returns. */
int reorder_add(
	struct reorder *reorder, const struct breakdown_event *event, struct breakdown *breakdown);
/* Passes on all events that are held. */
int reorder_flush(struct reorder *reorder, struct breakdown *breakdown);
