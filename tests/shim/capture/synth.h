/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A synthetic HSA runtime and device, as much as the capture path can see: queues with ring
 * and doorbell, signals in plain memory, and a processor that consumes packets as a real one
 * does. What it executed is the oracle that records are compared with. The processor runs in
 * a thread of its own (synth_start) or step by step under the test (synth_step).
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>

#include "shim/capture/capture.h"

enum synth_mode {
	SYNTH_DOORBELL, /* looks at the write index when the doorbell was rung */
	SYNTH_EAGER,	/* looks all the time: a packet is fetched as soon as it is visible */
	SYNTH_TORN,	/* likewise, and reads the signal field before the header */
};

/* One executed kernel dispatch; their order is the order of the queue. */
struct synth_exec {
	uint64_t index; /* in the AQL queue */
	uint64_t kernel_object;
	uint64_t signal;
	uint64_t cookie;     /* of the packet */
	uint64_t start, end; /* ticks */
	uint32_t grid[3];
	uint16_t workgroup[3];
	uint32_t lds, scratch;
	bool has_barrier, is_done;
	bool is_bad; /* its signal had fired already: it was given to two packets */
};

struct synth_queue {
	amd_queue_t amd;
	hsa_kernel_dispatch_packet_t *ring;
	amd_signal_t doorbell;
	_Atomic uint64_t doorbell_value;
	_Atomic uint64_t rings;
	uint64_t rings_seen;
	uint32_t block;				    /* of the recorder */
	void (*on_ring)(struct synth_queue *queue); /* of a proxy: who hands its packets on */

	/* The processor's. */
	struct synth_exec *exec;
	size_t execs, capacity;
	_Atomic uint64_t executed; /* kernels ever completed */
	size_t first_running;	   /* everything before is done */
	size_t running;
	size_t barriers;     /* other packets consumed */
	uint64_t holds;	     /* execs from here on stay running, for step by step tests */
	bool has_reordering; /* packets without a barrier bit end in another order */
	bool has_late_times; /* the value falls before the times are there */
	bool has_no_times;
	bool has_countdowns; /* signals of the application go on below 1 */
	uint64_t late; /* exec + 1 whose times are due; 0: none */
};

#define SYNTH_QUEUES_MAX 1024u
#define SYNTH_HOLD_NONE	 UINT64_MAX

struct synth {
	enum synth_mode mode;
	struct synth_queue *queue[SYNTH_QUEUES_MAX];
	_Atomic unsigned queues;
	_Atomic bool stop;
	uint64_t tick;
	uint64_t (*clock)(void); /* what ticks follow; NULL: they are a count */
	uint64_t tick_mask;	 /* of the counter that the device shows: it wraps there */
	long pause_ns;		 /* of the processor's thread that found nothing to do */
	bool takes_cookie;	 /* a kernel takes as many ticks as its packet's cookie says */
	bool is_forgetful;	 /* what is done is not kept: for long runs without an oracle */
	unsigned long thread;
	_Atomic uint64_t signals_live;
	bool has_thread;
};

/* The functions for capture_create(): one synthetic runtime a process. */
void synth_hsa(struct capture_hsa *ret);
extern struct synth synth;

/* Rounds @packets as given (a power of two). The queue is known to the processor at once. */
struct synth_queue *synth_queue_new(uint32_t packets);
/* As hsa_queue_destroy: what runs is abandoned. Not while the processor's thread runs. */
void synth_queue_free(struct synth_queue *queue);

void synth_start(enum synth_mode mode);
void synth_stop(void);
/* Consumes and completes what can be; returns whether anything happened. */
bool synth_step(struct synth_queue *queue, enum synth_mode mode);

hsa_signal_t synth_signal_new(int64_t value);
void synth_signal_free(hsa_signal_t signal);
int64_t synth_signal_load(hsa_signal_t signal);
/* Of the runtime: a doorbell rings. */
void synth_signal_store(hsa_signal_t signal, int64_t value);

/* ---- the application: the same calls that the hooks make ---------------------------------- */

hsa_queue_t *synth_hsa_queue(struct synth_queue *queue);
int synth_adopt(struct capture *capture, struct synth_queue *queue, uint32_t gpu);
uint64_t synth_add_index(struct capture *capture, struct synth_queue *queue, uint64_t n);
void synth_ring(struct capture *capture, struct synth_queue *queue, uint64_t value);
/* hsa_signal_store through the hook. */
void synth_store(struct capture *capture, hsa_signal_t signal, int64_t value);

/* Third byte of a vendor specific packet: the extended kernel dispatch, and a barrier. */
#define SYNTH_FORMAT_EXTENDED 3u
#define SYNTH_FORMAT_BARRIER  2u

struct synth_packet {
	unsigned type;	/* hsa_packet_type_t */
	uint8_t format; /* of a vendor specific one */
	bool has_barrier;
	uint64_t kernel_object;
	uint64_t signal;
	uint64_t cookie;  /* whatever the test wants to find in its synth_exec */
	uint32_t variant; /* decides the geometry */
};

/* Waits (yielding) until the ring has room for @index, then writes body and header. */
void synth_put(struct synth_queue *queue, uint64_t index, const struct synth_packet *packet);
void synth_geometry(uint32_t variant, uint32_t grid[3], uint16_t workgroup[3], uint32_t *lds,
	uint32_t *scratch);

/* Index, packet, doorbell. */
uint64_t synth_submit(
	struct capture *capture, struct synth_queue *queue, const struct synth_packet *packet);

uint64_t synth_wdid(const struct synth_queue *queue);
