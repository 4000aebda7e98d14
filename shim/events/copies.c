// SPDX-License-Identifier: MIT
#include "shim/events/copies.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "proto/base/clock.h"
#include "proto/recorder/layout.h"
#include "shim/capture/tables/copy_times.h"
#include "shim/events/events.h"
#include "shim/events/signal_edges.h"
#include "shim/base/gate.h"
#include "shim/base/thread.h"

static struct copies_setup setup;
static _Atomic bool is_timed;
static _Atomic uint64_t last_id;
/* Taken before locks of the runtime. */
static pthread_mutex_t profiling_lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_profiling; /* the runtime times copies; profiling_lock */

/* ---- places ---------------------------------------------------------------------------------- */

static int32_t place_of_agent(hsa_agent_t agent)
{
	hsa_device_type_t type = HSA_DEVICE_TYPE_GPU;
	int gpu = agents_find(setup.agents, agent);

	if (gpu >= 0)
		return gpu;
	if (setup.table->real.hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type) ==
			HSA_STATUS_SUCCESS &&
		type == HSA_DEVICE_TYPE_CPU)
		return RTL_COPY_PLACE_HOST;
	return RTL_COPY_PLACE_UNKNOWN;
}

/* The place is that of the memory's owner. Memory that the runtime does not know is host memory. */
static int32_t place_of_pointer(const void *pointer)
{
	hsa_amd_pointer_info_t info = {.size = sizeof(info)};

	if (!setup.table->real.hsa_amd_pointer_info ||
		setup.table->real.hsa_amd_pointer_info(pointer, &info, NULL, NULL, NULL) !=
			HSA_STATUS_SUCCESS)
		return RTL_COPY_PLACE_UNKNOWN;
	if (info.type == HSA_EXT_POINTER_TYPE_UNKNOWN || info.type == HSA_EXT_POINTER_TYPE_LOCKED)
		return RTL_COPY_PLACE_HOST;
	return place_of_agent(info.agentOwner);
}

struct copy copy_linear(enum rtl_copy_how how, const void *target, hsa_agent_t target_agent,
	const void *source, hsa_agent_t source_agent, uint64_t bytes, hsa_signal_t completion)
{
	struct copy copy = {.how = how, .bytes = bytes, .completion = completion};

	/* If both agents are the same, that may only say whose engine does the copy (OpenMP). */
	if (source_agent.handle == target_agent.handle) {
		copy.source = place_of_pointer(source);
		copy.target = place_of_pointer(target);
	} else {
		copy.source = place_of_agent(source_agent);
		copy.target = place_of_agent(target_agent);
	}
	return copy;
}

struct copy copy_rect(const hsa_pitched_ptr_t *target, const hsa_pitched_ptr_t *source,
	const hsa_dim3_t *range, hsa_agent_t agent, hsa_amd_copy_direction_t direction,
	hsa_signal_t completion)
{
	struct copy copy = {.how = RTL_COPY_RECT,
		.source = RTL_COPY_PLACE_HOST,
		.target = RTL_COPY_PLACE_HOST,
		.completion = completion};

	if (range)
		copy.bytes = (uint64_t)range->x * range->y * range->z;
	if (direction == hsaDeviceToHost)
		copy.source = place_of_agent(agent);
	else if (direction == hsaDeviceToDevice)
		copy.source = source ? place_of_pointer(source->base) : RTL_COPY_PLACE_UNKNOWN;
	if (direction == hsaHostToDevice)
		copy.target = place_of_agent(agent);
	else if (direction == hsaDeviceToDevice)
		copy.target = target ? place_of_pointer(target->base) : RTL_COPY_PLACE_UNKNOWN;
	return copy;
}

/* ---- what the user selected ------------------------------------------------------------ */

static bool place_is_chosen(int32_t place)
{
	const _Atomic uint64_t *gate = &gate_word;
	uint64_t word;

	if (place >= 0)
		gate = gate_of_gpu(setup.agents->gpu[place].gpu_id);
	word = gate_load(gate);
	return gate_is_open(word) && (!(word & GATE_BY_REGION) || thread_state()->region);
}

/* A copy is recorded if one of its GPUs is; a copy between hosts, if anything is. */
static bool copy_is_chosen(const struct copy *copy)
{
	if (copy->source >= 0 && place_is_chosen(copy->source))
		return true;
	if (copy->target >= 0)
		return place_is_chosen(copy->target);
	return copy->source < 0 && place_is_chosen(RTL_COPY_PLACE_HOST);
}

/* ---- records --------------------------------------------------------------------------- */

/* Returns false if the record was dropped, which is counted. */
static bool copy_record(const struct copy *copy)
{
	struct recorder_call *call = event_call_take(RECORDER_CALL_COPY);

	if (!call)
		return false;
	call->id = copy->id;
	call->parent = thread_state()->call;
	call->start_ns = copy->submit_ns;
	call->marker = thread_state()->marker;
	call->tid = thread_state_tid();
	call->api = (uint16_t)copy->how;
	call->arg[RTL_COPY_ARG_BYTES] = copy->bytes;
	call->arg[RTL_COPY_ARG_DIRECTION] =
		(uint64_t)rtl_copy_direction_between(copy->source, copy->target);
	call->arg[RTL_COPY_ARG_SOURCE] = (uint64_t)(int64_t)copy->source;
	call->arg[RTL_COPY_ARG_TARGET] = (uint64_t)(int64_t)copy->target;
	call->arg[RTL_COPY_ARG_ENGINE] = copy->engine;
	event_call_publish(call);
	if (signal_edges_are_recorded())
		signal_edge_of_copy(copy);
	return true;
}

/* Called by copy_watch when a copy has ended; @start_ns is 0 if its times are unknown. */
static void copy_is_done(uint64_t id, uint64_t start_ns, uint64_t end_ns)
{
	struct recorder_call *call = NULL;

	if (start_ns)
		call = event_call_take(RECORDER_CALL_COPY_TIMES);
	event_count(call ? RTL_P_copies_timed : RTL_P_copies_untimed);
	if (!call)
		return;
	call->id = id;
	call->start_ns = start_ns;
	call->end_ns = end_ns;
	event_call_publish(call);
}

static bool signal_times(uint64_t signal, uint64_t *ret_start_ns, uint64_t *ret_end_ns)
{
	hsa_amd_profiling_async_copy_time_t time = {0};

	if (setup.table->real.hsa_amd_profiling_get_async_copy_time(
		    (hsa_signal_t){signal}, &time) != HSA_STATUS_SUCCESS)
		return false;
	*ret_start_ns = time.start;
	*ret_end_ns = time.end;
	return time.start != 0;
}

/* ---- hooks ----------------------------------------------------------------------------- */

bool copies_are_timed(void)
{
	return atomic_load_explicit(&is_timed, memory_order_relaxed);
}

/*
 * Enables the runtime's timing at the first copy, because that sets up things that a program
 * without copies never needs.
 */
static bool enable_timing(void)
{
	if (!copies_are_timed())
		return false;
	pthread_mutex_lock(&profiling_lock);
	if (!is_profiling)
		is_profiling = setup.table->real.hsa_amd_profiling_async_copy_enable(true) ==
			       HSA_STATUS_SUCCESS;
	pthread_mutex_unlock(&profiling_lock);
	return true;
}

/* A copy has no times if nothing is copied, or if there is no signal to read them from. */
static bool copy_can_be_timed(const struct copy *copy)
{
	return copy->bytes && copy->completion.handle;
}

static void copy_watch_if_timed(const struct copy *copy)
{
	if (copy->is_chosen && copy_can_be_timed(copy) && enable_timing())
		(void)copy_watch(copy->completion.handle, copy->id, copy->submit_ns);
}

void copy_begin(struct copy *copy)
{
	copy->id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
	copy->submit_ns = clock_boottime_ns();
	copy->is_chosen = copy_is_chosen(copy);
	copy_watch_if_timed(copy);
}

void copy_end(struct copy *copy, bool ok)
{
	if (ok && !copy->is_chosen)
		event_count(RTL_P_copies_filtered);
	ok = ok && copy->is_chosen && copy_record(copy);
	if (ok && copies_are_timed() && !copy_can_be_timed(copy))
		event_count(RTL_P_copies_untimed);
	copy_watch_submitted(copy->completion.handle, copy->id, ok);
}

/* ---- batches --------------------------------------------------------------------------- */

static uint32_t op_copies(const struct hsa_table_copy_op *op)
{
	uint32_t entries = op->entries ? op->entries : 1;

	return op->type == HSA_TABLE_COPY_SWAP ? 2 * entries : entries;
}

/*
 * Whether the lists are present. If the program has left one out, the runtime must report the
 * error; the shim must not fault.
 */
static bool op_is_readable(const struct hsa_table_copy_op *op)
{
	if (op->type > HSA_TABLE_COPY_TYPE_LAST)
		return false;
	if (!op->entries)
		return true;
	return op->target_agent_list && (op->type == HSA_TABLE_COPY_BROADCAST || op->bytes_list) &&
	       (op->type != HSA_TABLE_COPY_SWAP || op->source_agent_list);
}

/*
 * Copy @i of @op; a swap is two copies. A type that is unknown here becomes one copy of unknown
 * size.
 */
static struct copy op_copy(const struct hsa_table_copy_op *op, uint32_t i)
{
	struct copy copy = {.how = RTL_COPY_BATCH,
		.source = RTL_COPY_PLACE_UNKNOWN,
		.target = RTL_COPY_PLACE_UNKNOWN};
	bool is_back = op->type == HSA_TABLE_COPY_SWAP && i % 2;
	uint32_t entry = op->type == HSA_TABLE_COPY_SWAP ? i / 2 : i;

	/* A signal that several copies share has the times of none. */
	if (op_copies(op) == 1)
		copy.completion = op->completion;
	if (!op_is_readable(op))
		return copy;
	copy.source = place_of_agent(op->source_agent);
	if (!op->entries) {
		copy.target = place_of_agent(op->target_agent);
		copy.bytes = is_back ? op->target_bytes : op->bytes;
	} else {
		if (op->type == HSA_TABLE_COPY_SWAP)
			copy.source = place_of_agent(op->source_agent_list[entry]);
		copy.target = place_of_agent(op->target_agent_list[entry]);
		copy.bytes =
			op->type == HSA_TABLE_COPY_BROADCAST ? op->bytes : op->bytes_list[entry];
	}
	if (is_back) {
		int32_t place = copy.source;

		copy.source = copy.target;
		copy.target = place;
	}
	return copy;
}

struct copy_batch copy_batch_begin(const struct hsa_table_copy_op *ops, uint32_t count)
{
	struct copy_batch batch = {ops, ops ? count : 0, 0, clock_boottime_ns()};
	uint64_t copies = 0, id;

	for (uint32_t i = 0; i < batch.count; i++)
		copies += op_copies(&ops[i]);
	id = atomic_fetch_add_explicit(&last_id, copies, memory_order_relaxed) + 1;
	batch.first_id = id;
	for (uint32_t i = 0; i < batch.count; i++) {
		for (uint32_t k = 0; k < op_copies(&ops[i]); k++, id++) {
			struct copy copy;

			if (op_copies(&ops[i]) != 1)
				continue;
			copy = op_copy(&ops[i], k);
			copy.id = id;
			copy.submit_ns = batch.submit_ns;
			copy.is_chosen = copy_is_chosen(&copy);
			copy_watch_if_timed(&copy);
		}
	}
	return batch;
}

void copy_batch_end(const struct copy_batch *batch, bool ok)
{
	uint64_t id = batch->first_id;

	for (uint32_t i = 0; i < batch->count; i++) {
		for (uint32_t k = 0; k < op_copies(&batch->ops[i]); k++, id++) {
			struct copy copy = op_copy(&batch->ops[i], k);

			copy.id = id;
			copy.submit_ns = batch->submit_ns;
			copy.is_chosen = copy_is_chosen(&copy);
			copy_end(&copy, ok);
		}
	}
}

/* ---- begin and end --------------------------------------------------------------------- */

void copies_begin(const struct copies_setup *new_setup)
{
	static const struct copy_watch_calls calls = {signal_times, copy_is_done};
	const struct hsa_originals *real = &new_setup->table->real;

	setup = *new_setup;
	is_profiling = false;
	copy_watch_begin(&calls);
	atomic_store_explicit(&is_timed,
		setup.is_timed && real->hsa_amd_profiling_async_copy_enable &&
			real->hsa_amd_profiling_get_async_copy_time,
		memory_order_relaxed);
}

void copies_end(void)
{
	atomic_store_explicit(&is_timed, false, memory_order_relaxed);
	copy_watch_end();
}
