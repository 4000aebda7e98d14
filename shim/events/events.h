/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Passes host-side events (markers, host calls, collectives, copies) to the recorder. Any
 * application thread produces them, at any time: no wait, system call or allocation, except for the
 * first event. While there is no recorder, events go to private memory, from which the shim thread
 * takes them once there is one. A forked child finds that memory zeroed, and with it no recorder.
 * If a ring is full, the event is dropped and counted (dropped_markers, dropped_calls,
 * dropped_copies).
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/names/counters.h"
#include "shim/record/recorder.h"

/* ---- producers --------------------------------------------------------------------------- */

/*
 * Takes an entry, which the same thread fills and publishes without waiting in between. Its kind is
 * set, and a call is zeroed otherwise. It is already counted (markers_begun, markers_ended,
 * calls_recorded, collectives_recorded, copies_recorded). NULL if it was dropped, which is counted.
 */
struct recorder_marker *event_marker_take(enum rtl_marker_kind kind);
struct recorder_call *event_call_take(enum recorder_call_kind kind);

void event_marker_publish(struct recorder_marker *marker);
void event_call_publish(struct recorder_call *call);

/* Raises a counter for something that has no event. */
void event_count(enum rtl_process_counter what);

/* ---- the life of a recorder ---------------------------------------------------------------- */

/* Directs events to @recorder from now on. -ENOMEM. */
int events_start(struct recorder *recorder);

/*
 * Directs events to private memory again, for the next recorder. Returns true if no thread is
 * inside the recorder's rings, so that they may be unmapped; false if there still was one at
 * @deadline_ns (CLOCK_MONOTONIC).
 */
bool events_stop(uint64_t deadline_ns);

/* For the child of fork() on kernels that do not wipe the memory: drops the parent's events. */
void events_forget(void);

/* ---- shim thread ----------------------------------------------------------------------------- */

/* The ring of events that came before there was a recorder; false if no event was ever made. */
bool events_early(enum recorder_ring which, struct event_ring *ret);

/* Adds the counts from before there was a recorder to @recorder. */
void events_settle(struct recorder *recorder);
