/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Host-side events (markers, host calls, collectives, copies) on their way into the recorder.
 * Any application thread makes them, at any time: no wait, no system call, no allocation once
 * the first was made. While there is no recorder they lie in private memory, from where the
 * shim thread takes them once there is one; a forked child finds that memory zeroed, and knows
 * of no recorder. A full ring drops the event and counts it (dropped_markers, dropped_calls,
 * dropped_copies).
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/names/counters.h"
#include "shim/record/recorder.h"

/* ---- producers --------------------------------------------------------------------------- */

/*
 * An entry to be filled and published at once by the same thread: nothing in between may wait.
 * Its kind is set; of a call everything else is zero. It is counted by now (markers_begun,
 * markers_ended, calls_recorded, collectives_recorded, copies_recorded). NULL: dropped, counted.
 */
struct recorder_marker *event_marker_take(enum rtl_marker_kind kind);
struct recorder_call *event_call_take(enum recorder_call_kind kind);

void event_marker_publish(struct recorder_marker *marker);
void event_call_publish(struct recorder_call *call);

/* Counts one more of what is never an event. */
void event_count(enum rtl_process_counter what);

/* ---- the life of a recorder ---------------------------------------------------------------- */

/* Events go to @recorder from now on. -ENOMEM. */
int events_start(struct recorder *recorder);

/*
 * They do not any more, but into private memory for the next. True: no thread is inside of the
 * recorder's rings, which may be unmapped; false: not by @deadline_ns (CLOCK_MONOTONIC).
 */
bool events_stop(uint64_t deadline_ns);

/* fork's child, where the kernel does not wipe memory: the parent's events are not its own. */
void events_forget(void);

/* ---- shim thread ----------------------------------------------------------------------------- */

/* The ring of events that came without a recorder; false: none was ever made. */
bool events_early(enum recorder_ring which, struct event_ring *ret);

/* Books what was counted without a recorder. */
void events_settle(struct recorder *recorder);
