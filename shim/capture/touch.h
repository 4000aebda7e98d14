/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Populates memory of the capture that is about to be used for the first time, with one call
 * (ahead.h) in place of a page fault for each page. On a virtual machine those faults are most of
 * what the first burst of a new process costs.
 */
#include <stdbool.h>
#include <stdint.h>

#include "shim/capture/capture_internal.h"

/*
 * Notes of queues whose submitting threads are far ahead of the walk and whose dispatches are
 * recorded. Called in a pass of the shim thread.
 */
void touch_notes(struct capture *c);

/* Whether so many dispatches are in flight that lots are used as soon as they are made. */
bool touch_is_flood(const struct capture *c);
/* Populates a lot that was never used and is about to be. Shim thread. */
void touch_lot(struct capture *c, slot_ref first, uint32_t count);

/*
 * Populates the cell of the next frame, which will have @records. Holder of the harvest lock, not
 * on the dispatch path.
 */
void touch_cell(const struct capture *c, uint32_t records);
