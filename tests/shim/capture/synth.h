/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A synthetic HSA runtime and device, as far as the capture path can see them: queues with ring and
 * doorbell, signals in plain memory, and a processor that consumes packets like a real one. Records
 * are compared with what it executed. The processor runs in its own thread (synth_start) or step by
 * step under the test (synth_step).
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>

#include "shim/capture/capture.h"

enum synth_mode {
	SYNTH_DOORBELL, /* reads the write index when the doorbell was rung */
	SYNTH_EAGER,	/* polls the write index: fetches a packet as soon as it is visible */
	SYNTH_TORN,	/* the same, and reads the signal field before the header */
};

/* One executed kernel dispatch, in the order of the queue. */
struct synth_exec {
	uint64_t index; /* in the AQL queue */
	uint64_t kernel_object;
	uint64_t signal;
	uint64_t cookie;     /* from the packet */
	uint64_t start, end; /* ticks */
	uint32_t grid[3];
	uint16_t workgroup[3];
	uint32_t lds, scratch;
	bool has_barrier, is_done;
	bool is_bad; /* its signal had already fired: it was in two packets */
};

struct synth_queue {
	amd_queue_t amd;
	hsa_kernel_dispatch_packet_t *ring;
	amd_signal_t doorbell;
	_Atomic uint64_t doorbell_value;
	_Atomic uint64_t rings;
	uint64_t rings_seen;
	uint32_t block;				    /* index in the recorder */
	void (*on_ring)(struct synth_queue *queue); /* for a proxy: passes its packets on */

	/* Owned by the processor. */
	struct synth_exec *exec;
	size_t execs, capacity;
	_Atomic uint64_t executed; /* number of kernels ever completed */
	uint64_t timed;		   /* and of those of them that had a signal */
	size_t first_running;	   /* everything before it is done */
	size_t running;
	size_t barriers;     /* number of other packets consumed */
	uint64_t holds;	     /* execs from here on stay running, for step by step tests */
	bool has_reordering; /* packets without a barrier bit complete out of order */
	bool has_late_times; /* the value is stored before the times */
	bool has_no_times;
	bool has_countdowns; /* signals of the application go on below 1 */
	uint64_t late;	     /* exec + 1 whose times are still to be written; 0 if none */
};

#define SYNTH_QUEUES_MAX 1024u
#define SYNTH_HOLD_NONE	 UINT64_MAX

struct synth {
	enum synth_mode mode;
	struct synth_queue *queue[SYNTH_QUEUES_MAX];
	_Atomic unsigned queues;
	_Atomic bool stop;
	uint64_t tick;
	uint64_t (*clock)(void); /* source of ticks; NULL for a counter */
	uint64_t tick_mask;	 /* the device's counter wraps at this mask */
	long pause_ns;		 /* pause of the processor's thread when it has nothing to do */
	bool takes_cookie;	 /* the packet's cookie is the kernel's duration in ticks */
	bool is_forgetful; /* executed packets are not stored, for long runs without comparison */
	unsigned long thread;
	_Atomic uint64_t signals_live;
	bool has_thread;
};

/* The functions for capture_create(); one synthetic runtime per process. */
void synth_hsa(struct capture_hsa *ret);
extern struct synth synth;

/* @packets must be a power of two. The processor sees the queue at once. */
struct synth_queue *synth_queue_new(uint32_t packets);
/* Like hsa_queue_destroy(): what is running is abandoned. Not while the processor's thread runs. */
void synth_queue_free(struct synth_queue *queue);

void synth_start(enum synth_mode mode);
void synth_stop(void);
/* Consumes and completes what it can; returns whether anything happened. */
bool synth_step(struct synth_queue *queue, enum synth_mode mode);

hsa_signal_t synth_signal_new(int64_t value);
void synth_signal_free(hsa_signal_t signal);
int64_t synth_signal_load(hsa_signal_t signal);
/* The runtime's function: rings if @signal is a doorbell. */
void synth_signal_store(hsa_signal_t signal, int64_t value);

/* ---- the application: the same calls that the hooks make ------------------------------- */

hsa_queue_t *synth_hsa_queue(struct synth_queue *queue);
int synth_adopt(struct capture *capture, struct synth_queue *queue, uint32_t gpu);
uint64_t synth_add_index(struct capture *capture, struct synth_queue *queue, uint64_t n);
void synth_ring(struct capture *capture, struct synth_queue *queue, uint64_t value);
/* hsa_signal_store through the hook. */
void synth_store(struct capture *capture, hsa_signal_t signal, int64_t value);

/* Third byte of a vendor-specific packet: the extended kernel dispatch, and a barrier. */
#define SYNTH_FORMAT_EXTENDED 3u
#define SYNTH_FORMAT_BARRIER  2u

struct synth_packet {
	unsigned type;	/* hsa_packet_type_t */
	uint8_t format; /* for a vendor-specific packet */
	bool has_barrier;
	uint64_t kernel_object;
	uint64_t signal;
	uint64_t cookie;  /* copied to the packet's synth_exec */
	uint32_t variant; /* selects the geometry */
};

/* Waits (yielding) until the ring has room for @index, then writes body and header. */
void synth_put(struct synth_queue *queue, uint64_t index, const struct synth_packet *packet);
void synth_geometry(uint32_t variant, uint32_t grid[3], uint16_t workgroup[3], uint32_t *lds,
	uint32_t *scratch);

/* Reserves the index, writes the packet and rings. */
uint64_t synth_submit(
	struct capture *capture, struct synth_queue *queue, const struct synth_packet *packet);

uint64_t synth_wdid(const struct synth_queue *queue);
