/* SPDX-License-Identifier: MIT */
#include "shim/capture/signals.h"

#include <hsa/amd_hsa_signal.h>

#include "shim/base/ahead.h"

static_assert(sizeof(amd_signal_t) == 64, "what the device knows of a signal");
static_assert(RECORDER_SLOTS == SIGNAL_CHUNKS * SIGNALS_OF_CHUNK, "signal_chunk");

void signals_reset(uint64_t handle)
{
	amd_signal_t *signal = (amd_signal_t *)(uintptr_t)handle;

	if (!handle)
		return;
	__atomic_store_n(&signal->start_ts, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&signal->end_ts, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&signal->value, 1, __ATOMIC_RELEASE);
}

/* GPU_ONLY: without a driver event or interrupt, since no thread ever sleeps on it. */
static uint64_t runtime_signal(struct capture *c)
{
	hsa_signal_t signal = {0};

	if (c->hsa.signal_create(1, 0, NULL, HSA_AMD_SIGNAL_AMD_GPU_ONLY, &signal) !=
		HSA_STATUS_SUCCESS)
		return 0;
	return signal.handle;
}

static void raise_to(_Atomic uint64_t *word, uint64_t value)
{
	uint64_t old = atomic_load_explicit(word, memory_order_relaxed);

	while (old < value && !atomic_compare_exchange_weak_explicit(word, &old, value,
				      memory_order_relaxed, memory_order_relaxed))
		;
}

/* Called before there is a signal in @memory. */
static void bounds_widen(struct capture *c, const amd_signal_t *memory)
{
	raise_to(&c->signals_before, ~(uint64_t)(uintptr_t)memory);
	raise_to(&c->signals_end, (uint64_t)(uintptr_t)(memory + SIGNALS_OF_CHUNK));
}

bool signals_has_among(struct capture *c, uint64_t handle)
{
	uint32_t chunks =
		(recorder_slots_used(&c->recorder) + SIGNALS_OF_CHUNK - 1) / SIGNALS_OF_CHUNK;

	for (uint32_t i = 0; i < chunks; i++) {
		uint64_t memory = (uint64_t)(uintptr_t)atomic_load_explicit(
			&c->signal_chunk[i], memory_order_relaxed);

		if (memory && handle - memory < SIGNALS_OF_CHUNK * sizeof(amd_signal_t))
			return true;
	}
	return false;
}

/*
 * If two threads get a chunk, the second one returns its memory, so that neither waits for the
 * other's call into the runtime.
 */
static amd_signal_t *chunk_get(struct capture *c, uint32_t chunk)
{
	amd_signal_t *memory = atomic_load_explicit(&c->signal_chunk[chunk], memory_order_acquire);
	amd_signal_t *none = NULL;

	if (memory)
		return memory;
	memory = c->hsa.signal_memory_get(SIGNALS_OF_CHUNK * sizeof(*memory));
	if (!memory)
		return NULL;
	bounds_widen(c, memory);
	if (atomic_compare_exchange_strong_explicit(&c->signal_chunk[chunk], &none, memory,
		    memory_order_acq_rel, memory_order_acquire))
		return memory;
	c->hsa.signal_memory_put(memory);
	return none;
}

/* An event mailbox of 0 means that the signal raises no interrupt. */
static uint64_t own_signal(struct capture *c, slot_ref ref)
{
	amd_signal_t *signal = chunk_get(c, (ref - 1) / SIGNALS_OF_CHUNK);

	if (!signal)
		return 0;
	signal += (ref - 1) % SIGNALS_OF_CHUNK;
	*signal = (amd_signal_t){.kind = AMD_SIGNAL_KIND_USER};
	return (uint64_t)(uintptr_t)signal;
}

void signals_give(struct capture *c, slot_ref ref)
{
	struct slot_private *private = slot_private_of(c, ref);

	if (private->injected)
		return;
	private->injected = c->hsa.signal_memory_get ? own_signal(c, ref) : runtime_signal(c);
	if (!private->injected)
		return; /* the slot records its dispatches as untimed_signal_pool */
	signals_reset(private->injected);
	recorder_count(&c->recorder, RTL_P_signals_created, 1);
}

void signals_touch(struct capture *c, slot_ref first, uint32_t count)
{
	uint32_t index = first - 1;

	while (c->hsa.signal_memory_get && count) {
		amd_signal_t *signal = chunk_get(c, index / SIGNALS_OF_CHUNK);
		uint32_t at = index % SIGNALS_OF_CHUNK;
		uint32_t n = SIGNALS_OF_CHUNK - at < count ? SIGNALS_OF_CHUNK - at : count;

		if (signal)
			ahead_all(signal + at, n * sizeof(*signal));
		index += n;
		count -= n;
	}
}

/*
 * Replaces signals that are left to the device: queues that are destroyed later find it not fired.
 */
static amd_signal_t silent = {.kind = AMD_SIGNAL_KIND_USER, .value = 1};

void signals_keep(struct capture *c, slot_ref ref)
{
	if (c->hsa.signal_memory_get)
		c->signal_chunks_kept |= 1u << (ref - 1) / SIGNALS_OF_CHUNK;
	else
		slot_private_of(c, ref)->injected = (uint64_t)(uintptr_t)&silent;
}

static void runtime_signals_done(struct capture *c)
{
	for (uint32_t i = 0; i < recorder_slots_used(&c->recorder); i++) {
		uint64_t handle = c->slots[i].injected;

		if (!handle || handle == (uint64_t)(uintptr_t)&silent)
			continue;
		(void)c->hsa.signal_destroy((hsa_signal_t){handle});
		c->slots[i].injected = 0;
	}
}

void signals_done(struct capture *c)
{
	if (!c->hsa.signal_memory_get) {
		runtime_signals_done(c);
		return;
	}
	for (uint32_t i = 0; i < SIGNAL_CHUNKS; i++) {
		amd_signal_t *memory;

		if (c->signal_chunks_kept >> i & 1)
			continue;
		memory = atomic_exchange_explicit(&c->signal_chunk[i], NULL, memory_order_acquire);
		if (memory)
			c->hsa.signal_memory_put(memory);
	}
}
