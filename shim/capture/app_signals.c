// SPDX-License-Identifier: MIT
#include "shim/capture/app_signals.h"

#include <hsa/amd_hsa_signal.h>

#include "shim/base/wait.h"

enum claim_state {
	CLAIM_NONE,
	CLAIM_PENDING, /* no claim returns to this state, so a reader can detect interference */
	CLAIM_COUNTED, /* pending too, but without times: only the signal's value matters */
	CLAIM_BUSY,
	CLAIM_SPOILED, /* the thread in BUSY was overtaken and must discard what it reads */
	CLAIM_READ, /* a thread about to overwrite the signal has read it and writes the result */
	CLAIM_EARLY,
};
#define CLAIM_STATE_BITS 3
#define ENTRY_SLOT_BITS	 18
static_assert(RECORDER_SLOTS < 1u << ENTRY_SLOT_BITS, "slot references in table entries");
/*
 * Each entry has a 1 in its upper bits, so the sum over a bucket has the number of its entries
 * there.
 */
#define ENTRY_SPARE_BITS 4
#define ENTRY_ONE	 (1ull << (64 - ENTRY_SPARE_BITS))
static_assert(APPSIG_WAYS < 1u << ENTRY_SPARE_BITS, "sums of table entries");

/* A dispatching thread checks at most this many times whether the reading thread has finished. */
#define BUSY_CHECKS_MAX	    100
/*
 * A thread that destroys a signal waits at most this long, some 0.2 s, for an observing thread.
 * That one needs a few loads; if it left them by siglongjmp(), it will never release its place.
 */
#define OBSERVER_CHECKS_MAX (PATIENCE_YIELDS + 2000u)

static uint64_t claim_of(uint64_t generation, enum claim_state state)
{
	return generation << CLAIM_STATE_BITS | state;
}

/*
 * Signals that were allocated together are adjacent, and so are their buckets, which keeps them on
 * few pages. Blocks of signals are at arbitrary, mostly round addresses; the second term spreads
 * those.
 */
static uint64_t hash_of(uint64_t handle)
{
	uint64_t number = handle / sizeof(amd_signal_t);

	return number + (number / APPSIG_BUCKETS * 0x9e3779b97f4a7c15ull >> 32);
}

static _Atomic uint64_t *bucket_of(struct capture *c, uint64_t handle)
{
	return c->appsig[hash_of(handle) & (APPSIG_BUCKETS - 1)];
}

/* ---- signals whose times come late ----------------------------------------------------------- */

/*
 * Remembers signals that were used again after they had fired without times. Their times may still
 * arrive, and look like those of the next packet. It may also be that only the host has lowered
 * such a signal, which says nothing about others.
 */
static _Atomic uint64_t *late_slot(struct capture *c, uint64_t handle)
{
	return &c->late_signals[hash_of(handle) & (LATE_SIGNALS - 1)];
}

static bool is_late(struct capture *c, uint64_t handle)
{
	return atomic_load_explicit(late_slot(c, handle), memory_order_relaxed) == handle;
}

void appsig_late_seen(struct capture *c)
{
	if (!atomic_load_explicit(&c->has_late, memory_order_relaxed))
		atomic_store_explicit(&c->has_late, 1, memory_order_relaxed);
}

static void late_add(struct capture *c, uint64_t handle)
{
	appsig_late_seen(c);
	atomic_store_explicit(late_slot(c, handle), handle, memory_order_relaxed);
}

void appsig_late_suspect(struct capture *c, uint64_t handle)
{
	if (__builtin_expect(atomic_load_explicit(&c->has_late, memory_order_relaxed), 0))
		late_add(c, handle);
}

/* The next signal at this address is a different one. */
static void late_remove(struct capture *c, uint64_t handle)
{
	if (handle && is_late(c, handle))
		atomic_compare_exchange_strong(late_slot(c, handle), &handle, 0);
}

/* ---- packets that are not watched ------------------------------------------------------ */

/* A packet that was skipped or given up, or a copy: it writes to its signal when it ends. */
static void note_unwatched(struct capture *c)
{
	if (!atomic_load_explicit(&c->has_unwatched, memory_order_relaxed))
		atomic_store_explicit(&c->has_unwatched, 1, memory_order_relaxed);
}

/*
 * A signal whose value counts several ends may fall for a packet that is not watched, and contain
 * the times of that one.
 */
static bool may_fall_for_another(const struct capture *c, int64_t value)
{
	return value != 1 && atomic_load_explicit(&c->has_unwatched, memory_order_relaxed);
}

/* ---- packets that are watched ---------------------------------------------------------- */

static bool entry_add(struct capture *c, uint64_t handle, uint64_t entry)
{
	_Atomic uint64_t *bucket = bucket_of(c, handle);

	for (unsigned i = 0; i < APPSIG_WAYS; i++) {
		uint64_t empty = 0;

		if (atomic_load_explicit(&bucket[i], memory_order_relaxed))
			continue;
		if (atomic_compare_exchange_strong(&bucket[i], &empty, entry))
			return true;
	}
	return false;
}

/*
 * Called by the thread that took the claim out of PENDING, COUNTED or BUSY for good: the entry
 * exists, and no other thread writes to it.
 */
static void entry_remove(struct capture *c, uint64_t handle, uint64_t entry)
{
	_Atomic uint64_t *bucket = bucket_of(c, handle);

	for (unsigned i = 0; i < APPSIG_WAYS; i++)
		if (atomic_load_explicit(&bucket[i], memory_order_relaxed) == entry) {
			/*
			 * Release: a thread that sees no entry may free the signal, which was read
			 * before.
			 */
			atomic_store_explicit(&bucket[i], 0, memory_order_release);
			return;
		}
}

/* The sum of the entries of a bucket. If the bucket has one entry, the sum is that entry. */
static inline uint64_t bucket_sum(_Atomic uint64_t *bucket)
{
	uint64_t sum = 0;

#pragma GCC unroll 8
	for (unsigned i = 0; i < APPSIG_WAYS; i++)
		sum += atomic_load(&bucket[i]);
	return sum;
}

static uint64_t entry_of(slot_ref ref, uint64_t generation)
{
	return ENTRY_ONE | generation << ENTRY_SLOT_BITS | ref;
}

static enum claim_state state_of(uint64_t claim)
{
	return (enum claim_state)(claim & ((1u << CLAIM_STATE_BITS) - 1));
}

static bool is_pending(uint64_t claim)
{
	return state_of(claim) == CLAIM_PENDING || state_of(claim) == CLAIM_COUNTED;
}

struct reading {
	enum appsig_state state;
	uint8_t why; /* like start and end: valid if it has finished */
	uint64_t start, end;
};

/* @is_counted: the reason why it has no times is settled already. */
static struct reading signal_read(
	struct capture *c, uint64_t handle, int64_t target, bool is_counted)
{
	const amd_signal_t *signal = (const amd_signal_t *)(uintptr_t)handle;
	int64_t value = __atomic_load_n(&signal->value, __ATOMIC_ACQUIRE);
	uint64_t end = __atomic_load_n(&signal->end_ts, __ATOMIC_ACQUIRE);
	uint64_t start = __atomic_load_n(&signal->start_ts, __ATOMIC_RELAXED);
	struct reading reading = {.state = APPSIG_FINISHED, .why = RTL_TIMED};

	if (is_counted) {
		reading.state = value <= target ? APPSIG_FINISHED : APPSIG_PENDING;
		if (reading.state == APPSIG_FINISHED)
			appsig_late_suspect(c, handle);
		return reading;
	}
	/* The device writes the times before the value, which may have fallen since it was read. */
	if (value > target && end)
		value = __atomic_load_n(&signal->value, __ATOMIC_ACQUIRE);
	if (value > target && !end) {
		reading.state = APPSIG_PENDING;
	} else if (value > target && !is_late(c, handle)) {
		reading.state = APPSIG_DOUBTFUL;
	} else if (value > target) {
		/* Most likely the times of an earlier packet, which may also overwrite ours. */
		reading.why = RTL_UNTIMED_EARLY;
	} else if (!start || end < start) {
		reading.state = APPSIG_FIRED_NO_TIME;
	} else if (is_late(c, handle)) {
		reading.state = APPSIG_FIRED_LATE;
		reading.start = start;
		reading.end = end;
	} else {
		reading.start = start;
		reading.end = end;
	}
	return reading;
}

/*
 * Changes BUSY to @state. Returns false if another thread could not wait and has spoiled the
 * reading.
 */
static bool claim_leave(struct slot_private *private, uint64_t generation, enum claim_state state)
{
	uint64_t busy = claim_of(generation, CLAIM_BUSY);

	return atomic_compare_exchange_strong(&private->claim, &busy, claim_of(generation, state));
}

/* For the holder of the claim. @why RTL_TIMED keeps an earlier reason. */
static void set_result(struct slot_private *private, uint8_t why, uint64_t start, uint64_t end)
{
	if (why != RTL_TIMED)
	private->why = why;
	private->start = start;
	private->end = end;
}

/* Changes BUSY to EARLY; from now on no thread reads the signal for this packet. */
static void claim_finish(struct capture *c, slot_ref ref, uint64_t generation, uint64_t handle,
	const struct reading *reading)
{
	struct slot_private *private = slot_private_of(c, ref);

	entry_remove(c, handle, entry_of(ref, generation));
	set_result(private, reading->why, reading->start, reading->end);
	if (!claim_leave(private, generation, CLAIM_EARLY)) {
		private->why = RTL_UNTIMED_EARLY;
		atomic_store(&private->claim, claim_of(generation, CLAIM_EARLY));
	}
}

/* In doubt, the times are dropped and the record is kept. */
static void claim_give_up(struct capture *c, slot_ref ref, uint64_t generation, uint64_t handle)
{
	note_unwatched(c);
	claim_finish(c, ref, generation, handle, &(struct reading){.why = RTL_UNTIMED_EARLY});
}

/*
 * The signal is given to another packet while this one still runs, so neither gets times. Returns
 * false if the claim was spoiled.
 */
static bool claim_share(struct slot_private *private, uint64_t generation)
{
	if (private->why == RTL_TIMED)
	private->why = RTL_UNTIMED_SHARED;
	return claim_leave(private, generation, CLAIM_COUNTED);
}

/*
 * Returns true if the caller now holds the claim in BUSY; *@ret_is_counted tells the state before.
 */
static bool claim_take(struct slot_private *private, uint64_t generation, enum appsig_use use,
	bool *ret_is_counted)
{
	for (unsigned checks = 0;; checks++) {
		uint64_t claim = atomic_load(&private->claim);

		if (claim >> CLAIM_STATE_BITS != generation)
			return false; /* the slot has finished and is in use again */
		*ret_is_counted = state_of(claim) == CLAIM_COUNTED;
		if (is_pending(claim)) {
			if (atomic_compare_exchange_strong(
				    &private->claim, &claim, claim_of(generation, CLAIM_BUSY)))
				return true;
			continue;
		}
		if (state_of(claim) != CLAIM_BUSY &&
			(use != APPSIG_DESTROY || state_of(claim) != CLAIM_SPOILED))
			return false; /* has finished meanwhile */
		if (use == APPSIG_DESTROY)
			/* Cold path; the reading thread needs only a few loads. */
			wait_between_checks(&checks);
		else if (checks < BUSY_CHECKS_MAX)
			__builtin_ia32_pause();
		else if (atomic_compare_exchange_strong(
				 &private->claim, &claim, claim_of(generation, CLAIM_SPOILED)))
			return false;
	}
}

/*
 * The common case: the packet has finished. Reads without a claim, as appsig_poll() does, and keeps
 * the result if the claim has not changed meanwhile. The signal exists, since the caller is about
 * to use it. Returns false if the caller has to take the claim.
 */
static bool entry_read(struct capture *c, slot_ref ref, uint64_t generation, uint64_t handle)
{
	struct slot_private *private = slot_private_of(c, ref);
	uint64_t claim = claim_of(generation, CLAIM_PENDING);
	struct reading reading;

	if (atomic_load_explicit(&private->claim, memory_order_acquire) != claim)
		return false;
	reading = signal_read(
		c, handle, atomic_load_explicit(&private->target, memory_order_relaxed), false);
	if (reading.state != APPSIG_FINISHED || !atomic_compare_exchange_strong(&private->claim,
							&claim, claim_of(generation, CLAIM_READ)))
		return false;
	entry_remove(c, handle, entry_of(ref, generation));
	set_result(private, reading.why, reading.start, reading.end);
	atomic_store_explicit(
		&private->claim, claim_of(generation, CLAIM_EARLY), memory_order_release);
	return true;
}

/*
 * Handles one watched packet whose signal is about to be used otherwise. If the packet still runs
 * and shares the signal, returns the value at which it will have finished, else INT64_MAX.
 */
static int64_t entry_used(struct capture *c, uint64_t entry, uint64_t handle, enum appsig_use use)
{
	slot_ref ref = entry & ((1u << ENTRY_SLOT_BITS) - 1);
	uint64_t generation = (entry & ~ENTRY_ONE) >> ENTRY_SLOT_BITS;
	struct slot_private *private = slot_private_of(c, ref);
	struct reading reading;
	bool is_counted;
	int64_t target;

	if (entry_read(c, ref, generation, handle))
		return INT64_MAX;
	if (!claim_take(private, generation, use, &is_counted))
		return INT64_MAX;
	target = atomic_load_explicit(&private->target, memory_order_relaxed);
	reading = signal_read(c, handle, target, is_counted);
	switch (reading.state) {
	case APPSIG_FINISHED:
		claim_finish(c, ref, generation, handle, &reading);
		return INT64_MAX;
	case APPSIG_FIRED_NO_TIME:
		late_add(c, handle);
		break;
	case APPSIG_FIRED_LATE:
	case APPSIG_DOUBTFUL:
		break;
	case APPSIG_PENDING:
		if (use == APPSIG_PACKET) {
			if (!claim_share(private, generation))
				claim_give_up(c, ref, generation, handle);
			return target;
		}
		break;
	}
	claim_give_up(c, ref, generation, handle);
	return INT64_MAX;
}

/* Like entry_used(), if @entry belongs to @handle. */
static inline int64_t entry_used_of(
	struct capture *c, uint64_t entry, uint64_t handle, enum appsig_use use)
{
	slot_ref ref = entry & ((1u << ENTRY_SLOT_BITS) - 1);

	if (atomic_load_explicit(&slot_private_of(c, ref)->app_handle, memory_order_relaxed) !=
		handle)
		return INT64_MAX;
	return entry_used(c, entry, handle, use);
}

/* The rest of handle_used() if the bucket has entries; @sum is their sum. */
static __attribute__((noinline)) int64_t handle_used_slowly(
	struct capture *c, uint64_t handle, uint64_t except, enum appsig_use use, uint64_t sum)
{
	_Atomic uint64_t *bucket = bucket_of(c, handle);
	int64_t lowest = INT64_MAX;

	/* The sum of a single entry is the entry. */
	if (__builtin_expect(sum / ENTRY_ONE == 1, 1))
		return entry_used_of(c, sum, handle, use);
	for (unsigned i = 0; i < APPSIG_WAYS; i++) {
		uint64_t entry = atomic_load(&bucket[i]);
		int64_t target;

		if (!entry || entry == except)
			continue;
		target = entry_used_of(c, entry, handle, use);
		if (target < lowest)
			lowest = target;
	}
	return lowest;
}

/*
 * Handles all watched packets of @handle except @except. Returns the lowest value at which one that
 * still runs will finish.
 */
static inline int64_t handle_used(
	struct capture *c, uint64_t handle, uint64_t except, enum appsig_use use)
{
	uint64_t sum = bucket_sum(bucket_of(c, handle));

	return sum == except ? INT64_MAX : handle_used_slowly(c, handle, except, use, sum);
}

static void observer_wait(_Atomic uint64_t *place, uint64_t handle)
{
	unsigned checks = 0;

	for (unsigned i = 0; i < OBSERVER_CHECKS_MAX && atomic_load(place) == handle; i++)
		wait_between_checks(&checks);
	/* The observing thread will not return, and the place must become free. */
	atomic_compare_exchange_strong(place, &handle, 0);
}

/*
 * The signal's memory will be freed. Neither the harvester nor an observing thread holds a claim
 * while it reads, see appsig_poll(), so both have places that are waited for.
 */
static __attribute__((noinline, cold)) void reader_wait(struct capture *c, uint64_t handle)
{
	unsigned checks = 0;

	while (handle && atomic_load(&c->appsig_read) == handle)
		wait_between_checks(&checks);
	for (unsigned i = 0; handle && i < APPSIG_OBSERVERS; i++)
		if (atomic_load(&c->appsig_observed[i]) == handle)
			observer_wait(&c->appsig_observed[i], handle);
	late_remove(c, handle);
}

void appsig_used(struct capture *c, uint64_t handle, enum appsig_use use)
{
	if (handle && use == APPSIG_PACKET)
		note_unwatched(c);
	if (handle && atomic_load_explicit(&c->has_appsigs, memory_order_acquire))
		(void)handle_used(c, handle, 0, use);
	if (use == APPSIG_DESTROY)
		reader_wait(c, handle);
}

void appsig_watch(struct capture *c, slot_ref ref, uint64_t handle)
{
	struct slot_private *private = slot_private_of(c, ref);
	amd_signal_t *signal = (amd_signal_t *)(uintptr_t)handle;
	uint64_t claim = atomic_load_explicit(&private->claim, memory_order_relaxed);
	uint64_t generation = (claim >> CLAIM_STATE_BITS) + 1;
	int64_t shared, value;

	private->kind = SLOT_APP;
	if (c->hsa.signal_is_ipc && c->hsa.signal_is_ipc(handle)) {
		private->kind = SLOT_PLAIN;
		private->why = RTL_UNTIMED_IPC;
		return;
	}
	generation &= UINT64_MAX >> (ENTRY_SLOT_BITS + ENTRY_SPARE_BITS);
	if (!atomic_load_explicit(&c->has_appsigs, memory_order_relaxed))
		atomic_store(&c->has_appsigs, 1);
	atomic_store_explicit(&private->app_handle, handle, memory_order_relaxed);
	shared = handle_used(c, handle, 0, APPSIG_PACKET);
	if (shared != INT64_MAX) {
		/* Each of the packets decrements the value; this one is the last so far. */
		private->why = RTL_UNTIMED_SHARED;
		atomic_store_explicit(&private->target, shared - 1, memory_order_relaxed);
	} else {
		value = __atomic_load_n(&signal->value, __ATOMIC_RELAXED);
		if (may_fall_for_another(c, value))
		private->why = RTL_UNTIMED_SHARED;
		atomic_store_explicit(&private->target, value - 1, memory_order_relaxed);
		__atomic_store_n(&signal->start_ts, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&signal->end_ts, 0, __ATOMIC_RELAXED);
	}
	/*
	 * Published by the entry or by the queue's trail; no other thread can find the slot before.
	 */
	atomic_store_explicit(&private->claim,
		claim_of(generation, private->why == RTL_TIMED ? CLAIM_PENDING : CLAIM_COUNTED),
		memory_order_release);
	if (!entry_add(c, handle, entry_of(ref, generation))) {
		/* The bucket is full: a reuse of the signal would go unnoticed. */
		note_unwatched(c);
		atomic_store(&private->claim, claim_of(generation, CLAIM_NONE));
		private->kind = SLOT_PLAIN;
		if (private->why == RTL_TIMED)
		private->why = RTL_UNTIMED_EARLY;
		return;
	}
	/*
	 * Another queue may have added its entry between look-up and entry_add(): then each side
	 * missed the other.
	 */
	if (handle_used(c, handle, entry_of(ref, generation), APPSIG_PACKET) != INT64_MAX) {
		claim = claim_of(generation, CLAIM_PENDING);
		if (atomic_compare_exchange_strong(
			    &private->claim, &claim, claim_of(generation, CLAIM_BUSY)) &&
			!claim_share(private, generation))
			claim_give_up(c, ref, generation, handle);
	}
}

void appsig_forget(struct capture *c, slot_ref ref, uint64_t handle)
{
	struct slot_private *private = slot_private_of(c, ref);
	uint64_t generation = atomic_load(&private->claim) >> CLAIM_STATE_BITS;

	note_unwatched(c);
	atomic_store(&private->claim, claim_of(generation + 1, CLAIM_EARLY));
	entry_remove(c, handle, entry_of(ref, generation));
}

bool appsig_is_watched(struct capture *c, uint64_t handle)
{
	return bucket_sum(bucket_of(c, handle)) != 0;
}

static const uint8_t why_undecided[] = {
	[APPSIG_PENDING] = RTL_UNTIMED_TIMESTAMP_FAILED,
	[APPSIG_DOUBTFUL] = RTL_UNTIMED_EARLY,
	[APPSIG_FIRED_NO_TIME] = RTL_UNTIMED_TIMESTAMP_INVALID,
	[APPSIG_FIRED_LATE] = RTL_UNTIMED_EARLY,
};

/*
 * Reads without a claim, and keeps the result only if the claim has not changed meanwhile. So an
 * application thread that needs the signal never waits for the shim thread, which may be waiting
 * for a processor, and loses no times to it. A thread that destroys the signal waits for
 * appsig_read. Both the store to appsig_read followed by the load of the claim, and the change of
 * the claim followed by the load of appsig_read, are sequentially consistent.
 */
enum appsig_state appsig_poll(struct capture *c, slot_ref ref, enum appsig_effort effort)
{
	struct slot_private *private = slot_private_of(c, ref);
	uint64_t handle = atomic_load_explicit(&private->app_handle, memory_order_relaxed);
	bool is_over = false, is_counted;
	struct reading reading;
	uint64_t claim;

	atomic_store(&c->appsig_read, handle);
	claim = atomic_load(&private->claim);
	if (!is_pending(claim)) {
		atomic_store_explicit(&c->appsig_read, 0, memory_order_release);
		return state_of(claim) == CLAIM_EARLY ? APPSIG_FINISHED : APPSIG_PENDING;
	}
	is_counted = state_of(claim) == CLAIM_COUNTED;
	reading = signal_read(c, handle,
		atomic_load_explicit(&private->target, memory_order_relaxed), is_counted);
	if (reading.state == APPSIG_FIRED_LATE && effort == APPSIG_WAITED)
		reading.state = APPSIG_FINISHED;
	if (reading.state == APPSIG_FINISHED || effort != APPSIG_POLL)
		is_over = atomic_compare_exchange_strong(
			&private->claim, &claim, claim_of(claim >> CLAIM_STATE_BITS, CLAIM_EARLY));
	atomic_store_explicit(&c->appsig_read, 0, memory_order_release);
	if (!is_over && reading.state == APPSIG_FINISHED)
		return APPSIG_PENDING; /* another thread reads it and will store the result */
	if (!is_over)
		return reading.state;
	entry_remove(c, handle, entry_of(ref, claim >> CLAIM_STATE_BITS));
	if (reading.state != APPSIG_FINISHED && !is_counted)
		reading.why = why_undecided[reading.state];
	set_result(private, reading.why, reading.start, reading.end);
	return APPSIG_FINISHED;
}

/* Takes a place that names the signal being read. NULL if too many threads do so at the moment. */
static _Atomic uint64_t *observer_place_take(struct capture *c, uint64_t handle)
{
	char here;
	/* Threads have different stack pages, so they start at different places. */
	uint32_t first = (uint32_t)((uintptr_t)&here >> 12);

	for (uint32_t i = 0; i < APPSIG_OBSERVERS; i++) {
		_Atomic uint64_t *place = &c->appsig_observed[(first + i) % APPSIG_OBSERVERS];
		uint64_t none = 0;

		if (!atomic_load_explicit(place, memory_order_relaxed) &&
			atomic_compare_exchange_strong(place, &none, handle))
			return place;
	}
	return NULL;
}

/* Returns false if the claim has changed meanwhile, or if there was no place. */
static bool observe(
	struct capture *c, const struct slot_private *private, uint64_t claim, struct reading *ret)
{
	uint64_t handle = atomic_load_explicit(&private->app_handle, memory_order_relaxed);
	_Atomic uint64_t *place = observer_place_take(c, handle);
	bool is_same;

	if (!place)
		return false;
	is_same = atomic_load(&private->claim) == claim;
	if (is_same)
		*ret = signal_read(c, handle,
			atomic_load_explicit(&private->target, memory_order_relaxed),
			state_of(claim) == CLAIM_COUNTED);
	is_same &= atomic_load(&private->claim) == claim;
	atomic_store_explicit(place, 0, memory_order_release);
	return is_same;
}

/* For a thread that finds EARLY. The slot may already belong to another dispatch, as in ends.c. */
__attribute__((no_sanitize_thread)) static struct reading result_of(
	const struct slot_private *private)
{
	return (struct reading){.state = APPSIG_FINISHED,
		.start = __atomic_load_n(&private->start, __ATOMIC_RELAXED),
		.end = __atomic_load_n(&private->end, __ATOMIC_RELAXED)};
}

bool appsig_observe(struct capture *c, slot_ref ref, uint64_t *ret_start, uint64_t *ret_end)
{
	const struct slot_private *private = slot_private_of(c, ref);
	struct reading reading = {.state = APPSIG_PENDING};

	for (unsigned checks = 0; checks < BUSY_CHECKS_MAX; checks++) {
		uint64_t claim = atomic_load_explicit(&private->claim, memory_order_acquire);

		if (state_of(claim) == CLAIM_EARLY) {
			reading = result_of(private);
			break;
		}
		if (is_pending(claim) && observe(c, private, claim, &reading))
			break;
		/*
		 * Another thread is about to reuse the signal and decides. In READ it has seen the
		 * packet end.
		 */
		reading.state =
			state_of(claim) == CLAIM_READ ? APPSIG_FIRED_NO_TIME : APPSIG_PENDING;
		__builtin_ia32_pause();
	}
	if (reading.state == APPSIG_PENDING || reading.state == APPSIG_DOUBTFUL)
		return false;
	if (reading.state == APPSIG_FINISHED) {
		*ret_start = reading.start;
		*ret_end = reading.end;
	}
	return true;
}
