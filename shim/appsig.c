// SPDX-License-Identifier: MIT
#include "shim/appsig.h"

#include <sched.h>

#include <hsa/amd_hsa_signal.h>

enum claim_state {
	CLAIM_NONE,
	CLAIM_PENDING,
	CLAIM_BUSY,
	CLAIM_SPOILED, /* the reader was overtaken: what it reads is not to be used */
	CLAIM_EARLY,
};
#define CLAIM_STATE_BITS 3
#define ENTRY_SLOT_BITS	 18
static_assert(RECORDER_SLOTS < 1u << ENTRY_SLOT_BITS, "slot references in table entries");

/* A dispatching thread waits at most so many looks for the one who reads. */
#define BUSY_LOOKS_MAX 100

static uint64_t claim_of(uint64_t generation, enum claim_state state)
{
	return generation << CLAIM_STATE_BITS | state;
}

static _Atomic uint64_t *bucket_of(struct capture *c, uint64_t handle)
{
	uint64_t hash = handle / sizeof(amd_signal_t) * 0x9e3779b97f4a7c15ull;

	return c->appsig[hash >> 32 & (APPSIG_BUCKETS - 1)];
}

static bool entry_add(struct capture *c, uint64_t handle, uint64_t entry)
{
	_Atomic uint64_t *bucket = bucket_of(c, handle);

	for (unsigned i = 0; i < APPSIG_WAYS; i++) {
		uint64_t empty = 0;

		if (atomic_load_explicit(&bucket[i], memory_order_relaxed))
			continue;
		if (atomic_compare_exchange_strong(&bucket[i], &empty, entry)) {
			atomic_fetch_add_explicit(&c->appsig_count, 1, memory_order_relaxed);
			return true;
		}
	}
	return false;
}

static void entry_remove(struct capture *c, uint64_t handle, uint64_t entry)
{
	_Atomic uint64_t *bucket = bucket_of(c, handle);

	for (unsigned i = 0; i < APPSIG_WAYS; i++) {
		uint64_t expected = entry;

		if (atomic_compare_exchange_strong(&bucket[i], &expected, 0)) {
			/* Release: who sees 0 may free the signal that was read before. */
			atomic_fetch_sub_explicit(&c->appsig_count, 1, memory_order_release);
			return;
		}
	}
}

static uint64_t entry_of(slot_ref ref, uint64_t generation)
{
	return generation << ENTRY_SLOT_BITS | ref;
}

/* What the claim's holder sees; sets why, start, end when it is over. */
static enum appsig_state signal_read(
	struct capture *c, struct slot_private *private, uint64_t handle)
{
	const amd_signal_t *signal = (const amd_signal_t *)(uintptr_t)handle;
	int64_t value = __atomic_load_n(&signal->value, __ATOMIC_ACQUIRE);
	uint64_t end = __atomic_load_n(&signal->end_ts, __ATOMIC_ACQUIRE);
	uint64_t start = __atomic_load_n(&signal->start_ts, __ATOMIC_RELAXED);

	if (private->why != RTL_TIMED)
		return value <= private->target ? APPSIG_FINISHED : APPSIG_PENDING;
	/* The times come before the value: it may have fallen since it was read. */
	if (value > private->target && end)
		value = __atomic_load_n(&signal->value, __ATOMIC_ACQUIRE);
	if (value > private->target && !end)
		return APPSIG_PENDING;
	if (value > private->target && !atomic_load(&c->times_come_late))
		return APPSIG_DOUBTFUL;
	if (value > private->target) {
		/* An earlier packet's, most likely, and ours may be overwritten by them. */
		private->why = RTL_UNTIMED_EARLY;
		return APPSIG_FINISHED;
	}
	if (!start || end < start)
		return APPSIG_FIRED_NO_TIME;
	private->start = start;
	private->end = end;
	return APPSIG_FINISHED;
}

/* BUSY back to @state, unless somebody could not wait and has spoiled the reading. */
static bool claim_leave(struct slot_private *private, uint64_t generation, enum claim_state state)
{
	uint64_t busy = claim_of(generation, CLAIM_BUSY);

	return atomic_compare_exchange_strong(&private->claim, &busy, claim_of(generation, state));
}

/* The only exit of a watched signal: from now on nobody looks at it. */
static void claim_finish(struct capture *c, slot_ref ref, uint64_t generation, uint64_t handle)
{
	struct slot_private *private = slot_private_of(c, ref);

	entry_remove(c, handle, entry_of(ref, generation));
	if (!claim_leave(private, generation, CLAIM_EARLY)) {
		private->why = RTL_UNTIMED_EARLY;
		atomic_store(&private->claim, claim_of(generation, CLAIM_EARLY));
	}
}

/* The signal serves another packet while ours still runs: neither can be timed. */
static int64_t claim_share(struct slot_private *private)
{
	if (private->why == RTL_TIMED)
		private->why = RTL_UNTIMED_SHARED;
	return private->target;
}

static bool claim_take(struct slot_private *private, uint64_t generation, enum appsig_use use)
{
	for (unsigned looks = 0;; looks++) {
		uint64_t claim = claim_of(generation, CLAIM_PENDING);

		if (atomic_compare_exchange_strong(
			    &private->claim, &claim, claim_of(generation, CLAIM_BUSY)))
			return true;
		if (claim != claim_of(generation, CLAIM_BUSY) &&
			(use != APPSIG_DESTROY || claim != claim_of(generation, CLAIM_SPOILED)))
			return false; /* finished meanwhile */
		if (use == APPSIG_DESTROY)
			sched_yield(); /* cold, and its reader needs only a few loads */
		else if (looks < BUSY_LOOKS_MAX)
			__builtin_ia32_pause();
		else if (atomic_compare_exchange_strong(
				 &private->claim, &claim, claim_of(generation, CLAIM_SPOILED)))
			return false;
	}
}

/*
 * One watched packet whose signal is about to be used otherwise. Returns the value at which
 * it will have finished when it runs on (shared), else INT64_MAX.
 */
static int64_t entry_used(struct capture *c, uint64_t entry, uint64_t handle, enum appsig_use use)
{
	slot_ref ref = entry & ((1u << ENTRY_SLOT_BITS) - 1);
	uint64_t generation = entry >> ENTRY_SLOT_BITS;
	struct slot_private *private = slot_private_of(c, ref);
	int64_t target = INT64_MAX;

	if (!claim_take(private, generation, use))
		return INT64_MAX;
	switch (signal_read(c, private, handle)) {
	case APPSIG_FINISHED:
		claim_finish(c, ref, generation, handle);
		break;
	case APPSIG_FIRED_NO_TIME:
		atomic_store(&c->times_come_late, true);
		/* fall through */
	case APPSIG_DOUBTFUL:
		private->why = RTL_UNTIMED_EARLY;
		claim_finish(c, ref, generation, handle);
		break;
	case APPSIG_PENDING:
		if (use == APPSIG_PACKET) {
			target = claim_share(private);
			if (claim_leave(private, generation, CLAIM_PENDING))
				break;
		}
		/* Any doubt drops the time and keeps the record. */
		private->why = RTL_UNTIMED_EARLY;
		claim_finish(c, ref, generation, handle);
		break;
	}
	return target;
}

/* All watched packets of @handle but @except; the lowest value among those that run on. */
static int64_t handle_used(struct capture *c, uint64_t handle, uint64_t except, enum appsig_use use)
{
	_Atomic uint64_t *bucket = bucket_of(c, handle);
	int64_t lowest = INT64_MAX;

	for (unsigned i = 0; i < APPSIG_WAYS; i++) {
		uint64_t entry = atomic_load(&bucket[i]);
		slot_ref ref = entry & ((1u << ENTRY_SLOT_BITS) - 1);
		int64_t target;

		if (!entry || entry == except)
			continue;
		if (atomic_load_explicit(
			    &slot_private_of(c, ref)->app_handle, memory_order_relaxed) != handle)
			continue;
		target = entry_used(c, entry, handle, use);
		if (target < lowest)
			lowest = target;
	}
	return lowest;
}

void appsig_used(struct capture *c, uint64_t handle, enum appsig_use use)
{
	if (handle && atomic_load_explicit(&c->appsig_count, memory_order_acquire))
		(void)handle_used(c, handle, 0, use);
}

void appsig_watch(struct capture *c, slot_ref ref, uint64_t handle)
{
	struct slot_private *private = slot_private_of(c, ref);
	amd_signal_t *signal = (amd_signal_t *)(uintptr_t)handle;
	uint64_t claim = atomic_load_explicit(&private->claim, memory_order_relaxed);
	uint64_t generation = (claim >> CLAIM_STATE_BITS) + 1;
	int64_t shared;

	private->kind = SLOT_APP;
	if (c->hsa.signal_is_ipc && c->hsa.signal_is_ipc(handle)) {
		private->kind = SLOT_PLAIN;
		private->why = RTL_UNTIMED_IPC;
		return;
	}
	generation &= UINT64_MAX >> ENTRY_SLOT_BITS;
	atomic_store_explicit(&private->app_handle, handle, memory_order_relaxed);
	shared = handle_used(c, handle, 0, APPSIG_PACKET);
	if (shared != INT64_MAX) {
		/* Each of the packets takes one off the value; this one is the last so far. */
		private->why = RTL_UNTIMED_SHARED;
		private->target = shared - 1;
	} else {
		private->target = __atomic_load_n(&signal->value, __ATOMIC_RELAXED) - 1;
		__atomic_store_n(&signal->start_ts, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&signal->end_ts, 0, __ATOMIC_RELAXED);
	}
	atomic_store(&private->claim, claim_of(generation, CLAIM_PENDING));
	if (!entry_add(c, handle, entry_of(ref, generation))) {
		/* More signals than can be watched: we would miss a re-use. */
		atomic_store(&private->claim, claim_of(generation, CLAIM_NONE));
		private->kind = SLOT_PLAIN;
		if (private->why == RTL_TIMED)
			private->why = RTL_UNTIMED_EARLY;
		return;
	}
	/* Another queue may have come between look-up and entry: then both saw nothing. */
	if (handle_used(c, handle, entry_of(ref, generation), APPSIG_PACKET) != INT64_MAX) {
		claim = claim_of(generation, CLAIM_PENDING);
		if (atomic_compare_exchange_strong(
			    &private->claim, &claim, claim_of(generation, CLAIM_BUSY))) {
			(void)claim_share(private);
			if (!claim_leave(private, generation, CLAIM_PENDING)) {
				private->why = RTL_UNTIMED_EARLY;
				claim_finish(c, ref, generation, handle);
			}
		}
	}
}

static const uint8_t why_undecided[] = {
	[APPSIG_PENDING] = RTL_UNTIMED_TIMESTAMP_FAILED,
	[APPSIG_DOUBTFUL] = RTL_UNTIMED_EARLY,
	[APPSIG_FIRED_NO_TIME] = RTL_UNTIMED_TIMESTAMP_INVALID,
};

enum appsig_state appsig_poll(struct capture *c, slot_ref ref, bool is_last)
{
	struct slot_private *private = slot_private_of(c, ref);
	uint64_t handle = atomic_load_explicit(&private->app_handle, memory_order_relaxed);
	uint64_t claim = atomic_load(&private->claim);
	uint64_t generation = claim >> CLAIM_STATE_BITS;
	enum appsig_state state;

	if (claim == claim_of(generation, CLAIM_EARLY))
		return APPSIG_FINISHED;
	claim = claim_of(generation, CLAIM_PENDING);
	if (!atomic_compare_exchange_strong(
		    &private->claim, &claim, claim_of(generation, CLAIM_BUSY)))
		return claim == claim_of(generation, CLAIM_EARLY) ? APPSIG_FINISHED
								  : APPSIG_PENDING;
	state = signal_read(c, private, handle);
	if (state != APPSIG_FINISHED && is_last) {
		if (private->why == RTL_TIMED)
			private->why = why_undecided[state];
		state = APPSIG_FINISHED;
	}
	if (state == APPSIG_FINISHED || !claim_leave(private, generation, CLAIM_PENDING)) {
		/* Spoiled while we read: the signal is no longer ours to watch. */
		if (state != APPSIG_FINISHED)
			private->why = RTL_UNTIMED_EARLY;
		claim_finish(c, ref, generation, handle);
		state = APPSIG_FINISHED;
	}
	return state;
}
