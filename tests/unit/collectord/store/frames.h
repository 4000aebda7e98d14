/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Frames as a shim sends them, from literals: two GPUs of 100 MHz, queue 0 on the first and
 * queue 1 on the second, kernels alpha (shape 1, queue 0) and beta (shape 2, queue 1). Tests.
 */
#include <stddef.h>
#include <stdint.h>

#include "proto/names/counters.h"
#include "proto/wire/rtl.pb-c.h"

#define PEER_TICK_HZ 100000000u
/* A tick is 10 ns; the anchors say that tick 0 was at this moment. */
#define PEER_ZERO_NS 1000000000000u
#define PEER_TICK_NS 10u

struct frames {
	uint8_t *bytes;
	size_t count;
};

/* Appends one frame. */
void frames_add(struct frames *frames, const Rtl__Frame *frame);
/* A frame that defines the process's rank. */
void frames_add_rank(struct frames *frames, Rtl__RankDef *rank);
/* Empties it; the caller frees what it returns. */
uint8_t *frames_take(struct frames *frames, size_t *ret_count);

/* The Hello of instance @token, without its prefix; rank and pid as given. */
uint8_t *peer_hello(uint8_t token, int rank, size_t *ret_count);
uint8_t *peer_hello_named(uint8_t token, const char *gpu_name, size_t *ret_count);

void peer_add_defines(struct frames *frames);
/* Defines string @id, symbol @id and shape @id (queue 0) for a kernel of that name. */
void peer_add_kernel(struct frames *frames, uint32_t id, const void *name, size_t bytes);
/* @n strings of ids from @first on, in one frame. */
void peer_add_strings(struct frames *frames, uint32_t first, uint32_t n);
/* Tick 0 and tick @tick of both GPUs. */
void peer_add_anchors(struct frames *frames, uint64_t tick);

/*
 * Frame @number: @n dispatches of shape @shape, sequence numbers from @seq. Number s starts at
 * tick 1000 + 100 s, lasts 50 ticks, and was submitted 500 ns before.
 */
void peer_add_dispatches(
	struct frames *frames, uint64_t number, uint32_t shape, uint64_t seq, uint32_t n);

/* Likewise, the first of shape @first, the next of the one after that ... */
void peer_add_shapes(
	struct frames *frames, uint64_t number, uint32_t first, uint64_t seq, uint32_t n);

/* Likewise, with the runs of host calls that @calls has (n_call, call_from, call, node). */
void peer_add_called(struct frames *frames, uint64_t number, uint64_t seq, uint32_t n,
	const Rtl__Dispatches *calls);

/* Values are named like RTL_Q_dispatched; ends with -1. */
void peer_add_counters(struct frames *frames, uint32_t queue, ...);
/* The same, read at @time_ns of CLOCK_BOOTTIME. */
void peer_add_counters_at(struct frames *frames, uint64_t time_ns, uint32_t queue, ...);
/* Frame @number: one marker event of @kind (RTL_MARKER_...), with the text that string 1 is. */
void peer_add_marker(struct frames *frames, uint64_t number, uint32_t kind);
void peer_add_bye(struct frames *frames);
