// SPDX-License-Identifier: MIT
/*
 * Inside of the software GPU: the types its files share and their functions.
 * hsaKmt* functions run on any application thread; everything that says
 * "processor" runs on the one thread of that GPU. Lock order: device.lock,
 * then any of the memory, event, virtual-time or truth locks (all leaves).
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The build hides everything; what ROCr imports must stay visible. */
#pragma GCC visibility push(default)
#include <hsakmt.h>
#pragma GCC visibility pop

#include <hsa/hsa.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>

#include "tests/softgpu/truth.h"

#define SOFTGPU_GPUS_MAX     SOFTGPU_TRUTH_GPUS_MAX
#define SOFTGPU_TICK_NS	     10u /* 100 MHz */
#define SOFTGPU_PAGE	     4096u
#define SOFTGPU_QUEUES_MAX   1024u
#define SOFTGPU_SDMA_ENGINES 2u /* these face the host; those for other GPUs come after them */

/* config.c: every environment variable, read once by hsaKmtOpenKFD. */
struct gfx_target {
	const char *name;
	uint32_t major, minor, stepping; /* stepping is the last hex digit of the name */
	uint32_t cus, simds_per_cu, waves_per_simd, wave_size, shader_engines;
	uint32_t device_id;
	uint32_t xccs, xgmi_engines, family;
	bool has_sramecc;
};

struct config {
	uint32_t count;
	const struct gfx_target *gfx[SOFTGPU_GPUS_MAX];
	bool is_realtime;
	int eager;
	bool reuses_code_memory;
	uint32_t kfd_minor;
	uint64_t truth_records;
	const char *truth_path;
	const char *script_path;
	const char *fault_text;
};

/* 0, or -EINVAL after one line on stderr. */
int config_load(struct config *ret);
extern struct config softgpu_config;

/*
 * topology.c: in the layout of the headers we build with. thunk.c returns it; dtif.c converts it to
 * the layout of ROCm 7.
 */
#define SOFTGPU_GPU_ID 5001u /* KFD's id of the first GPU */
HSAKMT_STATUS topology_get_node(uint32_t node, HsaNodeProperties *props);
/* False if the node has no such link. @ret_engines is a mask of the recommended SDMA engines. */
bool topology_get_link(
	uint32_t node, uint32_t index, HsaIoLinkProperties *ret, uint32_t *ret_engines);
/* Prints one line on stderr, once, if the runtime has ignored some of the GPUs. */
void topology_report_ignored(void);

/* clock.c: one time line in ns of CLOCK_BOOTTIME, always a multiple of the tick. */
uint64_t clock_wall_ns(void);
uint64_t clock_tick_offset(uint32_t node);
/* The counter of a node (0 is the CPU) at that time, including what the script does to it. */
uint64_t clock_tick(uint32_t node, uint64_t ns);
void clock_reset_vtime(void);
/* Remembers when a signal was completed on the virtual time line. */
void clock_put_signal(uint64_t signal, uint64_t end_ns);
/* 0 if the signal is unknown. */
uint64_t clock_get_signal(uint64_t signal);

/* script.c */
enum fault_kind {
	FAULT_NONE,
	FAULT_LATE_TS,
	FAULT_ZERO_TS,
	FAULT_SWAPPED_TS,
	FAULT_VALUE_FIRST,
	FAULT_NEVER,
};

struct script_result {
	uint64_t duration_ns;
	uint64_t delay_ns; /* of late_ts and value_first */
	enum fault_kind fault;
	uint32_t meet; /* dispatches that end together; 0 if alone */
};

struct script_stall {
	uint64_t until_pending; /* packets; 0: none */
	uint64_t for_ns;	/* wall clock from the queue's first packet; 0: none */
};

struct script_clock {
	int64_t drift_ppm; /* the counter is faster by this */
	int64_t step_ns;   /* and jumps forward by this, or back, */
	uint64_t after_ns; /* this long after the opening */
};

struct script_rule;
/* Rules for one kernel name on one GPU, resolved once. */
struct script_match {
	const struct script_rule **rule;
	uint32_t count;
};

int script_load(const char *path, const char *inline_text);
void script_free(void);
/* -ENOMEM. */
int script_match_kernel(const char *name, uint32_t gpu, struct script_match *ret);
bool script_match_is_fixed(const struct script_match *m);
void script_eval(const struct script_match *m, uint64_t ordinal, struct script_result *ret);
void script_get_stall(uint32_t queue_ordinal, struct script_stall *ret);
void script_get_clock(uint32_t gpu, struct script_clock *ret);
void script_get_copy(uint64_t bytes, uint64_t *ret_ns);
bool script_has_meetings(void);

/*
 * meet.c: dispatches that end together with those of other processes. Called by processors once
 * meet_open has succeeded; its lock is a leaf.
 */
#define SOFTGPU_MEET_MAX 256u

struct meet_arrival {
	uint32_t gpu, size; /* GPUs [k * size, (k + 1) * size) form a group */
	uint64_t start_ns, duration_ns;
};

struct meet_ticket {
	uint32_t meeting, seat;
	uint64_t own_end_ns, since_ns, look_ns;
	const char *name; /* of the kernel; owned by the caller */
};

/* 0, or -errno after one line on stderr. */
int meet_open(void);
/* False if there is no room for it, or for more GPUs than expected; then it does not wait. */
bool meet_arrive(const char *name, const struct meet_arrival *a, struct meet_ticket *ret);
/*
 * True once all that still can have come; then the ticket is used up. @ret_is_short: some had
 * ended.
 */
bool meet_poll(struct meet_ticket *ticket, uint64_t *ret_end_ns, bool *ret_is_short);
/* Called instead of meet_poll() when the queue is destroyed. */
void meet_leave(const struct meet_ticket *ticket);

/* truth.c: silent no-ops when no log was asked for. */
int truth_open(const char *path, uint64_t records);
uint32_t truth_add_name(const char *name);
struct softgpu_truth_queue *truth_add_queue(uint64_t id, uint32_t ordinal, uint32_t gpu);
/* A slot to fill, or NULL. Completed by truth_publish. */
struct softgpu_truth_record *truth_reserve(void);
void truth_publish(struct softgpu_truth_record *rec, enum softgpu_truth_state state);
/* Called before the copy's completion can be seen. */
void truth_add_copy(const struct softgpu_truth_copy *copy);
void truth_count(uint64_t *counter, uint64_t n);

/* event.c */
void event_reset_all(void);
void event_set_by_id(uint32_t id);

/* memory.c */
/* hsaKmtAllocMemory with addresses that are multiples of @align, a power of two; 0 for any. */
HSAKMT_STATUS memory_alloc(
	HSAuint32 node, HSAuint64 size, HSAuint64 align, HsaMemFlags flags, void **address);
struct mem_info {
	uint64_t base, size;
	uint32_t node;
};
void memory_reset(void);
/* False if @addr is in no live allocation. */
bool memory_find(uint64_t addr, struct mem_info *ret);
/* The host address behind a GPU address (aliases of registered memory), or @addr itself. */
void *memory_host(uint64_t addr);
/* Changes when executable memory is freed: caches keyed by address are stale then. */
uint64_t memory_code_generation(void);

/* kernel.c: names of kernel objects, owned by one processor. */
enum kernel_emulation {
	EMULATE_NONE,
	EMULATE_BLIT_ALIGNED,
	EMULATE_BLIT_MISALIGNED,
	EMULATE_BLIT_FILL,
	EMULATE_HIP,
};

struct kernel {
	struct kernel *next;
	char *name;
	uint32_t truth_name;
	uint32_t truth_flags;
	uint64_t launched; /* ordinal of the next dispatch */
	enum kernel_emulation emulation;
	int hip_kind;
	struct script_match match;
	struct script_result fixed; /* when no rule depends on the ordinal */
	bool is_fixed;
};

struct kernel_slot {
	uint64_t object;
	struct kernel *kernel;
};

struct kernel_cache {
	uint64_t generation;
	struct kernel_slot *slot;
	uint32_t slots, used;
	struct kernel *list;
};
/* NULL only when out of memory. */
struct kernel *kernel_get(struct kernel_cache *c, uint64_t object, uint32_t gpu);
void kernel_cache_done(struct kernel_cache *c);

/* blit.c: copies and fills that real runtimes do with kernels. */
/* 0 if it is none of HIP's copy and fill kernels. */
int blit_find_hip(const char *name);
enum kernel_emulation blit_recognise(uint64_t object);
/* Returns the bytes moved. */
uint64_t blit_run(const struct kernel *k, const hsa_kernel_dispatch_packet_t *p);

/* queue.c */
enum queue_state {
	QUEUE_READY,
	QUEUE_BLOCKED, /* a barrier in `packet` is not met yet */
	QUEUE_MEETING, /* `packet` waits for other dispatches */
	QUEUE_RUNNING, /* real time: `packet` runs until due_ns */
	QUEUE_LATE,    /* value is written, timestamps follow at due_ns */
	QUEUE_STUCK,   /* for ever: a kernel that never ends, or an unknown packet */
};

union aql_packet {
	uint8_t bytes[64];
	uint64_t words[8];
	hsa_kernel_dispatch_packet_t dispatch;
	hsa_barrier_and_packet_t barrier;
};
static_assert(sizeof(union aql_packet) == 64, "AQL");

struct device;

/* Fields are written by the processor unless noted; guarded by device.lock. */
struct queue {
	struct queue *next;
	struct device *dev;
	uint64_t id;
	uint32_t ordinal;
	uint32_t slot;	 /* in the doorbell page */
	uint32_t engine; /* SDMA */
	bool is_sdma;
	bool is_suspended; /* written by hsaKmtUpdateQueue, under device.lock */
	bool is_idle;
	bool is_early; /* `packet` was fetched ahead of its doorbell */
	uint8_t *ring;
	uint64_t ring_bytes;
	uint64_t *doorbell;
	uint64_t *read_ptr;
	uint64_t *write_ptr;
	amd_queue_t *aql;
	uint64_t read_index;
	uint64_t limit;
	uint64_t rung_limit; /* write index seen at the last doorbell */
	enum queue_state state;
	union aql_packet packet;
	uint64_t packet_index;
	uint64_t now_ns; /* virtual time of this queue */
	uint64_t start_ns, end_ns, due_ns;
	enum fault_kind fault;
	uint64_t delay_ns;
	struct meet_ticket meet;
	struct softgpu_truth_record *record;
	struct softgpu_truth_queue *stat;
	struct script_stall stall;
	uint64_t first_seen_ns;
	uint64_t *own_ptrs; /* SDMA: the read and write pointers the thunk provides */
	/* SDMA: since the last completion; packets is 0 if nothing */
	struct softgpu_truth_copy copy;
};

struct device {
	uint32_t ordinal, node;
	const struct gfx_target *gfx;
	pthread_mutex_t lock;
	struct queue *queues;
	pthread_t thread;
	bool has_thread;      /* guarded by lock */
	uint32_t stop;	      /* atomic */
	uint32_t api_waiting; /* atomic: threads that want the lock */
	/* Atomic: next engine that faces the host, and next of the others. */
	uint32_t next_engine[2];
	struct kernel_cache kernels;
	uint64_t due_ns; /* earliest moment something must happen; processor */
};

extern struct device softgpu_device[SOFTGPU_GPUS_MAX];
struct device *device_by_node(uint32_t node);
#define QUEUE_ANY_ENGINE UINT32_MAX
HSAKMT_STATUS queue_create(HSAuint32 node, HSA_QUEUE_TYPE type, uint32_t engine,
	HSAuint32 percentage, void *address, HSAuint64 bytes, HsaQueueResource *res);
/*
 * Does the same as the store to its doorbell. False if there is no such queue. Any thread; takes no
 * lock.
 */
bool queue_ring(HSA_QUEUEID id);
/* Between these two no processor does anything. */
void queue_hold_all(void);
void queue_release_all(void);
int queue_init_all(void);
void queue_stop_all(void);
/* Wakes processors that sleep because they had nothing to do for a while. */
void queue_kick(void);
/* Spins with pause instructions. */
void queue_relax(unsigned int times);

/* packet.c, sdma.c: do what can be done now; true if anything was done. Called by the processor. */
bool packet_step(struct queue *q);
bool sdma_step(struct queue *q);
uint64_t packet_tick(const struct queue *q, uint64_t ns);
void packet_restart_clock(struct queue *q);

/* open.c */
bool softgpu_is_open(void);
/*
 * Each runtime of a process has its own thunk, as from 6.3 on: its first open counts as one,
 * whatever another runtime has opened.
 */
void softgpu_open_for_each_runtime(void);
/* A child that forked after hsaKmtOpenKFD has our memory but no processors. */
bool softgpu_is_orphan(void);
