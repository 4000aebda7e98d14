// SPDX-License-Identifier: MIT
#include "shim/capture/tables/copy_times.h"

#include <stddef.h>

#include <hsa/amd_hsa_signal.h>

#include "shim/base/wait.h"

#define ENTRIES (COPY_WATCH_BUCKETS * COPY_WATCH_WAYS)

enum watch_state {
	WATCH_FREE,
	WATCH_SUBMITTING, /* the submitting thread is still inside the runtime's function */
	WATCH_PENDING,
	WATCH_SHARED,  /* several copies share the signal: only their end is awaited */
	WATCH_BUSY,    /* a thread reads its times */
	WATCH_SPOILED, /* the signal was used while a thread read it: its times are discarded */
	WATCH_TAKEN, /* a thread fills the entry in; `signal` is still that of the previous copy */
};
#define STATE_BITS 3

/*
 * If the device wrote no times they are 0, which the runtime converts to a time near the boot of
 * the machine, or before it. Times this far from the submission are invalid.
 */
#define EARLY_NS_MAX 1000000000ull
#define LATE_NS_MAX  (1ull << 50) /* 13 days */

/*
 * `word` is generation << STATE_BITS | state. A reader of the other fields must check that the
 * generation has not changed meanwhile; they are written in state TAKEN.
 */
struct watch {
	_Atomic uint64_t word;
	_Atomic uint64_t signal;
	_Atomic int64_t target; /* it has fired when the signal's value is at or below this */
	_Atomic uint64_t id;
	_Atomic uint64_t submit_ns;
};

static struct watch table[COPY_WATCH_BUCKETS][COPY_WATCH_WAYS];
static struct copy_watch_calls calls;
_Atomic uint32_t copy_watch_count;

static enum watch_state state_of(uint64_t word)
{
	return (enum watch_state)(word & ((1u << STATE_BITS) - 1));
}

static uint64_t with_state(uint64_t word, enum watch_state state)
{
	return (word >> STATE_BITS) << STATE_BITS | (uint64_t)state;
}

static uint64_t id_of(const struct watch *watch)
{
	return atomic_load_explicit(&watch->id, memory_order_relaxed);
}

static struct watch *bucket_of(uint64_t signal)
{
	uint64_t hash = signal / sizeof(amd_signal_t) * 0x9e3779b97f4a7c15ull;

	return table[hash >> 32 & (COPY_WATCH_BUCKETS - 1)];
}

static int64_t signal_value(uint64_t signal)
{
	const amd_signal_t *at = (const amd_signal_t *)(uintptr_t)signal;

	return __atomic_load_n(&at->value, __ATOMIC_ACQUIRE);
}

static bool word_change(struct watch *watch, uint64_t *word, enum watch_state to)
{
	uint64_t next = with_state(*word, to);

	if (!atomic_compare_exchange_strong(&watch->word, word, next))
		return false;
	*word = next;
	return true;
}

/* Frees the entry, which then has the next generation. */
static bool watch_free(struct watch *watch, uint64_t word)
{
	uint64_t next = with_state(word + (1ull << STATE_BITS), WATCH_FREE);

	if (!atomic_compare_exchange_strong(&watch->word, &word, next))
		return false;
	/*
	 * Release: the signal is read before the count falls, so a thread that sees 0 may free it.
	 */
	atomic_fetch_sub_explicit(&copy_watch_count, 1, memory_order_release);
	return true;
}

/* Reads the times, frees the entry and reports them. The caller has made it BUSY. */
static void watch_read(struct watch *watch, uint64_t word)
{
	uint64_t signal = atomic_load_explicit(&watch->signal, memory_order_relaxed);
	uint64_t submit_ns = atomic_load_explicit(&watch->submit_ns, memory_order_relaxed);
	uint64_t id = id_of(watch), start_ns = 0, end_ns = 0;
	bool has_times = calls.read(signal, &start_ns, &end_ns);

	has_times = has_times && start_ns <= end_ns && start_ns + EARLY_NS_MAX >= submit_ns &&
		    end_ns - submit_ns + EARLY_NS_MAX <= LATE_NS_MAX;
	if (!watch_free(watch, word)) {
		has_times = false;
		(void)watch_free(watch, with_state(word, WATCH_SPOILED));
	}
	calls.done(id, has_times ? start_ns : 0, has_times ? end_ns : 0);
}

static bool has_fired(struct watch *watch, uint64_t signal)
{
	return signal_value(signal) <= atomic_load_explicit(&watch->target, memory_order_relaxed);
}

/* ---- the next use of a signal ---------------------------------------------------------- */

enum signal_use {
	USE_BY_PACKET,
	USE_BY_STORE,
	USE_BY_COPY,
	USE_BY_DESTROY,
};

/* The copy still runs when another copy gets the same signal, so neither has times. */
static bool watch_share(struct watch *watch, uint64_t *word)
{
	uint64_t id = id_of(watch);
	bool was_shared = state_of(*word) == WATCH_SHARED;

	if (!word_change(watch, word, WATCH_SHARED))
		return false;
	atomic_fetch_sub_explicit(&watch->target, 1, memory_order_relaxed);
	if (!was_shared)
		calls.done(id, 0, 0);
	return true;
}

struct use_result {
	bool is_shared;
	unsigned checks;
};

/*
 * Handles one entry if it has @signal. Returns false if another thread was faster and the caller
 * must try again.
 */
static bool watch_use(
	struct watch *watch, uint64_t signal, enum signal_use how, struct use_result *result)
{
	uint64_t word = atomic_load(&watch->word), id = id_of(watch);
	enum watch_state state = state_of(word);

	if (state == WATCH_FREE || state == WATCH_TAKEN ||
		atomic_load_explicit(&watch->signal, memory_order_relaxed) != signal)
		return true;
	/* A spoiled entry is still being read. */
	if (state == WATCH_SPOILED && how != USE_BY_DESTROY)
		return true;
	if (state == WATCH_BUSY || state == WATCH_SPOILED) {
		/*
		 * The reading thread needs a few loads and a lock of the runtime; a dispatch does
		 * not wait for that.
		 */
		if (how == USE_BY_PACKET)
			return word_change(watch, &word, WATCH_SPOILED);
		wait_between_checks(&result->checks);
		return false;
	}
	if (how == USE_BY_COPY && state != WATCH_SUBMITTING && !has_fired(watch, signal)) {
		result->is_shared = true;
		return watch_share(watch, &word);
	}
	if (how != USE_BY_PACKET && state == WATCH_PENDING && has_fired(watch, signal)) {
		if (!word_change(watch, &word, WATCH_BUSY))
			return false;
		watch_read(watch, word);
		return true;
	}
	if (!watch_free(watch, word))
		return false;
	if (state != WATCH_SHARED)
		calls.done(id, 0, 0);
	return true;
}

/* Handles the entries that have @signal. True if copies share it now. */
static bool signal_reuse(uint64_t signal, enum signal_use how)
{
	struct watch *bucket = bucket_of(signal);
	struct use_result result = {0};

	for (unsigned i = 0; i < COPY_WATCH_WAYS; i++)
		while (!watch_use(&bucket[i], signal, how, &result))
			;
	return result.is_shared;
}

void copy_watch_used_slowly(uint64_t signal)
{
	(void)signal_reuse(signal, USE_BY_STORE);
}

void copy_watch_destroyed_slowly(uint64_t signal)
{
	(void)signal_reuse(signal, USE_BY_DESTROY);
}

void copy_watch_packet_slowly(uint64_t signal)
{
	if (signal)
		(void)signal_reuse(signal, USE_BY_PACKET);
}

/* ---- copies ---------------------------------------------------------------------------- */

void copy_watch_begin(const struct copy_watch_calls *new_calls)
{
	calls = *new_calls;
}

static struct watch *watch_take(uint64_t signal)
{
	struct watch *bucket = bucket_of(signal);

	for (unsigned i = 0; i < COPY_WATCH_WAYS; i++) {
		uint64_t word = atomic_load_explicit(&bucket[i].word, memory_order_relaxed);

		if (state_of(word) != WATCH_FREE)
			continue;
		/*
		 * The count rises before the entry can be found. Threads that look for another
		 * signal do not touch the entry.
		 */
		atomic_fetch_add(&copy_watch_count, 1);
		if (word_change(&bucket[i], &word, WATCH_TAKEN))
			return &bucket[i];
		atomic_fetch_sub(&copy_watch_count, 1);
	}
	return NULL;
}

bool copy_watch(uint64_t signal, uint64_t id, uint64_t submit_ns)
{
	bool is_shared = copy_watch_count && signal_reuse(signal, USE_BY_COPY);
	struct watch *watch = signal && !is_shared ? watch_take(signal) : NULL;
	amd_signal_t *at = (amd_signal_t *)(uintptr_t)signal;
	int64_t value;
	uint64_t word;

	if (!watch) {
		calls.done(id, 0, 0);
		return false;
	}
	value = signal_value(signal); /* read once, since a packet may lower it meanwhile */
	atomic_store_explicit(&watch->id, id, memory_order_relaxed);
	atomic_store_explicit(&watch->submit_ns, submit_ns, memory_order_relaxed);
	atomic_store_explicit(&watch->target, value - 1, memory_order_relaxed);
	atomic_store_explicit(&watch->signal, signal, memory_order_relaxed);
	word = atomic_load_explicit(&watch->word, memory_order_relaxed);
	/*
	 * A value above 1 means that other operations, such as packets, lower this signal, too;
	 * they are not known here.
	 */
	if (value > 1) {
		atomic_store(&watch->word, with_state(word, WATCH_SHARED));
		calls.done(id, 0, 0);
		return false;
	}
	/* Clears the times of the last use, since a copy may write none. */
	__atomic_store_n(&at->start_ts, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&at->end_ts, 0, __ATOMIC_RELAXED);
	atomic_store(&watch->word, with_state(word, WATCH_SUBMITTING));
	return true;
}

void copy_watch_submitted(uint64_t signal, uint64_t id, bool ok)
{
	struct watch *bucket = bucket_of(signal);

	for (unsigned i = 0; i < COPY_WATCH_WAYS; i++) {
		struct watch *watch = &bucket[i];
		uint64_t word = atomic_load(&watch->word);

		if (state_of(word) != WATCH_SUBMITTING || id_of(watch) != id)
			continue;
		if (ok)
			(void)word_change(watch, &word, WATCH_PENDING);
		else
			(void)watch_free(watch, word);
		return;
	}
}

/* ---- reading --------------------------------------------------------------------------- */

static void watch_poll(struct watch *watch)
{
	uint64_t word = atomic_load(&watch->word);
	enum watch_state state = state_of(word);
	uint64_t signal;

	if (state != WATCH_PENDING && state != WATCH_SHARED)
		return;
	/*
	 * Claims the entry before it reads the signal, because a claimed entry keeps the signal
	 * from being destroyed.
	 */
	if (!word_change(watch, &word, WATCH_BUSY))
		return;
	signal = atomic_load_explicit(&watch->signal, memory_order_relaxed);
	if (!has_fired(watch, signal)) {
		if (!word_change(watch, &word, state)) {
			uint64_t id = id_of(watch);

			(void)watch_free(watch, word);
			if (state == WATCH_PENDING)
				calls.done(id, 0, 0);
		}
	} else if (state == WATCH_PENDING) {
		watch_read(watch, word);
	} else if (!watch_free(watch, word)) {
		(void)watch_free(watch, with_state(word, WATCH_SPOILED));
	}
}

bool copy_watch_poll(void)
{
	if (!atomic_load_explicit(&copy_watch_count, memory_order_acquire))
		return false;
	for (unsigned i = 0; i < ENTRIES; i++)
		watch_poll(&table[i / COPY_WATCH_WAYS][i % COPY_WATCH_WAYS]);
	return atomic_load_explicit(&copy_watch_count, memory_order_relaxed) != 0;
}

void copy_watch_end(void)
{
	(void)copy_watch_poll();
	for (unsigned i = 0; i < ENTRIES; i++) {
		struct watch *watch = &table[i / COPY_WATCH_WAYS][i % COPY_WATCH_WAYS];
		uint64_t word = atomic_load(&watch->word), id = id_of(watch);
		enum watch_state state = state_of(word);

		if ((state == WATCH_PENDING || state == WATCH_SHARED) && watch_free(watch, word) &&
			state == WATCH_PENDING)
			calls.done(id, 0, 0);
	}
}
