// SPDX-License-Identifier: MIT
#include "shim/events/signal_edges.h"

#include <stddef.h>

#include "proto/base/clock.h"
#include "proto/names/host_calls.h"
#include "shim/base/config.h"
#include "shim/base/thread.h"
#include "shim/capture/capture.h"
#include "shim/events/calls.h"
#include "shim/events/copies.h"
#include "shim/events/events.h"

/* Signals that a record names; a copy that waits for more has the first ones. */
#define DEPS 5u

bool signal_edges_are_recorded(void)
{
	return config_has(SIGNAL_EDGES);
}

/* Returns NULL if nothing is recorded now, or if the record was dropped, which is counted. */
static struct recorder_call *edge_take(
	enum rtl_host_call api, uint64_t start_ns, uint64_t end_ns, uint32_t tid)
{
	uint64_t id = calls_reserve();
	struct recorder_call *call = id ? event_call_take(RECORDER_CALL_HOST) : NULL;

	if (!call)
		return NULL;
	call->id = id;
	call->start_ns = start_ns;
	call->end_ns = end_ns;
	call->tid = tid;
	call->api = (uint16_t)api;
	return call;
}

static bool has_signal(const hsa_signal_t *dep, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (dep[i].handle)
			return true;
	return false;
}

/* Writes what a packet or copy completes and waits for, from @arg on. */
static void put_signals(uint64_t *arg, uint64_t signal, const hsa_signal_t *dep, uint32_t count)
{
	*arg++ = signal;
	for (uint32_t i = 0; i < count && i < DEPS; i++)
		*arg++ = dep[i].handle;
}

static enum rtl_host_call api_of(unsigned type)
{
	if (type == HSA_PACKET_TYPE_BARRIER_AND)
		return RTL_HOST_hsa_barrier_and_packet;
	return type == HSA_PACKET_TYPE_BARRIER_OR ? RTL_HOST_hsa_barrier_or_packet
						  : RTL_HOST_hsa_kernel_dispatch_packet;
}

void signal_edge_of_packet(const struct packet_note *note)
{
	uint32_t deps = note->dep ? DEPS : 0;
	struct recorder_call *call;

	if (!note->signal && !has_signal(note->dep, deps))
		return;
	call = edge_take(api_of(note->type), note->submit_ns, note->submit_ns, note->tid);
	if (!call)
		return;
	call->arg[0] = note->queue;
	call->arg[1] = note->dispatches;
	put_signals(&call->arg[2], note->signal, note->dep, deps);
	event_call_publish(call);
}

void signal_edge_of_copy(const struct copy *copy)
{
	struct recorder_call *call = edge_take(RTL_HOST_hsa_amd_memory_async_copy, copy->submit_ns,
		copy->submit_ns, thread_state_tid());

	if (!call)
		return;
	call->marker = thread_state()->marker;
	call->arg[0] = copy->id;
	put_signals(&call->arg[1], copy->completion.handle, copy->dep, copy->dep ? copy->deps : 0);
	event_call_publish(call);
}

void signal_edge_of_wait(hsa_signal_t signal, uint64_t start_ns)
{
	struct recorder_call *call = edge_take(
		RTL_HOST_hsa_signal_wait, start_ns, clock_boottime_ns(), thread_state_tid());

	if (!call)
		return;
	call->parent = thread_state()->call;
	call->marker = thread_state()->marker;
	call->arg[0] = signal.handle;
	event_call_publish(call);
}
