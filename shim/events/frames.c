// SPDX-License-Identifier: MIT
#include "shim/events/frames.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "proto/base/fault.h"
#include "proto/base/limits.h"
#include "proto/wire/msg.h"
#include "shim/capture/frames.h"
#include "shim/capture/capture.h"
#include "shim/events/events.h"
#include "shim/capture/pacing.h"

/*
 * Events from before the recorder are published first. If one of them was never completed, later
 * events wait for it no longer than this.
 */
#define EARLY_WAIT_NS 1000000000u
#define KINDS	      ((uint32_t)RECORDER_CALL_KINDS)

/* Markers are kind 0; the others are enum recorder_call_kind. */
static const struct event_encoder *const encoders[KINDS] = {
	&event_markers,
	[RECORDER_CALL_HOST] = &event_host_calls,
	[RECORDER_CALL_COLLECTIVE] = &event_collectives,
	[RECORDER_CALL_COPY] = &event_copies,
};

/* Entries of one kind, collected for a frame. */
struct event_pick {
	const struct event_ring *ring;
	const struct event_encoder *encoder;
	struct recorder_event *event[EVENT_FRAME_RECORDS_MAX];
	uint32_t n;	/* entries collected */
	uint32_t taken; /* of those, the first ones that are in `frame` */
	Rtl__Frame *frame;
};

static struct event_frames {
	struct capture *capture;
	struct strings *strings;
	struct event_pick pick[KINDS];
	struct pace pace;
	uint64_t seen[RECORDER_RINGS]; /* tails at the last run */
	uint64_t since_ns;	       /* start of the wait of a partial frame; 0 if none waits */
	uint64_t early_until_ns;       /* 0 once all early events are published */
} frames;

static uint32_t kind_of(const struct event_ring *ring, const struct recorder_event *event)
{
	uint32_t kind;

	if (ring->stride == sizeof(struct recorder_marker))
		return 0;
	kind = ((const struct recorder_call *)(const void *)event)->kind;
	/* In the frames of copies, so that times cannot overtake their copy. */
	if (kind == RECORDER_CALL_COPY_TIMES)
		return RECORDER_CALL_COPY;
	/* A stray write of the program may have changed it. */
	return kind < KINDS ? kind : 0;
}

/* ---- one frame ------------------------------------------------------------------------------ */

static size_t frame_pack(void *context, uint64_t number, uint8_t *at, size_t room)
{
	struct event_pick *pick = context;

	pick->frame->has_number = 1;
	pick->frame->number = number;
	return msg_packed_bytes(pick->frame) <= room ? msg_pack(pick->frame, at) : 0;
}

static void frame_label(void *context, uint64_t number)
{
	struct event_pick *pick = context;

	for (uint32_t i = 0; i < pick->taken; i++) {
		atomic_store_explicit(&pick->event[i]->frame, number, memory_order_release);
		if (i == pick->taken / 2)
			FAULT_POINT("event_mid_label");
	}
}

static void frame_release(void *context)
{
	struct event_pick *pick = context;

	for (uint32_t i = 0; i < pick->taken; i++) {
		event_ring_give_back(pick->ring, pick->event[i]);
		if (i == pick->taken / 2)
			FAULT_POINT("event_mid_free");
	}
}

/* Returns 0, or -EAGAIN if no cell is free. */
static int frame_put(struct event_pick *pick)
{
	struct batch_frame frame = {frame_pack, frame_label, frame_release, pick, 0};
	int r;

	pick->taken = pick->n;
	do {
		pick->frame =
			pick->encoder->build((const struct recorder_event *const *)pick->event,
				pick->taken, frames.strings);
		frame.records = pick->taken;
		r = batch_put_frame(frames.capture, &frame);
		if (r == -EMSGSIZE)
			pick->taken /= 2;
	} while (r == -EMSGSIZE && pick->taken);
	if (r)
		return r;
	pick->n -= pick->taken;
	memmove(pick->event, pick->event + pick->taken, pick->n * sizeof(pick->event[0]));
	return 0;
}

/* ---- a ring ---------------------------------------------------------------------------- */

static int pick_add(const struct event_ring *ring, struct recorder_event *event)
{
	struct event_pick *pick = &frames.pick[kind_of(ring, event)];

	/* No producer makes events of a kind without an encoder. */
	if (!pick->encoder) {
		event_ring_give_back(ring, event);
		return 0;
	}
	pick->ring = ring;
	pick->event[pick->n++] = event;
	return pick->n < pick->encoder->records ? 0 : frame_put(pick);
}

/* Reads entries up to @limit. Returns whether there were any. */
static bool ring_run(const struct event_ring *ring, uint64_t limit, bool is_due)
{
	bool is_seen = false;
	int r = 0;

	/* The usual case; avoids clearing the picks, which are large. */
	if (event_ring_head(ring) == limit)
		return false;
	for (uint32_t i = 0; i < KINDS; i++)
		frames.pick[i] = (struct event_pick){.encoder = encoders[i]};
	for (uint64_t at = event_ring_head(ring); !r && at != limit; at++) {
		struct recorder_event *event;
		enum event_turn turn = event_ring_turn(ring, at, &event);

		if (turn == EVENT_IS_WRITTEN)
			break;
		if (turn == EVENT_IS_WHOLE)
			r = pick_add(ring, event);
		is_seen = true;
	}
	for (uint32_t i = 0; !r && is_due && i < KINDS; i++)
		while (!r && frames.pick[i].n)
			r = frame_put(&frames.pick[i]);
	event_ring_advance(ring);
	return is_seen;
}

/* ---- all rings ------------------------------------------------------------------------- */

/*
 * Publishes events from before the recorder. Returns false if there still are some for which later
 * ones must wait.
 */
static bool early_run(struct recorder *recorder, uint64_t now_ns)
{
	struct event_ring ring;
	bool is_through = true;

	for (int which = 0; which < RECORDER_RINGS; which++) {
		if (!events_early((enum recorder_ring)which, &ring))
			continue;
		(void)ring_run(&ring, event_ring_tail(&ring), true);
		is_through &= event_ring_is_empty(&ring);
	}
	events_settle(recorder);
	if (is_through) {
		frames.early_until_ns = 0;
		return true;
	}
	if (!frames.early_until_ns)
		frames.early_until_ns = now_ns + EARLY_WAIT_NS;
	return now_ns > frames.early_until_ns;
}

bool event_frames_run(
	struct capture *capture, struct strings *strings, uint64_t now_ns, bool is_forced)
{
	struct recorder *recorder = capture_recorder(capture);
	/*
	 * Slow traffic must not use up the cells with small frames while the collector does not
	 * acknowledge.
	 */
	bool is_scarce = recorder_unacked(recorder) > RECORDER_CELLS / 4;
	bool is_due = is_forced || (frames.since_ns && now_ns - frames.since_ns >= FLUSH_NS);
	bool is_seen = false, is_left = false;
	uint64_t limit[RECORDER_RINGS];

	pace_begin_pass(&frames.pace, now_ns);
	if (recorder_unacked(recorder) >= RECORDER_CELLS)
		return true;
	frames.capture = capture;
	frames.strings = strings;
	/*
	 * Limits are read first, so that an event from before the recorder is published before a
	 * later one of the same thread.
	 */
	for (int which = 0; which < RECORDER_RINGS; which++)
		limit[which] = event_ring_tail(&recorder->rings[which]);
	if (!early_run(recorder, now_ns))
		return true;
	for (int which = 0; which < RECORDER_RINGS; which++) {
		const struct event_ring *ring = &recorder->rings[which];

		is_seen |= ring_run(ring, limit[which], is_forced || (is_due && !is_scarce));
		is_left |= !event_ring_is_empty(ring);
		pace_use(&frames.pace, limit[which] - frames.seen[which],
			ring->count - (limit[which] - event_ring_head(ring)));
		frames.seen[which] = limit[which];
	}
	if (!is_left || is_due)
		frames.since_ns = 0;
	if (is_left && !frames.since_ns)
		frames.since_ns = now_ns;
	return is_seen;
}

bool event_frames_is_done(const struct recorder *recorder)
{
	bool is_done = true;

	for (int which = 0; which < RECORDER_RINGS; which++)
		is_done &= event_ring_is_empty(&recorder->rings[which]);
	return is_done;
}

uint64_t event_frames_pause_ns(void)
{
	return pace_pause_ns(&frames.pace);
}

void event_frames_reset(void)
{
	frames.since_ns = frames.early_until_ns = 0;
	memset(frames.seen, 0, sizeof(frames.seen));
}
