// SPDX-License-Identifier: MIT
/*
 * What the shim makes of a copy's arguments, with a runtime made of literals: batches, which the
 * installed one does not have, agents that do not tell, filters.
 */
#include <stdlib.h>
#include <string.h>

#include <hsa/amd_hsa_signal.h>

#include "proto/base/clock.h"
#include "shim/events/copies.h"
#include "shim/capture/tables/copy_times.h"
#include "shim/record/event_ring.h"
#include "shim/events/events.h"
#include "shim/base/gate.h"
#include "shim/record/recorder.h"
#include "tests/lib/test.h"

#define CPU   0x1000u
#define GPU0  0x2000u
#define GPU1  0x3000u
#define OTHER 0x4000u

static struct hsa_table table;
static struct agents agents;
static struct recorder recorder;
static unsigned profiling_calls;

static hsa_agent_t agent(uint64_t handle)
{
	return (hsa_agent_t){handle};
}

static hsa_status_t agent_get_info(hsa_agent_t of, hsa_agent_info_t what, void *ret)
{
	assert_int_equal(what, HSA_AGENT_INFO_DEVICE);
	*(hsa_device_type_t *)ret = of.handle == CPU ? HSA_DEVICE_TYPE_CPU : HSA_DEVICE_TYPE_DSP;
	return HSA_STATUS_SUCCESS;
}

/* A pointer says of itself what it is: GPU0's, GPU1's, pinned, or nothing that we know. */
static hsa_status_t pointer_info(const void *pointer, hsa_amd_pointer_info_t *ret,
	void *(*allocate)(size_t), uint32_t *count, hsa_agent_t **accessible)
{
	uint64_t at = (uint64_t)(uintptr_t)pointer & ~0xfffull;

	(void)allocate, (void)count, (void)accessible;
	ret->type = HSA_EXT_POINTER_TYPE_HSA;
	ret->agentOwner = agent(at);
	if (at == CPU)
		ret->type = HSA_EXT_POINTER_TYPE_LOCKED;
	else if (at != GPU0 && at != GPU1)
		ret->type = HSA_EXT_POINTER_TYPE_UNKNOWN;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t profiling_enable(bool enable)
{
	profiling_calls += enable;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t copy_time(hsa_signal_t signal, hsa_amd_profiling_async_copy_time_t *ret)
{
	const amd_signal_t *at = (const amd_signal_t *)(uintptr_t)signal.handle;

	ret->start = at->start_ts;
	ret->end = at->end_ts;
	return HSA_STATUS_SUCCESS;
}

static void begin(const struct choice *choice, bool is_timed)
{
	gate_choose(choice);
	gate_begin(true, 0, clock_boottime_ns());
	copies_begin(&(struct copies_setup){&table, &agents, is_timed});
}

static int setup(void **state)
{
	static const struct choice everything;
	struct recorder_identity identity = {.pid = 1};

	(void)state;
	table.real.hsa_agent_get_info = agent_get_info;
	table.real.hsa_amd_pointer_info = pointer_info;
	table.real.hsa_amd_profiling_async_copy_enable = profiling_enable;
	table.real.hsa_amd_profiling_get_async_copy_time = copy_time;
	agents.count = 2;
	agents.gpu[0].handle = agent(GPU0);
	agents.gpu[1].handle = agent(GPU1);
	agents.gpu[1].gpu_id = 1;
	profiling_calls = 0;
	if (recorder_create(&identity, &recorder) || events_start(&recorder))
		return -1;
	begin(&everything, false);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	copies_end();
	assert_true(events_stop(clock_monotonic_ns() + 1000000000u));
	recorder_close(&recorder);
	return 0;
}

static uint64_t counter(enum rtl_process_counter what)
{
	return atomic_load(&recorder.header->process[what]);
}

/* The next entry of the ring of calls; NULL: there is none. */
static const struct recorder_call *next(void)
{
	const struct event_ring *ring = &recorder.rings[RECORDER_RING_CALLS];
	struct recorder_event *event;
	uint64_t at = event_ring_head(ring);

	if (at == event_ring_tail(ring) || event_ring_turn(ring, at, &event) != EVENT_IS_WHOLE)
		return NULL;
	event_ring_give_back(ring, event);
	event_ring_advance(ring);
	return (const struct recorder_call *)(const void *)event;
}

static void check_next(enum rtl_copy_how how, enum rtl_copy_direction direction, int64_t source,
	int64_t target, uint64_t bytes)
{
	const struct recorder_call *call = next();

	assert_non_null(call);
	assert_int_equal(call->kind, RECORDER_CALL_COPY);
	assert_int_equal(call->api, how);
	assert_int_equal(call->arg[RTL_COPY_ARG_DIRECTION], direction);
	assert_int_equal((int64_t)call->arg[RTL_COPY_ARG_SOURCE], source);
	assert_int_equal((int64_t)call->arg[RTL_COPY_ARG_TARGET], target);
	assert_int_equal(call->arg[RTL_COPY_ARG_BYTES], bytes);
	assert_true(call->tid && call->start_ns);
}

static void linear(uint64_t target, uint64_t source, uint64_t target_at, uint64_t source_at)
{
	struct copy copy = copy_linear(RTL_COPY_ASYNC, (void *)(uintptr_t)target_at, agent(target),
		(void *)(uintptr_t)source_at, agent(source), 64, (hsa_signal_t){0});

	copy_begin(&copy);
	copy_end(&copy, true);
}

#define CASE(claim) TEST_CASE_BETWEEN(claim, setup, teardown)

CASE(the_direction_is_that_of_agents_or_of_pointers)
{
	linear(GPU0, CPU, 0, 0);
	check_next(RTL_COPY_ASYNC, RTL_COPY_H2D, -1, 0, 64);
	linear(CPU, GPU1, 0, 0);
	check_next(RTL_COPY_ASYNC, RTL_COPY_D2H, 1, -1, 64);
	linear(GPU1, GPU0, 0, 0);
	check_next(RTL_COPY_ASYNC, RTL_COPY_P2P, 0, 1, 64);
	linear(GPU0, GPU0, GPU0, GPU0);
	check_next(RTL_COPY_ASYNC, RTL_COPY_D2D, 0, 0, 64);
	linear(GPU0, GPU0, GPU0, CPU);
	check_next(RTL_COPY_ASYNC, RTL_COPY_H2D, -1, 0, 64);
	linear(GPU0, GPU0, 0x9000, GPU1);
	check_next(RTL_COPY_ASYNC, RTL_COPY_D2H, 1, -1, 64);
	linear(CPU, CPU, CPU, 0x9000);
	check_next(RTL_COPY_ASYNC, RTL_COPY_H2H, -1, -1, 64);
	linear(OTHER, CPU, 0, 0);
	check_next(RTL_COPY_ASYNC, RTL_COPY_UNKNOWN, -1, -2, 64);
	assert_null(next());
	assert_int_equal(counter(RTL_P_copies_recorded), 8);
}

CASE(a_batch_is_a_row_for_each_of_its_copies)
{
	const hsa_agent_t targets[2] = {agent(GPU1), agent(CPU)};
	const hsa_agent_t sources[2] = {agent(GPU0), agent(GPU1)};
	const size_t bytes[2] = {100, 200};
	const struct hsa_table_copy_op ops[] = {
		{.type = HSA_TABLE_COPY_LINEAR,
			.source_agent = agent(CPU),
			.target_agent = agent(GPU0),
			.bytes = 10},
		{.type = HSA_TABLE_COPY_LINEAR,
			.entries = 2,
			.source_agent = agent(GPU0),
			.target_agent_list = targets,
			.bytes_list = bytes},
		{.type = HSA_TABLE_COPY_BROADCAST,
			.entries = 2,
			.source_agent = agent(GPU0),
			.target_agent_list = targets,
			.bytes = 30},
		{.type = HSA_TABLE_COPY_SWAP,
			.source_agent = agent(GPU0),
			.target_agent = agent(GPU1),
			.bytes = 40,
			.target_bytes = 41},
		{.type = HSA_TABLE_COPY_SWAP,
			.entries = 2,
			.source_agent_list = sources,
			.target_agent_list = targets,
			.bytes_list = bytes},
		{.type = HSA_TABLE_COPY_TYPE_LAST + 1, .entries = 0},
	};
	struct copy_batch batch = copy_batch_begin(ops, sizeof(ops) / sizeof(ops[0]));

	copy_batch_end(&batch, true);
	check_next(RTL_COPY_BATCH, RTL_COPY_H2D, -1, 0, 10);
	check_next(RTL_COPY_BATCH, RTL_COPY_P2P, 0, 1, 100);
	check_next(RTL_COPY_BATCH, RTL_COPY_D2H, 0, -1, 200);
	check_next(RTL_COPY_BATCH, RTL_COPY_P2P, 0, 1, 30);
	check_next(RTL_COPY_BATCH, RTL_COPY_D2H, 0, -1, 30);
	check_next(RTL_COPY_BATCH, RTL_COPY_P2P, 0, 1, 40);
	check_next(RTL_COPY_BATCH, RTL_COPY_P2P, 1, 0, 41);
	check_next(RTL_COPY_BATCH, RTL_COPY_P2P, 0, 1, 100);
	check_next(RTL_COPY_BATCH, RTL_COPY_P2P, 1, 0, 100);
	check_next(RTL_COPY_BATCH, RTL_COPY_D2H, 1, -1, 200);
	check_next(RTL_COPY_BATCH, RTL_COPY_H2D, -1, 1, 200);
	check_next(RTL_COPY_BATCH, RTL_COPY_UNKNOWN, -2, -2, 0);
	assert_null(next());
	/* What the runtime refuses is no copy. */
	batch = copy_batch_begin(ops, 3);
	copy_batch_end(&batch, false);
	assert_null(next());
	batch = copy_batch_begin(&(struct hsa_table_copy_op){.entries = 1}, 1);
	copy_batch_end(&batch, false);
	assert_null(next());
	batch = copy_batch_begin(NULL, 7);
	copy_batch_end(&batch, false);
	assert_null(next());
}

CASE(only_an_operation_of_one_copy_is_timed)
{
	static const struct choice everything;
	_Alignas(64) amd_signal_t one = {.value = 1}, several = {.value = 1};
	const hsa_agent_t targets[2] = {agent(GPU1), agent(GPU1)};
	const size_t bytes[2] = {100, 200};
	const struct hsa_table_copy_op ops[] = {
		{.completion = {(uint64_t)(uintptr_t)&one},
			.source_agent = agent(CPU),
			.target_agent = agent(GPU0),
			.bytes = 10},
		{.entries = 2,
			.completion = {(uint64_t)(uintptr_t)&several},
			.source_agent = agent(GPU0),
			.target_agent_list = targets,
			.bytes_list = bytes},
	};
	const struct recorder_call *times;
	struct copy_batch batch;

	begin(&everything, true);
	batch = copy_batch_begin(ops, 2);
	copy_batch_end(&batch, true);
	assert_int_equal(profiling_calls, 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(next()->kind, RECORDER_CALL_COPY);
	one.start_ts = clock_boottime_ns();
	one.end_ts = one.start_ts + 77;
	__atomic_store_n(&one.value, 0, __ATOMIC_RELEASE);
	assert_false(copy_watch_poll());
	times = next();
	assert_non_null(times);
	assert_int_equal(times->kind, RECORDER_CALL_COPY_TIMES);
	assert_int_equal(times->id, batch.first_id);
	assert_int_equal(times->end_ns - times->start_ns, 77);
	assert_null(next());
	assert_int_equal(counter(RTL_P_copies_timed), 1);
	/* Each is one or the other. */
	assert_int_equal(counter(RTL_P_copies_untimed), 2);
	assert_int_equal(counter(RTL_P_copies_recorded), 3);
}

CASE(what_the_user_left_out_is_counted)
{
	struct choice second = {.gpus.count = 1};

	second.gpus.range[0].first = second.gpus.range[0].last = 1;
	begin(&second, false);
	linear(GPU0, CPU, 0, 0);
	linear(GPU1, CPU, 0, 0);
	linear(GPU1, GPU0, 0, 0);
	check_next(RTL_COPY_ASYNC, RTL_COPY_H2D, -1, 1, 64);
	check_next(RTL_COPY_ASYNC, RTL_COPY_P2P, 0, 1, 64);
	assert_null(next());
	assert_int_equal(counter(RTL_P_copies_filtered), 1);
	gate_pause();
	linear(GPU1, CPU, 0, 0);
	assert_null(next());
	gate_resume();
	assert_int_equal(counter(RTL_P_copies_filtered), 2);
}
