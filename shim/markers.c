/* SPDX-License-Identifier: MIT */
#include "shim/markers.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "proto/clock.h"
#include "proto/counters.h"
#include "proto/limits.h"
#include "shim/events.h"
#include "shim/thread_state.h"

/* roctxRangeStart's ids live apart from those of pushed ranges, whoever gives them. */
#define STARTED_ID (1ull << 62)

/* Ranges that one thread has pushed. */
struct marker_stack {
	uint32_t depth;
	uint64_t open[MARKER_DEPTH_MAX]; /* 0: not recorded */
};

/* Ranges of this thread; the innermost one is thread_state.marker. */
static __thread struct marker_stack marker_stack;

static _Atomic uint64_t marker_last_id;

/* False: dropped, and counted. */
static bool marker_put(enum rtl_marker_kind kind, uint64_t id, uint64_t parent, const char *text)
{
	struct recorder_marker *marker = event_marker_take(kind);
	size_t bytes;

	if (!marker)
		return false;
	bytes = text ? strnlen(text, sizeof(marker->text)) : 0;
	marker->id = id;
	marker->parent = parent;
	marker->time_ns = clock_boottime_ns();
	marker->tid = thread_state_tid();
	marker->bytes = (uint16_t)bytes;
	memcpy(marker->text, text ? text : "", bytes);
	event_marker_publish(marker);
	return true;
}
static_assert(sizeof(((struct recorder_marker *)0)->text) == MARKER_BYTES_MAX, "text");

static uint64_t id_take(void)
{
	return atomic_fetch_add_explicit(&marker_last_id, 1, memory_order_relaxed) + 1;
}

int markers_push(const char *text)
{
	struct marker_stack *stack = &marker_stack;
	uint64_t id = id_take();
	uint32_t level = stack->depth++;

	if (level >= MARKER_DEPTH_MAX) {
		event_count(RTL_P_dropped_markers);
		return (int)level;
	}
	if (!marker_put(RTL_MARKER_BEGIN_PUSH, id, thread_state.marker, text))
		id = 0;
	stack->open[level] = id;
	if (id)
		thread_state.marker = id;
	return (int)level;
}

int markers_pop(void)
{
	struct marker_stack *stack = &marker_stack;
	uint32_t level;
	uint64_t id;

	if (!stack->depth)
		return -1;
	level = --stack->depth;
	if (level >= MARKER_DEPTH_MAX)
		return (int)level;
	id = stack->open[level];
	if (!id)
		return (int)level;
	thread_state.marker = 0;
	for (uint32_t i = 0; i < level; i++)
		if (stack->open[i])
			thread_state.marker = stack->open[i];
	marker_put(RTL_MARKER_END, id, thread_state.marker, NULL);
	return (int)level;
}

void markers_mark(const char *text)
{
	marker_put(RTL_MARKER_MARK, id_take(), thread_state.marker, text);
}

uint64_t markers_start_id(void)
{
	return id_take();
}

void markers_start(uint64_t id, const char *text)
{
	marker_put(RTL_MARKER_BEGIN_START, STARTED_ID | id, thread_state.marker, text);
}

void markers_stop(uint64_t id)
{
	marker_put(RTL_MARKER_END, STARTED_ID | id, thread_state.marker, NULL);
}
