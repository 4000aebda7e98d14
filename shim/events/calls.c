/* SPDX-License-Identifier: MIT */
#include "shim/events/calls.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "proto/base/clock.h"
#include "shim/events/events.h"
#include "shim/base/gate.h"
#include "shim/base/thread.h"

#define EXPORT __attribute__((visibility("default")))

static _Atomic uint64_t call_last_id;
static _Atomic bool call_is_attached;
static _Atomic bool call_is_off;

uint64_t calls_reserve(void)
{
	if (!gate_is_open(gate_load(&gate_word)))
		return 0;
	event_count(RTL_P_calls_begun);
	return atomic_fetch_add_explicit(&call_last_id, 1, memory_order_relaxed) + 1;
}

/*
 * The stack grows down, so a call whose frame is at or below @address, which is further out, has
 * been left without a return.
 */
static void drop_left(struct open_calls *open, uintptr_t address)
{
	uint32_t depth = open->depth;

	while (depth && open->at[depth - 1].frame <= address)
		depth--;
	if (depth == open->depth)
		return;
	open->depth = depth;
	thread_state()->call = depth ? open->at[depth - 1].id : 0;
	if (!depth)
		return;
	thread_state()->count = open->at[depth - 1].count;
	thread_state()->gate_changes = open->at[depth - 1].gate_changes;
}

static void push(struct open_calls *open, const struct call_frame *frame)
{
	if (open->depth == CALL_DEPTH_MAX)
		return;
	if (open->depth)
		open->at[open->depth - 1].count = thread_state()->count;
	thread_state()->call = frame->id;
	thread_state()->gate_changes = gate_changes();
	open->at[open->depth++] = (struct open_call){.id = frame->id,
		.frame = (uintptr_t)frame,
		.gate_changes = thread_state()->gate_changes};
}

void calls_begin_as(struct call_frame *frame, uint64_t id)
{
	struct open_calls *open = &thread_state()->calls;

	drop_left(open, (uintptr_t)frame);
	frame->id = id;
	frame->parent = open->depth ? open->at[open->depth - 1].id : 0;
	push(open, frame);
	frame->marker = thread_state()->marker;
	frame->start_ns = clock_boottime_ns();
}

EXPORT void rtl_call_begin(struct call_frame *frame)
{
	frame->id = calls_reserve();
	if (frame->id)
		calls_begin_as(frame, frame->id);
}

EXPORT void rtl_call_end(struct call_frame *frame, const struct call_end *end)
{
	uint64_t end_ns;
	struct recorder_call *call;

	if (!frame->id)
		return;
	end_ns = clock_boottime_ns();
	drop_left(&thread_state()->calls, (uintptr_t)frame);
	call = event_call_take(end->kind);
	if (!call)
		return;
	call->id = frame->id;
	call->parent = frame->parent;
	call->start_ns = frame->start_ns;
	call->end_ns = end_ns;
	call->marker = frame->marker;
	call->stream = end->stream;
	call->tid = thread_state_tid();
	call->result = end->result;
	call->api = (uint16_t)end->api;
	memcpy(call->arg, end->words, end->count * sizeof(call->arg[0]));
	event_call_publish(call);
}

EXPORT void rtl_calls_attach(void)
{
	atomic_store_explicit(&call_is_attached, true, memory_order_relaxed);
}

bool calls_are_attached(void)
{
	return atomic_load_explicit(&call_is_attached, memory_order_relaxed);
}

void calls_switch_off(void)
{
	atomic_store_explicit(&call_is_off, true, memory_order_relaxed);
}

bool calls_are_off(void)
{
	return atomic_load_explicit(&call_is_off, memory_order_relaxed);
}

void calls_forget(void)
{
	thread_state()->calls.depth = 0;
	thread_state()->call = 0;
}
