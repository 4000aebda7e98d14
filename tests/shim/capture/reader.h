/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The collector's half of the recorder protocol, for tests: takes frames from the outbox of a live
 * capture or from the memfd of a dead one, decodes them with the decoder of the wire, and stores
 * each record under (queue, seq). A record that comes twice is a failure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/limits.h"
#include "proto/wire/msg.h"
#include "shim/record/recorder.h"

enum reader_state {
	ROW_NONE,
	ROW_STORED,
	ROW_OUTSTANDING,
};

struct reader_row {
	uint8_t state; /* enum reader_state */
	uint8_t untimed;
	uint32_t shape;
	uint64_t start, end;
	uint64_t submit_ns;
	uint32_t tid;
	uint64_t marker;
	uint64_t call;
	uint32_t node;
	uint64_t frame;
	/* For slots in a drain, which have no shape. */
	uint32_t symbol;
	uint64_t kernel_object;
};

struct reader_shape {
	uint32_t gpu, queue, symbol;
	uint32_t workgroup[3], grid[3];
	uint32_t lds, scratch;
};

struct reader_queue {
	struct reader_row *rows;
	size_t capacity;
	uint64_t stored, outstanding, untimed;
};

struct reader {
	struct msg_arena arena;
	struct reader_shape *shapes;
	size_t shape_capacity, shapes_known;
	uint64_t define_offset;
	struct reader_queue queue[RECORDER_QUEUES];
	uint64_t frames, records;
	uint64_t hw; /* last frame taken */
	bool has_failed;
	char why[256];
};

struct reader *reader_new(void);
struct reader *reader_free(struct reader *reader);

/* Takes and acknowledges what was published; returns the number of frames. */
unsigned reader_poll(struct reader *reader, struct recorder *recorder);

/* docs/recorder.md, section 4, death: @fd is the memfd of a process that has ended. */
void reader_drain(struct reader *reader, int fd);

const struct reader_row *reader_row(const struct reader *reader, uint32_t queue, uint64_t seq);
const struct reader_shape *reader_shape(const struct reader *reader, uint32_t id);
