/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A recorder made by hand, for the peer of frames.h: small regions, every field open to lies.
 * Its memfd is written with pwrite by recorder_seal(). Tests.
 */
#include <stdint.h>

#include "proto/recorder/layout.h"
#include "tests/unit/collectord/store/frames.h"

#define HAND_SLOTS	8
#define HAND_CELLS	4
#define HAND_MARKERS	4
#define HAND_CALLS	4
#define HAND_CELL_BYTES (32u << 10)

struct hand_recorder {
	struct recorder_header header;
	struct recorder_slot slot[HAND_SLOTS];
	struct recorder_queue queue[2];
	struct recorder_anchors anchors[2];
	uint8_t define[32u << 10];
	struct recorder_marker marker[HAND_MARKERS];
	struct recorder_call call[HAND_CALLS];
	struct recorder_call spare_call[HAND_CALLS];
	_Alignas(64) uint8_t cell[HAND_CELLS][HAND_CELL_BYTES];
};

/* Zeroed, ready, of peer @token, with the definitions and anchors of frames.h. To be freed. */
struct hand_recorder *hand_recorder_new(uint8_t token);

/* Slot @i: dispatch @seq of queue 0, in @state, labelled @frame. Times as in frames.h. */
void hand_recorder_slot(
	struct hand_recorder *r, unsigned i, uint32_t state, uint64_t seq, uint64_t frame);

/* The entry of @position of the ring of markers, whole and labelled @frame: a mark of @text. */
struct recorder_marker *hand_recorder_marker(
	struct hand_recorder *r, uint64_t position, uint64_t id, uint64_t frame, const char *text);

/* Publishes what is in @frames (one frame) as frame @number of @records. */
struct recorder_cell *hand_recorder_cell(
	struct hand_recorder *r, uint64_t number, struct frames *frames, uint32_t records);

/* A memfd that holds it with @array, of @count elements, as @region of its header. */
int hand_recorder_memfd_with(struct hand_recorder *r, struct recorder_region *region,
	const void *array, uint32_t count, uint32_t stride);

/* A memfd that holds it with so many slots, each with a finished dispatch of queue 0, 0 and on. */
int hand_recorder_memfd_slots(struct hand_recorder *r, uint32_t slots);

/* A memfd that holds it. */
int hand_recorder_memfd(const struct hand_recorder *r);
