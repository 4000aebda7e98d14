/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Turns fired signals into finished slots, and finished slots into frames. harvest_run() is the
 * shim thread's step. The harvest_signal_*() hooks run on application threads before something may
 * overwrite the times in a signal of the application; they do not wait (destroy may, briefly). The
 * application's signals are only read.
 */
#include <stdbool.h>
#include <stdint.h>

#include <hsa/hsa.h>

struct capture;

/*
 * One period: housekeeping walks (rule 11), harvest (rule 12), frames that are full or due, slots
 * for queues that run short. @now_ns is clock_boottime_ns(). Returns true if something is in
 * flight, or waits for a frame or for this thread; then the next call is due after capture_pace(),
 * else after HARVEST_IDLE_NS.
 */
bool harvest_run(struct capture *capture, uint64_t now_ns);

/* Like harvest_run(), and also publishes frames that are not due: before Bye and for ctl flush. */
bool harvest_flush(struct capture *capture, uint64_t now_ns);

/*
 * Like harvest_flush(), and gives up on times that are not there: before the process stops waiting.
 */
bool harvest_last(struct capture *capture, uint64_t now_ns);

/*
 * For the end of OnUnload if the shim thread has not ended in time: waits until that thread has
 * left its pass (which takes CPU time only, but it may have to wait for a processor), does the last
 * pass in its place, and keeps it out for good. Then the runtime frees its queues and signals.
 * Returns false if it has not left by @deadline_ns (CLOCK_MONOTONIC).
 */
bool harvest_detach(struct capture *capture, uint64_t deadline_ns);

/*
 * Brackets each call of the shim thread into the runtime: false if the runtime is gone, and then
 * there is nothing to release. Held only for the call, because OnUnload waits for it.
 */
bool harvest_runtime_hold(struct capture *capture);
void harvest_runtime_release(struct capture *capture);

/*
 * Hooks, each called before the original: hsa_signal_store_* on a signal that is no doorbell, ...
 */
void harvest_signal_store(struct capture *capture, hsa_signal_t signal);
/* ... hsa_amd_memory_async_copy* with this completion signal (0 if none), ... */
void harvest_signal_reuse(struct capture *capture, hsa_signal_t signal);
/* ... hsa_signal_destroy. */
void harvest_signal_destroy(struct capture *capture, hsa_signal_t signal);
