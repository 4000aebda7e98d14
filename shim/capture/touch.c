// SPDX-License-Identifier: MIT
#include "shim/capture/touch.h"

#include "shim/base/ahead.h"
#include "shim/capture/tables/submitter.h"

#define FLOOD_SLOTS	   RECORDER_SLOT_CHUNK
/* Bytes of a frame and of each record. A frame of few records takes a page or two. */
#define FRAME_BYTES	   512u
#define FRAME_RECORD_BYTES 19u
#define FRAME_RECORDS_FEW  256u

void touch_notes(struct capture *c)
{
	uint32_t used = recorder_queues_used(&c->recorder);

	for (uint32_t i = 0; i < used; i++) {
		struct capture_queue *q = &c->queues[i];
		uint64_t taken = atomic_load_explicit(&q->taken, memory_order_relaxed);

		if (taken != q->taken_seen)
			origins_touch(c->walks->origins_of(c, i));
		q->taken_seen = taken;
	}
}

bool touch_is_flood(const struct capture *c)
{
	return capture_pending(c) >= FLOOD_SLOTS;
}

void touch_lot(struct capture *c, slot_ref first, uint32_t count)
{
	recorder_slots_touch(&c->recorder, first - 1, count);
}

void touch_cell(const struct capture *c, uint32_t records)
{
	/* Later frames use cells that were used before. */
	if (records >= FRAME_RECORDS_FEW && c->recorder.open_frame <= RECORDER_CELLS)
		ahead_all(recorder_cell_bytes(&c->recorder, c->recorder.open_frame),
			FRAME_BYTES + records * FRAME_RECORD_BYTES);
}
