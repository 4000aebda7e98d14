// SPDX-License-Identifier: MIT
#include "shim/events/events.h"
#include "shim/base/glibc_compat.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "proto/base/fault.h"
#include "proto/base/limits.h"
#include "shim/base/wakeup.h"
#include "shim/base/wait.h"

/* One mapping; a page takes memory only once it was written. */
struct event_state {
	/* NULL if none; written by the threads of OnLoad and OnUnload */
	struct recorder *_Atomic recorder;
	_Atomic uint64_t inside; /* number of producers in the rings of `recorder` */
	pid_t pid;		 /* set where the kernel cannot wipe on fork; else 0 */
	struct event_ends early[RECORDER_RINGS];
	_Atomic uint64_t counted[RTL_P_COUNT]; /* counts from before there was a recorder */
	struct recorder_marker marker[RECORDER_MARKERS];
	struct recorder_call call[RECORDER_CALLS];
};

static struct event_state *_Atomic event_state;

/* Made by the first event or by OnLoad. NULL if there is no memory. */
static struct event_state *state_get(void)
{
	struct event_state *state = atomic_load_explicit(&event_state, memory_order_acquire);
	struct event_state *expected = NULL;

	if (state)
		return state;
	state = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (state == MAP_FAILED)
		return NULL;
	/*
	 * A forked child must find this zeroed: the recorder is not mapped there, and to touch it
	 * would end the child.
	 */
	if (madvise(state, sizeof(*state), MADV_WIPEONFORK) < 0)
		state->pid = getpid(); /* the kernel is older than 4.14 */
	if (!atomic_compare_exchange_strong(&event_state, &expected, state)) {
		munmap(state, sizeof(*state));
		return expected;
	}
	return state;
}

static struct event_ring early_ring(struct event_state *state, enum recorder_ring which)
{
	if (which == RECORDER_RING_MARKERS)
		return (struct event_ring){(uint8_t *)state->marker, &state->early[which],
			RECORDER_MARKERS, sizeof(state->marker[0])};
	return (struct event_ring){(uint8_t *)state->call, &state->early[which], RECORDER_CALLS,
		sizeof(state->call[0])};
}

/* Returns the recorder, which stays mapped until recorder_unpin(); NULL if there is none. */
static struct recorder *recorder_pin(struct event_state *state)
{
	struct recorder *recorder;

	if (!atomic_load_explicit(&state->recorder, memory_order_relaxed))
		return NULL;
	/*
	 * Sequentially consistent: either events_stop() sees this count, or it has already cleared
	 * the pointer.
	 */
	atomic_fetch_add(&state->inside, 1);
	recorder = atomic_load(&state->recorder);
	if (!recorder)
		atomic_fetch_sub(&state->inside, 1);
	return recorder;
}

static void recorder_unpin(struct event_state *state)
{
	atomic_fetch_sub_explicit(&state->inside, 1, memory_order_release);
}

static void count(struct event_state *state, struct recorder *recorder, int what)
{
	if (recorder)
		recorder_count(recorder, (enum rtl_process_counter)what, 1);
	else
		atomic_fetch_add_explicit(&state->counted[what], 1, memory_order_relaxed);
}

void event_count(enum rtl_process_counter what)
{
	struct event_state *state = state_get();
	struct recorder *recorder = state ? recorder_pin(state) : NULL;

	if (state)
		count(state, recorder, (int)what);
	if (recorder)
		recorder_unpin(state);
}

/*
 * Raised before the entry is published: a drain that does not see the new value does not see the
 * entry either.
 */
static void note_spare_used(struct recorder *recorder, const struct recorder_event *event)
{
	const struct event_ring *ring = &recorder->rings[RECORDER_RING_SPARE_CALLS];
	uint64_t end = ((uintptr_t)event - (uintptr_t)ring->entries) / ring->stride + 1;
	_Atomic uint64_t *used = &recorder->header->spare_calls_used;
	uint64_t before = atomic_load_explicit(used, memory_order_relaxed);

	while (before < end && !atomic_compare_exchange_weak_explicit(used, &before, end,
				       memory_order_relaxed, memory_order_relaxed))
		;
}

/*
 * Half of the ring is left to copies, which have no spare ring, since the times of a copy must not
 * overtake it.
 */
static struct recorder_event *take_from(
	struct recorder *recorder, enum recorder_ring which, bool may_be_spare)
{
	struct recorder_event *event;

	if (!may_be_spare || !event_ring_is_half_full(&recorder->rings[which]))
		return event_ring_take(&recorder->rings[which]);
	event = event_ring_take(&recorder->rings[RECORDER_RING_SPARE_CALLS]);
	if (event)
		note_spare_used(recorder, event);
	return event;
}

static void *event_take(enum recorder_ring which, bool may_be_spare, int recorded, int dropped)
{
	struct event_state *state = state_get();
	struct recorder *recorder;
	struct recorder_event *event;
	struct event_ring early;
	int what;

	if (!state)
		return NULL;
	recorder = recorder_pin(state);
	if (!recorder)
		early = early_ring(state, which);
	event = recorder ? take_from(recorder, which, may_be_spare) : event_ring_take(&early);
	what = event ? recorded : dropped;
	if (what >= 0)
		count(state, recorder, what);
	if (recorder && !event)
		recorder_unpin(state);
	FAULT_POINT("event_taken");
	return event;
}

static void event_publish(struct recorder_event *event)
{
	struct event_state *state = atomic_load_explicit(&event_state, memory_order_relaxed);
	bool is_early = (uintptr_t)event - (uintptr_t)state < sizeof(*state);

	event_ring_publish(event);
	if (!is_early)
		recorder_unpin(state);
	doze_alert();
	FAULT_POINT("event_published");
}

struct recorder_marker *event_marker_take(enum rtl_marker_kind kind)
{
	static const int recorded[] = {
		[RTL_MARKER_BEGIN_PUSH] = RTL_P_markers_begun,
		[RTL_MARKER_BEGIN_START] = RTL_P_markers_begun,
		[RTL_MARKER_END] = RTL_P_markers_ended,
		[RTL_MARKER_MARK] = -1,
		[RTL_MARKER_NAME_THREAD] = -1,
		[RTL_MARKER_NAME_AGENT] = -1,
		[RTL_MARKER_NAME_DEVICE] = -1,
		[RTL_MARKER_NAME_STREAM] = -1,
	};
	struct recorder_marker *marker =
		event_take(RECORDER_RING_MARKERS, false, recorded[kind], RTL_P_dropped_markers);

	if (marker)
		marker->kind = (uint16_t)kind;
	return marker;
}

void event_marker_publish(struct recorder_marker *marker)
{
	event_publish(&marker->event);
}

struct recorder_call *event_call_take(enum recorder_call_kind kind)
{
	static const struct {
		int recorded, dropped;
	} count[] = {
		[RECORDER_CALL_HOST] = {RTL_P_calls_recorded, RTL_P_dropped_calls},
		[RECORDER_CALL_COLLECTIVE] = {RTL_P_collectives_recorded, RTL_P_dropped_calls},
		[RECORDER_CALL_COPY] = {RTL_P_copies_recorded, RTL_P_dropped_copies},
		/* The copy's row shows that it has no times. */
		[RECORDER_CALL_COPY_TIMES] = {-1, -1},
	};
	bool is_copy = kind == RECORDER_CALL_COPY || kind == RECORDER_CALL_COPY_TIMES;
	struct recorder_call *call = event_take(
		RECORDER_RING_CALLS, !is_copy, count[kind].recorded, count[kind].dropped);

	if (!call)
		return NULL;
	memset((uint8_t *)call + sizeof(call->event), 0, sizeof(*call) - sizeof(call->event));
	call->kind = (uint8_t)kind;
	return call;
}

void event_call_publish(struct recorder_call *call)
{
	event_publish(&call->event);
}

int events_start(struct recorder *recorder)
{
	struct event_state *state;

	events_forget();
	state = state_get();
	if (!state)
		return -ENOMEM;
	atomic_store(&state->recorder, recorder);
	return 0;
}

bool events_stop(uint64_t deadline_ns)
{
	struct event_state *state = atomic_load_explicit(&event_state, memory_order_acquire);
	unsigned checks = 0;

	if (!state)
		return true;
	atomic_store(&state->recorder, NULL);
	while (atomic_load(&state->inside)) {
		if (clock_monotonic_ns() > deadline_ns)
			return false;
		wait_between_checks(&checks);
	}
	return true;
}

void events_forget(void)
{
	struct event_state *state = atomic_load_explicit(&event_state, memory_order_acquire);

	/* The pages are the child's own copies of the parent's; they stay mapped and unused. */
	if (state && state->pid && state->pid != getpid())
		atomic_store_explicit(&event_state, NULL, memory_order_relaxed);
}

bool events_early(enum recorder_ring which, struct event_ring *ret)
{
	struct event_state *state = atomic_load_explicit(&event_state, memory_order_acquire);

	if (!state || which == RECORDER_RING_SPARE_CALLS)
		return false;
	*ret = early_ring(state, which);
	return true;
}

void events_settle(struct recorder *recorder)
{
	struct event_state *state = atomic_load_explicit(&event_state, memory_order_acquire);

	for (int what = 0; state && what < RTL_P_COUNT; what++) {
		uint64_t n = atomic_load_explicit(&state->counted[what], memory_order_relaxed);

		if (n)
			recorder_count(recorder, (enum rtl_process_counter)what,
				atomic_exchange_explicit(
					&state->counted[what], 0, memory_order_relaxed));
	}
}
