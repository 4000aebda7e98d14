// SPDX-License-Identifier: MIT
/*
 * The truth log of the software GPU: what it really ran. A file, mapped shared
 * by the one process that writes it, so it stays readable after SIGKILL.
 * Layout: header, queue table, names, records, copies; the offsets are in the header.
 * Readers take record i of min(reserved, capacity) only if its state is not
 * SOFTGPU_TRUTH_EMPTY: the state is stored last, with release order. Copies likewise.
 */
#pragma once

#include <assert.h>
#include <stdint.h>

#define SOFTGPU_TRUTH_MAGIC    0x31485455525f4753ull /* "SG_RUTH1" in memory order */
#define SOFTGPU_TRUTH_VERSION  2u
#define SOFTGPU_TRUTH_GPUS_MAX 64u

enum softgpu_truth_state {
	SOFTGPU_TRUTH_EMPTY = 0,   /* reserved, being written */
	SOFTGPU_TRUTH_RUNNING = 1, /* launched; end_tick is 0 */
	SOFTGPU_TRUTH_DONE = 2,	   /* completed; all fields are final */
};

/* Record flags; the low ones are the injected faults. */
enum softgpu_truth_flag {
	SOFTGPU_TRUTH_LATE_TS = 1u << 0,
	SOFTGPU_TRUTH_ZERO_TS = 1u << 1,
	SOFTGPU_TRUTH_SWAPPED_TS = 1u << 2,
	SOFTGPU_TRUTH_VALUE_FIRST = 1u << 3,
	SOFTGPU_TRUTH_NEVER = 1u << 4,	   /* launched and scripted never to end */
	SOFTGPU_TRUTH_NO_SIGNAL = 1u << 8, /* the packet had no completion signal */
	SOFTGPU_TRUTH_NO_PROFILE = 1u
				   << 9,   /* the queue had profiling off: no ticks in the signal */
	SOFTGPU_TRUTH_EARLY = 1u << 10,	   /* fetched before its doorbell (SOFTGPU_EAGER) */
	SOFTGPU_TRUTH_EMULATED = 1u << 11, /* a copy or fill kernel whose effect was produced */
	SOFTGPU_TRUTH_NAME_UNKNOWN = 1u << 12, /* no symbol found for the kernel object */
	SOFTGPU_TRUTH_SHORT = 1u << 13, /* it should have met others, some of which never came */
};

struct softgpu_truth_gpu {
	uint32_t node;
	uint32_t reserved;
	uint64_t tick_offset; /* tick = CLOCK_BOOTTIME ns / tick_ns + tick_offset, unless the script
				 has a clock drift or step */
	uint64_t unique_id;
};
static_assert(sizeof(struct softgpu_truth_gpu) == 24, "file format");

struct softgpu_truth_header {
	uint64_t magic;
	uint32_t version;
	uint32_t header_size;
	uint32_t record_size;
	uint32_t queue_size;
	uint32_t pid;
	uint32_t gpu_count;
	uint64_t capacity; /* records */
	uint64_t records_offset;
	uint64_t queue_capacity;
	uint64_t queues_offset;
	uint64_t names_capacity; /* bytes */
	uint64_t names_offset;
	uint64_t tick_ns;
	uint64_t created_ns; /* CLOCK_BOOTTIME */
	/* Written with atomics while the process runs. */
	uint64_t reserved; /* records handed out; may exceed capacity */
	uint64_t done;	   /* records that reached DONE */
	uint64_t dropped;  /* dispatches not recorded, for lack of capacity */
	uint64_t queues;   /* queues created; may exceed queue_capacity */
	uint64_t names_used;
	uint64_t names_dropped;
	struct softgpu_truth_gpu gpu[SOFTGPU_TRUTH_GPUS_MAX];
	uint64_t copy_capacity;
	uint64_t copies_offset;
	uint64_t copies; /* handed out; may exceed copy_capacity */
	uint32_t copy_size;
	uint32_t reserved2;
};
static_assert(sizeof(struct softgpu_truth_header) == 144 + 64 * 24 + 32, "file format");

/* One per compute queue; the processor of its GPU is the only writer. */
struct softgpu_truth_queue {
	uint64_t queue_id;     /* KFD queue id: unique in the process, never 0 */
	uint64_t hsa_queue_id; /* hsa_queue_t.id, known from the first packet on */
	uint32_t gpu;
	uint32_t ordinal; /* creation order in the process, from 0 */
	uint64_t launched;
	uint64_t ended;
	uint64_t never;	   /* launched and scripted never to end */
	uint64_t signaled; /* dispatches that carried a completion signal */
	uint64_t other;	   /* packets that are not dispatches */
	uint64_t flags;	   /* 1: destroyed, 2: stopped at an unknown packet */
};
static_assert(sizeof(struct softgpu_truth_queue) == 72, "file format");

struct softgpu_truth_record {
	uint32_t state;
	uint32_t flags;
	uint32_t gpu;  /* ordinal among the GPUs of the machine, not of ROCR_VISIBLE_DEVICES */
	uint32_t node; /* KFD node id */
	uint64_t queue_id;
	uint64_t hsa_queue_id;
	uint32_t queue_ordinal;
	uint32_t name; /* offset in the names region, NUL-terminated, without .kd */
	uint64_t packet;
	uint64_t kernel_object;
	uint64_t signal;
	uint64_t start_tick;
	uint64_t end_tick;
	uint32_t grid[3];
	uint16_t workgroup[3];
	uint16_t reserved0;
	uint64_t ordinal; /* of this kernel name on this GPU, from 0 */
	uint64_t reserved[2];
};
static_assert(sizeof(struct softgpu_truth_record) == 128, "file format");

/*
 * What an SDMA engine copied up to one completion signal: one copy as requested from the runtime,
 * in one or more packets. Copies by kernels are dispatches with SOFTGPU_TRUTH_EMULATED.
 */
struct softgpu_truth_copy {
	uint32_t state;
	uint32_t gpu; /* GPU of the engine; ordinal on the machine */
	uint32_t node;
	uint32_t packets;
	uint64_t queue_id;
	uint64_t signal;
	uint64_t bytes;
	uint64_t start_tick;
	uint64_t end_tick;
	uint32_t engine; /* of its GPU: 0 and 1 face the host, the following ones other GPUs */
	uint32_t reserved;
};
static_assert(sizeof(struct softgpu_truth_copy) == 64, "file format");
