/* SPDX-License-Identifier: MIT */
/*
 * AQL queues as HIP uses them: packets carry no completion signal unless asked, a barrier packet
 * with a signal ends a step. A queue may have several producers, each a thread with a struct
 * producer of its own. A slot is written only once the GPU has taken the packet before it.
 */
#pragma once

#include <hsa/hsa.h>
#include <stdint.h>

#include "tests/workload/board.h"
#include "tests/workload/code.h"
#include "tests/workload/gpu.h"

struct producer {
	hsa_queue_t *queue;
	struct board_count *count; /* this thread is its one writer */
	uint64_t read_seen;	   /* the read index is never lower than this */
};

/* Arguments of a kernel; see kernels.h. */
struct kernel_args {
	void *a, *b, *c;
	int32_t n0, n1, n2;
	float f;
};

/* -EIO after saying why. */
int queue_open(const struct gpu *gpu, int size, hsa_queue_t **ret);

/* A packet for @groups workgroups of @kernel. */
hsa_kernel_dispatch_packet_t queue_packet(
	const struct kernel *kernel, uint32_t groups, void *kernargs);

/* The index of the first of @n slots, all of them free. @n may not exceed half the queue. */
uint64_t queue_reserve(struct producer *producer, unsigned n);

/* Writes a packet to a reserved slot and hands it over; a zero @signal is none. */
void queue_fill(hsa_queue_t *queue, uint64_t index, const hsa_kernel_dispatch_packet_t *packet,
	hsa_signal_t signal);

/* Counts @kernels dispatches and rings for all up to @last. */
void queue_ring(struct producer *producer, uint64_t last, unsigned kernels);

void queue_dispatch(
	struct producer *producer, const hsa_kernel_dispatch_packet_t *packet, hsa_signal_t signal);

/* A barrier packet: waits for @dep (zero: only for the packets before), then completes @signal. */
void queue_barrier(struct producer *producer, hsa_signal_t dep, hsa_signal_t signal);
