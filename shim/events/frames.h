/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * From the rings of host-side events to numbered frames, each of one kind of record, in the
 * order in which these came. Steps L, P and R of docs/recorder.md. Shim thread only.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/wire/rtl.pb-c.h"
#include "shim/record/recorder.h"

struct capture;
struct strings;

/* Entries of one frame at most: past that the cost per record is flat. */
#define EVENT_FRAME_RECORDS_MAX 512u

/*
 * One kind of record. build() makes the frame of @n entries, without its number; it is the
 * caller's until the next call. Texts become string ids of @strings. A frame that is too large
 * for a cell is built again with fewer entries; one entry always has to fit.
 */
struct event_encoder {
	uint32_t records; /* of a frame, at most; up to EVENT_FRAME_RECORDS_MAX */
	Rtl__Frame *(*build)(
		const struct recorder_event *const *events, uint32_t n, struct strings *strings);
};

extern const struct event_encoder event_markers;
extern const struct event_encoder event_host_calls;
extern const struct event_encoder event_collectives;
extern const struct event_encoder event_copies;

/*
 * Publishes full frames, and with @is_forced or when records have waited for FLUSH_NS also a
 * part of one; none of those while frames are scarce. @now_ns: CLOCK_BOOTTIME. Returns whether
 * there was anything.
 */
bool event_frames_run(
	struct capture *capture, struct strings *strings, uint64_t now_ns, bool is_forced);

/* When the rings need the next look, as of the last one: shim/capture/pacing.h. */
uint64_t event_frames_pause_ns(void);

/* Nothing of what came to @recorder is still in its rings. */
bool event_frames_is_done(const struct recorder *recorder);

/* Before the shim thread of another recorder starts. */
void event_frames_reset(void);
