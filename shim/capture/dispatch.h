/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What all front ends do with a dispatch packet: number it, take a slot, fill it, mark it
 * SUBMITTED, and return the signal to store. Called on the application's dispatch path by the
 * thread that holds the queue's walk: no locks that wait, no allocation, no logging. The only
 * system calls are that for the id of a thread at its first dispatch and, if no slot is left,
 * those of undisturbed.h and of the runtime when pool_grow() needs signals (rule 9).
 */
#include <stdbool.h>
#include <stdint.h>

#include <hsa/hsa.h>

#include "shim/capture/capture_internal.h"
#include "shim/capture/tables/submitter.h"

/* Consecutive packets of one queue, handled together. */
struct dispatch_batch {
	struct capture *capture;
	struct capture_queue *queue;
	uint64_t submit_ns; /* read at the first dispatch of each interval; 0 if not read yet */
};

/* The gate was closed for a packet of @batch: the next one may be in another interval. */
static inline void dispatch_batch_is_skipped(struct dispatch_batch *batch)
{
	batch->submit_ns = 0;
}

enum dispatch_how {
	DISPATCH_STAMP = 0, /* our signal, if the application has none */
	DISPATCH_LEAVE,	    /* recorded without times: rule 10, foreign writers */
};

/* A packet that is not recorded will write to @signal when it ends. */
void dispatch_signal_used(struct capture *c, bool is_dispatch, uint64_t signal);

static inline void dispatch_begin(
	struct capture *c, struct capture_queue *q, struct dispatch_batch *ret)
{
	*ret = (struct dispatch_batch){.capture = c, .queue = q};
}

/*
 * @packet is a kernel dispatch whose header was already acquired. @signal is its completion signal,
 * 0 if it has none or one of ours from an earlier use of the ring slot. @origin tells which thread
 * submitted it. Returns the signal to store into the packet; 0 to leave it untouched.
 */
uint64_t dispatch_packet(struct dispatch_batch *batch, const hsa_kernel_dispatch_packet_t *packet,
	uint64_t signal, const struct packet_origin *origin, enum dispatch_how how);

/* Counters of a queue before a packet, to complete a packet that was left half done. */
struct dispatch_mark {
	uint64_t dispatched, injected; /* before a dispatch: the counters of these names */
	uint64_t others;	       /* before another packet: skipped_not_kernel */
};

/*
 * Cold, signals blocked: the thread in dispatch_packet() for @packet will never return to it.
 * Returns true if the dispatch already had its number; then the rest is done now, each part once,
 * and *ret_signal is the result of dispatch_packet(). Returns false if nothing counted yet; then
 * the caller calls dispatch_packet() again.
 */
bool dispatch_resume(struct dispatch_batch *batch, const hsa_kernel_dispatch_packet_t *packet,
	uint64_t signal, const struct dispatch_mark *mark, uint64_t *ret_signal);
/* The same for dispatch_skip() of any packet. Returns true if the packet is counted now. */
bool dispatch_skip_resume(struct capture_queue *q);

/*
 * Replaces all of these while queue_is_dormant(): counts the packet and leaves it alone; no clock,
 * slot or thread-local memory. @signal as above.
 */
static inline void dispatch_skip(
	struct capture *c, struct capture_queue *q, bool is_dispatch, uint64_t signal)
{
	if (is_dispatch) {
		recorder_count_queue(q->block, RTL_Q_dispatched, 1);
		recorder_count_queue(q->block, RTL_Q_skipped_filter, 1);
	} else {
		recorder_count_queue(q->block, RTL_Q_skipped_not_kernel, 1);
	}
	/* An earlier packet that was recorded may still need the times in this signal. */
	if (signal)
		dispatch_signal_used(c, is_dispatch, signal);
}

/* Handles a packet that is no dispatch. @signal as above; @tid submitted it, 0 if unknown. */
void dispatch_other(struct dispatch_batch *batch, const hsa_kernel_dispatch_packet_t *packet,
	uint64_t signal, uint32_t tid);

/* Called before the packets become visible to the device. */
void dispatch_end(struct dispatch_batch *batch);

/*
 * Requests the cache line at @memory (any address) for writing, since another processor has it.
 * Otherwise the next locked instruction would wait for it.
 */
static inline void dispatch_ask(const void *memory)
{
#ifdef __x86_64__
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)memory));
#else
	__builtin_prefetch(memory, 1);
#endif
}

/*
 * Called after the packets are visible, when the application is busy or waits: prefetches the slot
 * that the queue's next dispatch will take. The harvester was the last to write to it.
 */
static inline void dispatch_ahead(struct capture *c, const struct capture_queue *q)
{
	const char *slot = (const char *)slot_of(c, q->free);

	dispatch_ask(slot);
	dispatch_ask(slot + sizeof(struct recorder_slot) - 1);
	dispatch_ask(slot_private_of(c, q->free));
}
