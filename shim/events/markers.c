/* SPDX-License-Identifier: MIT */
#include "shim/events/markers.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "proto/base/clock.h"
#include "proto/names/counters.h"
#include "proto/base/limits.h"
#include "shim/events/events.h"
#include "shim/base/gate.h"
#include "shim/base/thread.h"

/* Ids of roctxRangeStart are kept apart from those of pushed ranges. */
#define STARTED_ID (1ull << 62)

/*
 * Without a roctx library we choose the ids, starting here. A library that is loaded later counts
 * from 1 and does not get this far. The ids still fit an int, as ctypes passes them.
 */
#define OWN_ID (1ull << 30)

/* Most started ranges of --region that can be open at once; further ones select nothing. */
#define REGIONS_MAX 256u

static_assert(MARKER_DEPTH_MAX <= 32, "bits of marker_stack.in_region");

static _Atomic uint64_t marker_last_id;
static _Atomic uint64_t regions[REGIONS_MAX]; /* ids of open started ranges; 0 if free */

static uint64_t id_take(void)
{
	return atomic_fetch_add_explicit(&marker_last_id, 1, memory_order_relaxed) + 1;
}

/*
 * A program may stop a range that was never started, with any number: the result is valid for the
 * collector.
 */
static uint64_t id_started(uint64_t id)
{
	return STARTED_ID | (id & (STARTED_ID - 1));
}

/* ---- events ---------------------------------------------------------------------------------- */

/*
 * Returns false if the marker was dropped (and counted), or if nothing of this process is recorded.
 */
static bool marker_put(enum rtl_marker_kind kind, uint64_t id, uint64_t parent, const char *text)
{
	uint64_t now_ns = clock_boottime_ns();
	uint32_t tid = thread_state_tid();
	size_t bytes = text ? strnlen(text, MARKER_BYTES_MAX) : 0;
	struct recorder_marker *marker;

	if (gate_is_never_open())
		return false;
	marker = event_marker_take(kind);
	if (!marker)
		return false;
	marker->id = id;
	marker->parent = parent;
	marker->time_ns = now_ns;
	marker->tid = tid;
	marker->bytes = (uint16_t)bytes;
	memcpy(marker->text, text ? text : "", bytes);
	event_marker_publish(marker);
	return true;
}
static_assert(sizeof(((struct recorder_marker *)0)->text) == MARKER_BYTES_MAX, "text");

/* ---- ranges of a thread ---------------------------------------------------------------- */

static void level_begin(struct marker_stack *stack, uint32_t level, const char *text)
{
	uint64_t id = id_take();
	uint32_t is_region = gate_region_matches(text);

	if (!marker_put(RTL_MARKER_BEGIN_PUSH, id, thread_state()->marker, text))
		id = 0;
	stack->open[level] = id;
	stack->in_region |= is_region << level;
	thread_state()->region += is_region;
	if (id)
		thread_state()->marker = id;
}

static void level_end(struct marker_stack *stack, uint32_t level)
{
	uint64_t id = stack->open[level];

	thread_state()->region -= stack->in_region >> level & 1;
	stack->in_region &= ~(1u << level);
	if (!id)
		return;
	thread_state()->marker = 0;
	for (uint32_t i = 0; i < level; i++)
		if (stack->open[i])
			thread_state()->marker = stack->open[i];
	marker_put(RTL_MARKER_END, id, thread_state()->marker, NULL);
}

int markers_push(const char *text)
{
	struct marker_stack *stack = &thread_state()->markers;
	uint32_t level = stack->depth++;

	gate_step(text);
	if (level < MARKER_DEPTH_MAX)
		level_begin(stack, level, text);
	else
		event_count(RTL_P_dropped_markers);
	return (int)level;
}

int markers_pop(void)
{
	struct marker_stack *stack = &thread_state()->markers;

	if (!stack->depth)
		return -1;
	if (--stack->depth < MARKER_DEPTH_MAX)
		level_end(stack, stack->depth);
	return (int)stack->depth;
}

void markers_forget_thread(void)
{
	memset(thread_state()->markers.open, 0, sizeof(thread_state()->markers.open));
	thread_state()->marker = 0;
}

/* ---- ranges of the process ------------------------------------------------------------- */

static bool region_exchange(uint64_t from, uint64_t to)
{
	for (uint32_t i = 0; i < REGIONS_MAX; i++) {
		uint64_t expected = from;

		if (atomic_load_explicit(&regions[i], memory_order_relaxed) == from &&
			atomic_compare_exchange_strong(&regions[i], &expected, to))
			return true;
	}
	return false;
}

uint64_t markers_start_id(void)
{
	return OWN_ID + id_take();
}

void markers_start(uint64_t id, const char *text)
{
	gate_step(text);
	if (gate_region_matches(text) && region_exchange(0, id_started(id)))
		atomic_fetch_add_explicit(&thread_state_regions, 1, memory_order_relaxed);
	marker_put(RTL_MARKER_BEGIN_START, id_started(id), thread_state()->marker, text);
}

void markers_stop(uint64_t id)
{
	if (atomic_load_explicit(&thread_state_regions, memory_order_relaxed) &&
		region_exchange(id_started(id), 0))
		atomic_fetch_sub_explicit(&thread_state_regions, 1, memory_order_relaxed);
	marker_put(RTL_MARKER_END, id_started(id), thread_state()->marker, NULL);
}

/* ---- marks and names ------------------------------------------------------------------- */

void markers_mark(const char *text)
{
	gate_step(text);
	marker_put(RTL_MARKER_MARK, id_take(), thread_state()->marker, text);
}

void markers_name(enum rtl_marker_kind kind, uint64_t subject, const char *name)
{
	marker_put(kind, id_take(), subject, name);
}
