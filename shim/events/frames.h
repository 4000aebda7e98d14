/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Turns entries of the rings of host-side events into numbered frames. A frame has one kind of
 * record, in the order of the ring. Steps L, P and R of docs/recorder.md. Shim thread only.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/wire/rtl.pb-c.h"
#include "shim/record/recorder.h"

struct capture;
struct strings;

/* Most entries of one frame: a larger frame would not lower the cost per record. */
#define EVENT_FRAME_RECORDS_MAX 512u

/*
 * One kind of record. build() makes a frame of @n entries without its number, valid until the next
 * call. Texts become string ids of @strings. A frame that is too large for a cell is built again
 * with fewer entries; one entry must always fit.
 */
struct event_encoder {
	uint32_t records; /* most of one frame, up to EVENT_FRAME_RECORDS_MAX */
	Rtl__Frame *(*build)(
		const struct recorder_event *const *events, uint32_t n, struct strings *strings);
};

extern const struct event_encoder event_markers;
extern const struct event_encoder event_host_calls;
extern const struct event_encoder event_collectives;
extern const struct event_encoder event_copies;

/*
 * Publishes full frames. Publishes partial frames too if @is_forced, or if records have waited for
 * FLUSH_NS and frames are not scarce. @now_ns is CLOCK_BOOTTIME. Returns true if there were
 * entries, or if some may wait for a cell or for an earlier event.
 */
bool event_frames_run(
	struct capture *capture, struct strings *strings, uint64_t now_ns, bool is_forced);

/* Time until the rings have to be read again, as of the last run: shim/capture/pacing.h. */
uint64_t event_frames_pause_ns(void);

/* Whether no entry is left in the rings of @recorder. */
bool event_frames_is_done(const struct recorder *recorder);

/* Called before the shim thread of another recorder starts. */
void event_frames_reset(void);
