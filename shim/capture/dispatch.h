/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What all front ends do with a dispatch packet: number it, take a slot, fill it, mark it
 * SUBMITTED, say which signal to put in. Called by the one thread that handles the queue's
 * packets at the moment, on the application's dispatch path: no locks that wait, no
 * allocation, no logging; the only system calls are those of a thread's first dispatch
 * (its id) and, with no slot left, a bounded number of yields (rule 9).
 */
#include <stdbool.h>
#include <stdint.h>

#include <hsa/hsa.h>

#include "shim/capture/capture_internal.h"
#include "shim/capture/submitter.h"

/* One batch of packets of one queue. */
struct dispatch_batch {
	struct capture *capture;
	struct capture_queue *queue;
	uint64_t submit_ns; /* one reading for the batch, at its first dispatch; 0: none yet */
};

enum dispatch_how {
	DISPATCH_STAMP = 0, /* our signal where the application has none */
	DISPATCH_LEAVE, /* recorded without a time: rule 10, foreign writers */
};

/* A packet that is not recorded will write to @signal. */
void dispatch_signal_used(struct capture *c, bool is_dispatch, uint64_t signal);

static inline void dispatch_begin(
	struct capture *c, struct capture_queue *q, struct dispatch_batch *ret)
{
	*ret = (struct dispatch_batch){.capture = c, .queue = q};
}

/*
 * @packet: a kernel dispatch, its header already acquired. @signal: its completion signal, 0
 * when it has none or one of ours from an earlier turn. @origin: who submitted it. Returns the
 * signal to store into the packet; 0: hand it on untouched.
 */
uint64_t dispatch_packet(struct dispatch_batch *batch, const hsa_kernel_dispatch_packet_t *packet,
	uint64_t signal, const struct packet_origin *origin, enum dispatch_how how);

/* Counters of a queue before a packet, for one that is left in its middle. */
struct dispatch_mark {
	uint64_t dispatched, injected; /* before a dispatch: as the counters are named */
	uint64_t others;	       /* before any other packet: skipped_not_kernel */
};

/*
 * Cold, signals blocked: dispatch_packet() of @packet was left in its middle for good. True: it had
 * given the dispatch its number, and now the rest is done, each part once; *ret_signal as
 * dispatch_packet() returns it. False: it had done nothing that counts, and has to be called again.
 */
bool dispatch_resume(struct dispatch_batch *batch, const hsa_kernel_dispatch_packet_t *packet,
	uint64_t signal, const struct dispatch_mark *mark, uint64_t *ret_signal);
/* Likewise of dispatch_skip(), of any packet. True: it is counted now. */
bool dispatch_skip_resume(struct capture_queue *q);

/*
 * In place of all of these while queue_is_dormant(): the packet is counted and left alone; no
 * clock, no slot, no thread-local memory. @signal: as above.
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
	/* What was recorded before may wait for the times in it. */
	if (signal)
		dispatch_signal_used(c, is_dispatch, signal);
}

/* Any other packet. */
void dispatch_other(struct dispatch_batch *batch, uint64_t signal);

/* Before the packets become visible to the device. */
void dispatch_end(struct dispatch_batch *batch);

/*
 * Asks for the cache line at @memory, any address, as who is going to write there: another processor
 * has it. Or the next locked instruction waits for it.
 */
static inline void dispatch_ask(const void *memory)
{
#ifdef __x86_64__
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)memory));
#else
	__builtin_prefetch(memory, 1);
#endif
}

/* Once they are visible, and the application has something else to do, or waits: the slot that the
 * queue's next dispatch will take. The harvester was the last to write to it. */
static inline void dispatch_ahead(struct capture *c, const struct capture_queue *q)
{
	const char *slot = (const char *)slot_of(c, q->free);

	dispatch_ask(slot);
	dispatch_ask(slot + sizeof(struct recorder_slot) - 1);
	dispatch_ask(slot_private_of(c, q->free));
}
