/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The state that the whole capture path shares: recorder, private data of slots (the injected
 * signals), queues, the table of application signals, shapes. Created once per process and never
 * freed, because an application thread may be inside a hook at any time.
 *
 * Locks, in this order, all plain atomics: coop_lock (front_end.c), a queue's walk word
 * (shadow.h), the harvest lock. The dispatch path only tries the last two; cold paths may wait.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include "proto/base/limits.h"
#include "shim/hsa/intercept_api.h"
#include "shim/record/recorder.h"
#include "shim/capture/tables/symbol_table.h"

#define CACHE_LINE_BYTES 64u

/* A packet that completes a signal of the program or waits for signals. */
struct packet_note {
	unsigned type;	     /* HSA_PACKET_TYPE_* */
	uint32_t queue;	     /* number of its block in the recorder */
	uint32_t tid;	     /* of the submitting thread; 0: unknown */
	uint64_t dispatches; /* of the queue, up to this packet */
	uint64_t submit_ns;
	uint64_t signal;	 /* 0: none */
	const hsa_signal_t *dep; /* the five of a barrier packet; NULL: none */
};

/*
 * Functions and settings that the capture path gets from the runtime and from the rest of the shim.
 */
struct capture_hsa {
	/* The runtime's functions, not our wrappers. */
	hsa_status_t (*signal_create)(hsa_signal_value_t initial, uint32_t num_consumers,
		const hsa_agent_t *consumers, uint64_t attributes, hsa_signal_t *signal);
	hsa_status_t (*signal_destroy)(hsa_signal_t signal);
	/*
	 * Memory for our own signals that all GPUs access: whole pages, uninitialised. If NULL,
	 * signal_create() makes the signals.
	 */
	void *(*signal_memory_get)(size_t bytes);
	void (*signal_memory_put)(void *memory);
	void (*signal_store_screlease)(hsa_signal_t signal, hsa_signal_value_t value);
	hsa_status_t (*set_profiler_enabled)(hsa_queue_t *queue, int enable);
	__typeof__(hsa_queue_create) *queue_create;
	__typeof__(hsa_queue_destroy) *queue_destroy;
	/* NULL if the runtime does not have it. */
	__typeof__(hsa_queue_create) *intercept_create;
	hsa_intercept_register *intercept_register;

	/*
	 * Cold: whether the host can read back the packets of this queue. If NULL, it always can.
	 */
	bool (*is_ring_readable)(const hsa_queue_t *queue);

	/*
	 * Cold: the gate of a GPU (index in Hello.gpus), see gate.h. If NULL, the gate of the
	 * process is used.
	 */
	const _Atomic uint64_t *(*gate_of)(uint32_t gpu);

	/* Hot, lock-free: 0 if unknown; with SYMBOL_UNWANTED if --kernels leaves the kernel out. */
	uint32_t (*symbol_of)(uint64_t kernel_object);
	/* The table behind symbol_of(), for a first look without a call. May be NULL. */
	const struct symbol_entry *symbols;
	uint32_t symbols_mask;
	/*
	 * Harvester only, may lock: defines the symbol kernel@0x... for an unknown kernel; never
	 * returns 0.
	 */
	uint32_t (*symbol_define)(uint64_t kernel_object);
	/* Hot: whether this process cannot read the times of the signal. May be NULL. */
	bool (*signal_is_ipc)(uint64_t handle);

	/*
	 * Cold: whether the host reads packets back, so that the last packet of a reservation of
	 * several must stay without our signal (shadow rule 10). If NULL, it does not.
	 */
	bool (*reads_packets_back)(void);
	/* Queues are unlikely to be followed, so nothing is prepared for them. */
	bool expects_no_queues;
	/* Mode lite: packets with a signal of the application become rows without times. */
	bool leave_own_signals;
	/* Mode hip: a dispatch by a thread that is in no host call is counted. */
	bool count_unlinked;
	/* Mode barriers; hot, lock-free. NULL: not asked for. */
	void (*packet_note)(const struct packet_note *note);
};

struct capture;
struct pace;
struct shadow_table;
struct walks;

/* The beginning of struct capture, which every hook reads. */
struct capture_head {
	/*
	 * In a page of its own, which the kernel zeroes in a child however it is made. 0: call the
	 * originals.
	 */
	_Atomic uint32_t *is_ours;
	struct shadow_table *shadow;
};

/*
 * For front_ends/create.h, which makes the walks and their tables. -ENOMEM, or the error of
 * recorder_create().
 */
int capture_new(const struct recorder_identity *identity, const struct capture_hsa *hsa,
	const struct walks *walks, struct capture **ret);

/* For capture_free(). Destroys the signals. Returns NULL. */
struct capture *capture_done(struct capture *capture);

struct recorder *capture_recorder(struct capture *capture);
const struct capture_hsa *capture_hsa_of(const struct capture *capture);

/* Time until the shim thread has to harvest again: pacing.h. */
const struct pace *capture_pace(const struct capture *capture);

/* Called in OnUnload: from now on dispatches count as skipped_shutdown; queues stay virtualised. */
void capture_stop(struct capture *capture);

/*
 * Called in OnUnload if nothing is pending and shadow_quiesce() returned true: returns our signals
 * to the runtime, which complains about signals that are left at its end.
 */
void capture_release_signals(struct capture *capture);

/* For the child of fork(): from now on every hook calls the original. */
void capture_pass_through(struct capture *capture);

static inline bool capture_is_pass_through(const struct capture *capture)
{
	const struct capture_head *head = (const struct capture_head *)(const void *)capture;

	return !atomic_load_explicit(head->is_ours, memory_order_relaxed);
}

/* Number of records that are in flight, or finished and not yet in a published frame. */
uint64_t capture_pending(const struct capture *capture);
