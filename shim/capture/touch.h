/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Which memory of the capture is about to be used for the first time, and is touched before, by one
 * call (ahead.h) in place of a fault for each page: these are what a flood by a new process costs,
 * on a virtual machine mostly.
 */
#include <stdbool.h>
#include <stdint.h>

#include "shim/capture/capture_internal.h"

/* Notes of who submits far ahead, of queues whose dispatches are recorded now. A pass of the shim's
 * thread. */
void touch_notes(struct capture *c);

/* So many are in flight that lots are used as soon as they are made. */
bool touch_is_flood(const struct capture *c);
/* A lot that nobody has used and somebody will now. The shim's thread. */
void touch_lot(struct capture *c, slot_ref first, uint32_t count);

/* The cells of the frames that so many records will be in. Takes the harvest lock for a moment. */
void touch_cells(struct capture *c, uint32_t records);

/* The cell of the next frame, of so many @records. Holder of the harvest lock; not a dispatch. */
void touch_cell(const struct capture *c, uint32_t records);
