// SPDX-License-Identifier: MIT
#include "shim/capture/harvest.h"

#include <time.h>

#include <hsa/amd_hsa_signal.h>

#include "proto/base/clock.h"
#include "shim/capture/app_signals.h"
#include "shim/capture/frames.h"
#include "shim/capture/capture_internal.h"
#include "shim/capture/tables/copy_times.h"
#include "shim/capture/pacing.h"
#include "shim/base/wait.h"
#include "proto/base/fault.h"
#include "shim/capture/touch.h"

/* A device may make the value visible before the times; they may take this long. */
#define LATE_TIME_NS   50000000u
/*
 * A device in software may lose its processor between the two stores. A signal that was set again
 * past the hooks looks the same, and this wait is in vain.
 */
#define DOUBT_NS       2000000000u
/* Time between the first suspicion and the verdict "missed". */
#define SUSPECT_NS     10000000u
/* Periods stay short for this long after the last event. */
#define ACTIVE_NS      100000000u
/* Lots are made one at a time, and few in a pass. */
#define LOTS_PER_PASS  4u
/* Time between two checks whether the shim thread has left its pass. */
#define DETACH_STEP_NS 1000000

enum outcome {
	RUNNING,
	WAITING, /* fired, but its times are not there yet */
	FINISHED,
};

/* ---- one record ------------------------------------------------------------------------ */

/* slot_private.since counts units of about a microsecond, and wraps around after 73 minutes. */
#define SINCE_SHIFT	10u
/* How far the clock of a dispatch's inline harvest can be ahead of a pass: 17 s. */
#define SINCE_AHEAD_MAX (1 << 24)

static uint32_t since_now(const struct capture *c)
{
	return (uint32_t)(c->now_ns >> SINCE_SHIFT);
}

static bool has_passed(const struct capture *c, struct slot_private *private, uint64_t ns)
{
	int32_t waited = (int32_t)(since_now(c) - private->since);

	/*
	 * A process that was stopped may find a difference that has wrapped; it starts waiting
	 * again.
	 */
	if (waited < -SINCE_AHEAD_MAX)
	private->since = since_now(c);
	/*
	 * Signed, because the pass that set `since` may have had a later clock: an inline harvest
	 * may come in between.
	 */
	return waited >= (int32_t)(ns >> SINCE_SHIFT);
}

static enum outcome times_wait(struct capture *c, struct slot_private *private, uint64_t ns)
{
	if (private->phase != PHASE_NO_TIME) {
		private->phase = PHASE_NO_TIME;
		private->since = since_now(c);
	}
	return !c->is_deciding && !has_passed(c, private, ns) ? WAITING : FINISHED;
}

/*
 * docs/capture.md, missed packets: number @passed had the barrier bit and has fired, so this
 * dispatch has ended.
 */
static bool is_passed(struct capture *c, slot_ref ref, uint64_t passed)
{
	return passed && slot_of(c, ref)->seq < passed;
}

/* The dispatch has ended, but its signal, read after that, does not say so. */
static enum outcome suspect_wait(struct capture *c, struct slot_private *private)
{
	if (private->phase != PHASE_SUSPECT) {
		private->phase = PHASE_SUSPECT;
		private->since = since_now(c);
	}
	return has_passed(c, private, SUSPECT_NS) ? FINISHED : RUNNING;
}

/* Reads the signal: not fired, fired without times (WAITING), or fired with times (FINISHED). */
static inline enum outcome read_injected_signal(
	const struct slot_private *private, uint64_t *ret_start, uint64_t *ret_end)
{
	const amd_signal_t *signal = (const amd_signal_t *)(uintptr_t) private->injected;

	if (__atomic_load_n(&signal->value, __ATOMIC_ACQUIRE) >= 1)
		return RUNNING;
	*ret_end = __atomic_load_n(&signal->end_ts, __ATOMIC_RELAXED);
	*ret_start = __atomic_load_n(&signal->start_ts, __ATOMIC_RELAXED);
	return *ret_start && *ret_end >= *ret_start ? FINISHED : WAITING;
}

static __attribute__((noinline)) enum outcome injected_decide(
	struct capture *c, const struct capture_queue *q, slot_ref ref, enum outcome seen)
{
	struct slot_private *private = slot_private_of(c, ref);
	enum outcome outcome;

	if (seen == WAITING) {
		private->why = RTL_UNTIMED_TIMESTAMP_INVALID;
		appsig_late_seen(c);
		return times_wait(c, private, LATE_TIME_NS);
	}
	outcome = is_passed(c, ref, q->barrier_fired) ? suspect_wait(c, private) : RUNNING;
	private->why = RTL_UNTIMED_TIMESTAMP_FAILED;
	return outcome;
}

static inline enum outcome injected_poll(struct capture *c, const struct capture_queue *q,
	slot_ref ref, uint64_t *ret_start, uint64_t *ret_end)
{
	struct slot_private *private = slot_private_of(c, ref);
	enum outcome seen = read_injected_signal(private, ret_start, ret_end);

	if (seen != FINISHED)
		return injected_decide(c, q, ref, seen);
	private->why = RTL_TIMED;
	return FINISHED;
}

/*
 * The dispatch has ended but its signal will never fire, since the program has set the signal again
 * past the hooks. Without a verdict it would block the harvest of its queue for ever.
 */
static enum appsig_state passed_poll(struct capture *c, slot_ref ref)
{
	struct slot_private *private = slot_private_of(c, ref);
	enum appsig_state state;

	if (suspect_wait(c, private) == RUNNING)
		return APPSIG_PENDING;
	state = appsig_poll(c, ref, APPSIG_LAST);
	/* Not "missed": the shim had left the packet alone. */
	if (state == APPSIG_FINISHED && private->why == RTL_UNTIMED_TIMESTAMP_FAILED)
	private->why = RTL_UNTIMED_EARLY;
	return state;
}

static __attribute__((noinline)) enum outcome app_poll(struct capture *c,
	const struct capture_queue *q, slot_ref ref, uint64_t *ret_start, uint64_t *ret_end)
{
	struct slot_private *private = slot_private_of(c, ref);
	enum appsig_state state = appsig_poll(c, ref, APPSIG_POLL);

	if (state == APPSIG_PENDING && is_passed(c, ref, q->barrier_fired))
		state = passed_poll(c, ref);
	if (state != APPSIG_PENDING && state != APPSIG_FINISHED) {
		if (times_wait(c, private, state == APPSIG_DOUBTFUL ? DOUBT_NS : LATE_TIME_NS) ==
			WAITING)
			return WAITING;
		state = appsig_poll(c, ref, c->is_deciding ? APPSIG_LAST : APPSIG_WAITED);
	}
	if (state != APPSIG_FINISHED)
		return RUNNING;
	*ret_start = private->start;
	*ret_end = private->end;
	return FINISHED;
}

static inline __attribute__((always_inline)) enum outcome slot_poll(struct capture *c,
	const struct capture_queue *q, slot_ref ref, uint64_t *ret_start, uint64_t *ret_end)
{
	switch ((enum slot_kind)slot_private_of(c, ref)->kind) {
	case SLOT_INJECTED:
		return injected_poll(c, q, ref, ret_start, ret_end);
	case SLOT_APP:
		return app_poll(c, q, ref, ret_start, ret_end);
	case SLOT_PLAIN:
		break;
	}
	return FINISHED;
}

static const enum rtl_queue_counter untimed_counter[RTL_UNTIMED_COUNT] = {
	[RTL_UNTIMED_SHARED] = RTL_Q_untimed_shared,
	[RTL_UNTIMED_IPC] = RTL_Q_untimed_ipc,
	[RTL_UNTIMED_EARLY] = RTL_Q_untimed_early,
	[RTL_UNTIMED_SIGNAL_POOL] = RTL_Q_untimed_signal_pool,
	[RTL_UNTIMED_TIMESTAMP_INVALID] = RTL_Q_untimed_timestamp_invalid,
	[RTL_UNTIMED_TIMESTAMP_FAILED] = RTL_Q_untimed_timestamp_failed,
	[RTL_UNTIMED_UNSTAMPED] = RTL_Q_untimed_unstamped,
	[RTL_UNTIMED_MODE] = RTL_Q_untimed_mode,
};

/* Counts the dispatch by the reason why it has no times. */
static __attribute__((noinline)) void untimed_count(
	struct capture_queue *q, const struct slot_private *private)
{
	recorder_count_queue(q->block, untimed_counter[private->why], 1);
	if (private->phase == PHASE_SUSPECT && private->why == RTL_UNTIMED_TIMESTAMP_FAILED)
		recorder_count_queue(q->block, RTL_Q_missed, 1);
}

/*
 * docs/recorder.md, section 2. The symbol is set before, because start_tick may have held the
 * kernel object.
 */
static inline void slot_settle(
	struct capture *c, struct capture_queue *q, slot_ref ref, uint64_t start, uint64_t end)
{
	struct slot_private *private = slot_private_of(c, ref);
	struct recorder_slot *slot = slot_of(c, ref);
	bool is_timed = private->why == RTL_TIMED;

	/*
	 * In this order, because the slot may already be ENDED, and the process may die in between.
	 */
	__atomic_store_n(&slot->end_tick, RECORDER_NO_TICK, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->start_tick, is_timed ? start : 0, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->end_tick, is_timed ? end : 0, __ATOMIC_RELEASE);
	slot->untimed = private->why;
	atomic_store_explicit(&slot->state, SLOT_DONE, memory_order_release);
	FAULT_POINT("after_done");
	if (is_timed)
		recorder_count_queue(q->block, RTL_Q_recorded, 1);
	else
		untimed_count(q, private);
	if (is_timed && private->kind == SLOT_APP)
		recorder_count_queue(q->block, RTL_Q_own_signals_read, 1);
	if (q->witness == ref)
		q->witness = 0;
}

/* Resolves the symbol of a kernel that was unknown when it was dispatched. */
static __attribute__((noinline)) bool resolve_symbol(
	struct capture *c, struct recorder_slot *slot, bool is_inline)
{
	slot->symbol = c->hsa.symbol_of(slot->start_tick) & ~SYMBOL_UNWANTED;
	if (slot->symbol)
		return true;
	if (is_inline)
		return false;
	slot->symbol = c->hsa.symbol_define(slot->start_tick);
	recorder_count(&c->recorder, RTL_P_symbols_unknown, 1);
	return true;
}

/* Returns false if the kernel must be defined first, which is not for the dispatch path. */
static inline bool slot_has_symbol(struct capture *c, slot_ref ref, bool is_inline)
{
	struct recorder_slot *slot = slot_of(c, ref);

	return slot->symbol || resolve_symbol(c, slot, is_inline);
}

/* ---- one queue ---------------------------------------------------------------------------- */

/*
 * Makes the chain lead from @previous (0: from its beginning) to @to, for threads that look for
 * ends.
 */
static void chain_link(struct capture *c, struct capture_queue *q, slot_ref previous, slot_ref to)
{
	atomic_store_explicit(previous ? &slot_private_of(c, previous)->link : &q->first, to,
		memory_order_release);
}

/* Called before a slot that was unlinked from the chain can be used again. */
static void chain_changed(struct capture_queue *q)
{
	atomic_store_explicit(&q->changes,
		atomic_load_explicit(&q->changes, memory_order_relaxed) + 1, memory_order_release);
}

/* Follows the queue's trail to its end and adds the slots to in_flight. */
static void submitted_take(struct capture *c, struct capture_queue *q)
{
	slot_ref last = q->reached, first, ref;
	uint32_t count = 1;

	first = atomic_load_explicit(
		last ? &slot_private_of(c, last)->link : &q->first, memory_order_acquire);
	if (!first)
		return;
	/* The slot was only kept in the chain so that the next one could be linked to it. */
	if (last && last != q->in_flight.tail)
		chain_link(c, q, q->in_flight.tail, first);
	q->reached = first;
	if (q->is_reached_freed) {
		chain_changed(q);
		q->is_reached_freed = false;
		pool_slot_return(c, last);
	}
	for (;; count++) {
		struct slot_private *private = slot_private_of(c, q->reached);

		ref = atomic_load_explicit(&private->link, memory_order_acquire);
		if (!ref)
			break;
		private->next = q->reached = ref;
	}
	slot_list_append_chain(c, &q->in_flight, first, q->reached, count);
	c->active_ns = c->now_ns;
}

/* Slots that were found finished one after the other change lists together. */
struct run {
	slot_ref previous; /* the slot in flight before them; 0 if they are the first */
	slot_ref first, last;
	uint32_t count;
};

static void run_end(struct capture *c, struct capture_queue *q, struct run *run)
{
	slot_ref next;

	if (!run->count)
		return;
	next = slot_private_of(c, run->last)->next;
	chain_link(c, q, run->previous, next ? next : q->reached);
	if (run->previous)
		slot_private_of(c, run->previous)->next = next;
	else
		q->in_flight.head = next;
	if (!next)
		q->in_flight.tail = run->previous;
	q->in_flight.count -= run->count;
	slot_list_append_chain(c, &q->done, run->first, run->last, run->count);
	if (!c->done_total)
		c->done_since_ns = c->now_ns;
	c->done_total += run->count;
	run->count = 0;
}

static inline void run_add(struct run *run, slot_ref ref)
{
	if (!run->count++)
		run->first = ref;
	run->last = ref;
}

/* Whether the signal was seen to fire with its times, which the device writes first. */
static bool has_fired(const struct slot_private *private, enum outcome outcome)
{
	if (private->kind == SLOT_INJECTED)
		return outcome != RUNNING && private->why != RTL_UNTIMED_TIMESTAMP_FAILED;
	return private->kind == SLOT_APP && outcome == FINISHED && private->why == RTL_TIMED;
}

/*
 * The scan is about to stop at packets that seem to be running. If their signals never fire, it
 * would stop there for ever. So one slot behind them is checked each time, the same one until it
 * fires. Returns the number below which nothing runs any more; 0 if unknown.
 */
static uint64_t probe_behind_blocked(struct capture *c, struct capture_queue *q)
{
	slot_ref ref = q->witness ? q->witness : q->in_flight.tail;
	struct slot_private *private = slot_private_of(c, ref);
	enum outcome outcome;
	uint64_t start, end;

	q->witness = 0;
	if (!private->has_barrier || private->kind == SLOT_PLAIN)
		return 0;
	outcome = slot_poll(c, q, ref, &start, &end);
	if (has_fired(private, outcome))
		return slot_of(c, ref)->seq;
	if (outcome != FINISHED)
		q->witness = ref;
	return 0;
}

/*
 * Rule 12: checks everything in flight, out of order, so that a long kernel delays no other. Stops
 * early only where the barrier bit proves that nothing behind can have run.
 */
static void queue_harvest(struct capture *c, struct capture_queue *q, bool is_inline)
{
	uint64_t barrier_fired = q->barrier_fired, passed = barrier_fired;
	struct run run = {0};
	bool is_blocked = false;
	slot_ref ref, next;

	submitted_take(c, q);
	for (ref = q->in_flight.head; ref; ref = next) {
		struct slot_private *private = slot_private_of(c, ref);
		bool has_barrier = private->has_barrier;
		uint64_t start = 0, end = 0;
		enum outcome outcome = slot_poll(c, q, ref, &start, &end);

		next = private->next;
		if (outcome == RUNNING && !is_passed(c, ref, passed)) {
			if (is_blocked && has_barrier) {
				run_end(c, q, &run);
				passed = probe_behind_blocked(c, q);
				if (!is_passed(c, ref, passed))
					break;
			}
			is_blocked = true;
		}
		if (has_barrier && has_fired(private, outcome) &&
			slot_of(c, ref)->seq > barrier_fired)
			barrier_fired = slot_of(c, ref)->seq;
		if (outcome != FINISHED || !slot_has_symbol(c, ref, is_inline)) {
			run_end(c, q, &run);
			run.previous = ref;
			continue;
		}
		slot_settle(c, q, ref, start, end);
		run_add(&run, ref);
	}
	run_end(c, q, &run);
	chain_changed(q);
	/* Used from the next pass on, so that a silent signal is read after this observation. */
	q->barrier_fired = barrier_fired;
}

/* ---- passes ---------------------------------------------------------------------------------- */

static void encode_frames(struct capture *c, bool is_forced, bool is_inline)
{
	bool is_due = is_inline || (c->done_total && c->now_ns - c->done_since_ns >= FLUSH_NS);
	unsigned frames = batch_run(c, is_due, is_forced, is_inline);

	if (frames)
		c->done_since_ns = c->now_ns;
}

static bool refill_ready_lots(struct capture *c)
{
	bool is_new = true;

	for (unsigned i = 0; i < LOTS_PER_PASS && is_new; i++)
		is_new = pool_provide(c);
	if (is_new)
		pace_soon(&c->pace);
	return is_new;
}

enum pass_kind {
	PASS_ORDINARY,
	PASS_FORCED, /* also publishes frames that are not due */
	PASS_LAST,   /* also gives up waiting for times */
};

static bool pass_locked(struct capture *c, uint64_t now_ns, enum pass_kind kind)
{
	uint32_t used = recorder_queues_used(&c->recorder);
	bool is_active;

	pace_begin_pass(&c->pace, now_ns);
	touch_notes(c);
	/* Walks try the harvest lock themselves (rule 9), so they come before it is taken. */
	c->walks->housekeep(c);
	harvest_lock_wait(c);
	c->now_ns = now_ns;
	c->is_deciding = kind == PASS_LAST;
	for (uint32_t i = 0; i < used; i++)
		if (queue_is_live(&c->queues[i]))
			queue_harvest(c, &c->queues[i], false);
	c->is_deciding = false;
	pool_quarantine_end(c);
	encode_frames(c, kind != PASS_ORDINARY, false);
	pace_queues(c);
	is_active = now_ns - c->active_ns < ACTIVE_NS && gate_is_open(gate_load(&gate_word));
	harvest_lock_release(c);
	if (!atomic_load_explicit(&c->is_stopped, memory_order_relaxed))
		is_active |= refill_ready_lots(c);
	return is_active || capture_pending(c) || pace_is_pressed(&c->pace);
}

static bool pass(struct capture *c, uint64_t now_ns, enum pass_kind kind)
{
	bool is_active;

	if (!harvest_runtime_hold(c))
		return false;
	is_active = pass_locked(c, now_ns, kind);
	harvest_runtime_release(c);
	return is_active;
}

bool harvest_runtime_hold(struct capture *c)
{
	unsigned checks = 0;

	/* Only harvest_detach() contends for it. */
	while (atomic_exchange_explicit(&c->pass_lock, 1, memory_order_acquire))
		wait_between_checks(&checks);
	if (!c->is_detached)
		return true;
	harvest_runtime_release(c);
	return false;
}

void harvest_runtime_release(struct capture *c)
{
	atomic_store_explicit(&c->pass_lock, 0, memory_order_release);
}

bool harvest_run(struct capture *c, uint64_t now_ns)
{
	return pass(c, now_ns, PASS_ORDINARY);
}

bool harvest_flush(struct capture *c, uint64_t now_ns)
{
	return pass(c, now_ns, PASS_FORCED);
}

bool harvest_last(struct capture *c, uint64_t now_ns)
{
	return pass(c, now_ns, PASS_LAST);
}

bool harvest_detach(struct capture *c, uint64_t deadline_ns)
{
	const struct timespec step = {.tv_nsec = DETACH_STEP_NS};

	while (atomic_exchange_explicit(&c->pass_lock, 1, memory_order_acquire)) {
		if (clock_monotonic_ns() >= deadline_ns)
			return false;
		nanosleep(&step, NULL);
	}
	(void)pass_locked(c, clock_boottime_ns(), PASS_LAST);
	c->is_detached = true;
	atomic_store_explicit(&c->pass_lock, 0, memory_order_release);
	return true;
}

bool harvest_queue_inline(struct capture *c, struct capture_queue *q, uint64_t now_ns)
{
	/* Never waits: the thread that holds the lock may be without a processor for any time. */
	if (harvest_lock_try(c)) {
		if (now_ns > c->now_ns)
			c->now_ns = now_ns;
		queue_harvest(c, q, true);
		/* Returns the slot that the trail had reached, if there is no frame. */
		pool_flush(c);
		encode_frames(c, false, true);
		harvest_lock_release(c);
	}
	return atomic_load_explicit(&q->returned, memory_order_relaxed) != 0;
}

bool harvest_has_reached(struct capture *c, struct capture_queue *q, slot_ref ref)
{
	bool has_reached;

	harvest_lock_wait(c);
	submitted_take(c, q);
	has_reached = q->reached == ref;
	pool_flush(c);
	harvest_lock_release(c);
	return has_reached;
}

void harvest_queue_release(struct capture *c, struct capture_queue *q)
{
	harvest_lock_wait(c);
	queue_harvest(c, q, false);
	harvest_lock_release(c);
}

/* Rule 13: a signal that has not fired by now never will. */
static void slot_abandon(struct capture *c, struct capture_queue *q, slot_ref ref)
{
	struct slot_private *private = slot_private_of(c, ref);
	uint64_t start = 0, end = 0;
	enum outcome outcome = slot_poll(c, q, ref, &start, &end);

	if (outcome != FINISHED && private->kind == SLOT_APP) {
		unsigned checks = 0;

		/* Not finished only while another thread reads the signal, for a few loads. */
		while (appsig_poll(c, ref, APPSIG_LAST) != APPSIG_FINISHED)
			wait_between_checks(&checks);
		start = private->start;
		end = private->end;
	}
	if (outcome == RUNNING && private->why != RTL_TIMED) {
		private->phase = PHASE_NONE;
		recorder_count_queue(q->block, RTL_Q_unresolved, 1);
	}
	(void)slot_has_symbol(c, ref, false);
	slot_settle(c, q, ref, start, end);
}

void harvest_queue_retire(struct capture *c, struct capture_queue *q)
{
	harvest_lock_wait(c);
	queue_harvest(c, q, false);
	while (q->in_flight.head) {
		struct run run = {0};

		slot_abandon(c, q, q->in_flight.head);
		run_add(&run, q->in_flight.head);
		run_end(c, q, &run);
	}
	chain_changed(q);
	pool_flush(c);
	atomic_store_explicit(&q->state, QUEUE_RETIRED, memory_order_release);
	/* No slot will ever be linked to it. */
	if (q->is_reached_freed)
		pool_slot_return(c, q->reached);
	q->is_reached_freed = false;
	c->queues_live--;
	pool_retire(c, q);
	harvest_lock_release(c);
}

/* ---- hooks --------------------------------------------------------------------------------- */

void harvest_signal_store(struct capture *c, hsa_signal_t signal)
{
	appsig_used(c, signal.handle, APPSIG_STORE);
	copy_watch_used(signal.handle);
}

void harvest_signal_reuse(struct capture *c, hsa_signal_t signal)
{
	appsig_used(c, signal.handle, APPSIG_PACKET);
}

void harvest_signal_destroy(struct capture *c, hsa_signal_t signal)
{
	appsig_used(c, signal.handle, APPSIG_DESTROY);
	copy_watch_destroyed(signal.handle);
}
