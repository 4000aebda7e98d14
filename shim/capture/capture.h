/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The state that all of the capture path shares: recorder, per-slot private data (the injected
 * signals), queues, the table of application signals, shapes. Created once a process and
 * never freed, because an application thread may be inside a hook at any time.
 *
 * Locks: that of queues' holders (front_end.c), a queue's walk word (shadow.h) and the harvest lock, all plain
 * atomics, in this order. The dispatch path only ever tries the last two; cold paths may wait.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include "proto/base/limits.h"
#include "shim/hsa/intercept_api.h"
#include "shim/record/recorder.h"
#include "shim/capture/symbol_table.h"

#define CACHE_LINE_BYTES 64u

/* Symbol ids are below PROCESS_SYMBOLS_MAX. */
#define SYMBOL_UNWANTED (1u << 31)

/* What the capture path needs from the runtime and from the rest of the shim. */
struct capture_hsa {
	/* Originals, not wrappers. */
	hsa_status_t (*signal_create)(hsa_signal_value_t initial, uint32_t num_consumers,
		const hsa_agent_t *consumers, uint64_t attributes, hsa_signal_t *signal);
	hsa_status_t (*signal_destroy)(hsa_signal_t signal);
	/* Memory for signals of our own, which all GPUs reach; of any content, whole pages. NULL:
	 * signal_create() makes them. */
	void *(*signal_memory_get)(size_t bytes);
	void (*signal_memory_put)(void *memory);
	void (*signal_store_screlease)(hsa_signal_t signal, hsa_signal_value_t value);
	hsa_status_t (*set_profiler_enabled)(hsa_queue_t *queue, int enable);
	__typeof__(hsa_queue_create) *queue_create;
	__typeof__(hsa_queue_destroy) *queue_destroy;
	/* NULL where the runtime has none. */
	__typeof__(hsa_queue_create) *intercept_create;
	hsa_intercept_register *intercept_register;

	/* Cold: whether the packets of this queue can be read back. May be NULL: all can. */
	bool (*is_ring_readable)(const hsa_queue_t *queue);

	/* Cold: the gate of a GPU (index in Hello.gpus), see gate.h. NULL: that of the process. */
	const _Atomic uint64_t *(*gate_of)(uint32_t gpu);

	/* Hot: lock-free, 0 when unknown; with SYMBOL_UNWANTED where --kernels leaves it out. */
	uint32_t (*symbol_of)(uint64_t kernel_object);
	/* Likewise, without a call: where symbol_of() looks first. May be NULL. */
	const struct symbol_entry *symbols;
	uint32_t symbols_mask;
	/* Harvester only, may lock: defines kernel@0x... for an unknown one; never 0. */
	uint32_t (*symbol_define)(uint64_t kernel_object);
	/* Hot: whether the times of this signal cannot be read here. May be NULL. */
	bool (*signal_is_ipc)(uint64_t handle);

	/* Cold: whether the host looks at its packets again, so that the last one of a reservation
	 * of several has to stay without our signal (shadow rule 10). May be NULL: it does not. */
	bool (*reads_packets_back)(void);
	/* No queue will be followed but by chance: nothing is made ready for one. */
	bool expects_no_queues;
	/* Mode lite: packets with a signal of the application's are rows without a time. */
	bool leave_own_signals;
	/* Mode hip: a dispatch of a thread that is in no host call is counted. */
	bool count_unlinked;
};

struct capture;
struct pace;
struct shadow_table;

/* The beginning of struct capture: what every hook looks at. */
struct capture_head {
	/* A page of its own that is zero in a child, however that was made: 0: pass through. */
	_Atomic uint32_t *is_ours;
	struct shadow_table *shadow;
};

/* -ENOMEM, or what recorder_create() says. Never freed by the shim. */
int capture_create(const struct recorder_identity *identity, const struct capture_hsa *hsa,
	struct capture **ret);

/* For tests: all queues destroyed, no thread inside. Destroys the signals. */
struct capture *capture_free(struct capture *capture);

struct recorder *capture_recorder(struct capture *capture);
const struct capture_hsa *capture_hsa_of(const struct capture *capture);

/* When what was harvested needs the shim's thread again: pacing.h. */
const struct pace *capture_pace(const struct capture *capture);

/* OnUnload: from now on dispatches count as skipped_shutdown; queues stay virtualised. */
void capture_stop(struct capture *capture);

/*
 * OnUnload, when nothing is pending and shadow_quiesce() said yes: gives our signals back to
 * the runtime, which complains about those that it still has at its end.
 */
void capture_release_signals(struct capture *capture);

/* pthread_atfork's child: every hook has to call the original from now on. */
void capture_pass_through(struct capture *capture);

static inline bool capture_is_pass_through(const struct capture *capture)
{
	const struct capture_head *head = (const struct capture_head *)(const void *)capture;

	return !atomic_load_explicit(head->is_ours, memory_order_relaxed);
}

/* Records in flight or finished and not yet in a published frame. */
uint64_t capture_pending(const struct capture *capture);
