/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * From a fired signal to a finished slot, and from finished slots to frames. harvest_run() is
 * the harvester thread's step; the harvest_signal_*() hooks run on application threads before
 * something may overwrite the times in a signal of the application's, and never wait (destroy
 * may, briefly). They only ever read the application's signals.
 */
#include <stdbool.h>
#include <stdint.h>

#include <hsa/hsa.h>

struct capture;

/*
 * One period: housekeeping walks (rule 11), harvest (rule 12), frames that are full or due,
 * slots for queues that run short. @now_ns: clock_boottime_ns(). Returns whether anything is
 * in flight, or waits for a frame or a look: capture_pace() until the next call, else
 * HARVEST_IDLE_NS.
 */
bool harvest_run(struct capture *capture, uint64_t now_ns);

/* As harvest_run, and also publishes frames that are not due: before Bye and in ctl flush. */
bool harvest_flush(struct capture *capture, uint64_t now_ns);

/* As harvest_flush, and decides what waits for its times: before the process gives up waiting. */
bool harvest_last(struct capture *capture, uint64_t now_ns);

/*
 * The end of OnUnload when the shim's thread did not come to its end in time: waits until it is
 * out of its pass (CPU time only, but it may have to wait for a processor), makes the last pass
 * in its place, and keeps it out for good. The runtime frees its queues and signals next. False:
 * it did not come out by @deadline_ns (CLOCK_MONOTONIC).
 */
bool harvest_detach(struct capture *capture, uint64_t deadline_ns);

/*
 * Around whatever the shim's thread asks of the runtime: false when that is gone, and then there
 * is nothing to release. Not for an instant longer than the call takes: OnUnload waits.
 */
bool harvest_runtime_hold(struct capture *capture);
void harvest_runtime_release(struct capture *capture);

/* Hooks, each before the original: hsa_signal_store_* on what is not a doorbell, ... */
void harvest_signal_store(struct capture *capture, hsa_signal_t signal);
/* ... hsa_amd_memory_async_copy* with this completion signal (0: none), ... */
void harvest_signal_reuse(struct capture *capture, hsa_signal_t signal);
/* ... hsa_signal_destroy. */
void harvest_signal_destroy(struct capture *capture, hsa_signal_t signal);
