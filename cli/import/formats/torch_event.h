/* SPDX-License-Identifier: MIT */
#pragma once
/* One event of a trace of PyTorch's profiler, as far as rtl can store it. Pure data. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limit of the texts of one event. */
#define TORCH_TEXT_BYTES (1u << 20)

/* X(name, key): numbers of the event itself, and of its args. */
/* clang-format off */
#define TORCH_NUMBERS(X) \
	X(PID, "pid") X(TID, "tid") X(ID, "id")
#define TORCH_ARG_NUMBERS(X) \
	X(CORRELATION, "correlation") X(EXTERNAL_ID, "External id") X(EXTERNAL_ID_OLD, "external id") \
	X(DEVICE, "device") X(STREAM, "stream") X(QUEUE, "queue") X(BYTES, "bytes") X(SHARED_MEMORY, "shared memory") \
	X(GROUP_SIZE, "Group size") X(IN_NELEMS, "In msg nelems") X(OUT_NELEMS, "Out msg nelems") \
	X(SEQ, "Seq") X(SEQUENCE, "Sequence number") X(FORWARD_TID, "Fwd thread id") \
	X(RANK, "rank") X(PID_RAW, "pid_raw") X(CORRELATION_RAW, "correlation_raw") \
	X(EXTERNAL_ID_RAW, "External id_raw") X(FROM_DEVICE, "fromDevice") X(TO_DEVICE, "toDevice") \
	X(ALLOCATED, "Total Allocated") X(RESERVED, "Total Reserved") X(DEVICE_ID, "Device Id") \
	X(DEVICE_TYPE, "Device Type")
#define TORCH_TEXTS(X) X(PH, "ph") X(CAT, "cat") X(NAME, "name")
#define TORCH_ARG_TEXTS(X) \
	X(COLLECTIVE, "Collective name") X(DTYPE, "dtype") X(GROUP_NAME, "Process Group Name") \
	X(GROUP_RANKS, "Process Group Ranks") X(IN_SPLIT, "In split size") \
	X(OUT_SPLIT, "Out split size") X(SHAPES, "Input Dims") X(TYPES, "Input type") \
	X(INPUTS, "Concrete Inputs")
/* clang-format on */

#define TORCH_ENUM(name, key) TORCH_##name,
enum torch_number { TORCH_NUMBERS(TORCH_ENUM) TORCH_ARG_NUMBERS(TORCH_ENUM) TORCH_NUMBER_COUNT };
enum torch_text { TORCH_TEXTS(TORCH_ENUM) TORCH_ARG_TEXTS(TORCH_ENUM) TORCH_TEXT_COUNT };

struct torch_event {
	uint64_t has; /* bits of enum torch_number */
	int64_t number[TORCH_NUMBER_COUNT];
	/* range in torch.text; length 0: none */
	uint32_t at[TORCH_TEXT_COUNT], length[TORCH_TEXT_COUNT];
	bool has_ts, has_dur;
	int64_t ts_ns, dur_ns;
	uint32_t grid[3], block[3];
	uint8_t grids, blocks; /* how many of their numbers were read */
	uint32_t used;	       /* bytes used in torch.text */
};

static inline bool torch_has(const struct torch_event *event, enum torch_number number)
{
	return event->has >> number & 1;
}

/* Returns @otherwise if the event has no such number. */
static inline int64_t torch_number(
	const struct torch_event *event, enum torch_number number, int64_t otherwise)
{
	return torch_has(event, number) ? event->number[number] : otherwise;
}
