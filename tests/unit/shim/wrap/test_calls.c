/* SPDX-License-Identifier: MIT */
#include "shim/events/calls.h"

#include <stdatomic.h>
#include <string.h>

#include "proto/names/collectives.h"
#include "shim/base/process/communicators.h"
#include "shim/events/events.h"
#include "shim/base/gate.h"
#include "shim/wrap/graph_launches.h"
#include "shim/wrap/rccl_groups.h"
#include "shim/base/thread.h"
#include "tests/lib/test.h"

static jmp_buf out;

static const struct recorder_call *last_call(void)
{
	struct event_ring ring;
	struct recorder_event *event;

	assert_true(events_early(RECORDER_RING_CALLS, &ring));
	assert_int_equal(
		event_ring_turn(&ring, event_ring_tail(&ring) - 1, &event), EVENT_IS_WHOLE);
	return (const struct recorder_call *)(const void *)event;
}

static void end_call(struct call_frame *frame, uint32_t api)
{
	const uint64_t words[] = {api, 7};
	struct call_end end = {.kind = RECORDER_CALL_HOST, .api = api, .words = words, .count = 2};

	rtl_call_end(frame, &end);
}

TEST_CASE(calls_nest)
{
	struct call_frame outer;
	struct {
		struct call_frame inner; /* at a lower address, as a callee's is */
	} callee;
	struct call_frame *first = &outer, *second = &callee.inner;
	uint64_t outer_id;

	if ((uintptr_t)first < (uintptr_t)second) {
		struct call_frame *swap = first;

		first = second;
		second = swap;
	}
	assert_int_equal(thread_state()->call, 0);
	rtl_call_begin(first);
	outer_id = first->id;
	assert_int_equal(thread_state()->call, outer_id);
	thread_state()->count.node = 5;
	rtl_call_begin(second);
	assert_int_equal(second->parent, outer_id);
	assert_int_equal(thread_state()->call, second->id);
	thread_state()->count.node = 9;
	end_call(second, 3);
	assert_int_equal(last_call()->parent, outer_id);
	assert_int_equal(last_call()->arg[1], 7);
	/* The outer one goes on counting its dispatches where it was. */
	assert_int_equal(thread_state()->call, outer_id);
	assert_int_equal(thread_state()->count.node, 5);
	end_call(first, 2);
	assert_int_equal(last_call()->id, outer_id);
	assert_int_equal(last_call()->parent, 0);
	assert_int_equal(thread_state()->call, 0);
}

static void jump(void)
{
	longjmp(out, 1);
}

/* The compiler need not know that it never returns. */
static void (*volatile leave)(void) = jump;

static __attribute__((noinline)) void leave_by_longjmp(unsigned depth)
{
	struct call_frame frame;

	rtl_call_begin(&frame);
	if (depth)
		leave_by_longjmp(depth - 1);
	else
		leave();
	end_call(&frame, 9);
}

TEST_CASE(calls_left_by_longjmp_do_not_become_parents_of_later_calls)
{
	struct call_frame outer;
	uint64_t id;

	/* With nothing around: the next call has no parent. */
	if (!setjmp(out))
		leave_by_longjmp(3);
	rtl_call_begin(&outer);
	id = outer.id;
	assert_int_equal(outer.parent, 0);
	/* Inside of a call: its own end finds itself innermost. */
	if (!setjmp(out))
		leave_by_longjmp(1);
	end_call(&outer, 1);
	assert_int_equal(last_call()->id, id);
	assert_int_equal(thread_state()->call, 0);
}

static __attribute__((noinline)) void go_deep(unsigned depth)
{
	struct call_frame frame;
	uint64_t before = thread_state()->call;

	rtl_call_begin(&frame);
	if (depth)
		go_deep(depth - 1);
	end_call(&frame, depth);
	assert_int_equal(thread_state()->call, before);
}

TEST_CASE(calls_deeper_than_the_tracked_depth_leave_no_parent)
{
	go_deep(40);
	assert_int_equal(thread_state()->call, 0);
}

TEST_CASE(a_forked_child_is_in_no_call)
{
	struct call_frame frame;

	rtl_call_begin(&frame);
	calls_forget();
	assert_int_equal(thread_state()->call, 0);
	/* What returns in the child changes nothing. */
	end_call(&frame, 1);
	assert_int_equal(thread_state()->call, 0);
}

TEST_CASE(communicators_are_known_by_handle)
{
	struct communicator known = {.identity = 77, .rank = 3, .size = 8};
	static int handle[4000];

	assert_int_equal(communicators_find(&handle[0]).rank, COLLECTIVE_NO_RANK);
	assert_int_equal(communicators_next(&handle[0]), COLLECTIVE_NO_SEQ);
	communicators_add(&handle[0], &known);
	assert_int_equal(communicators_find(&handle[0]).identity, 77);
	assert_int_equal(communicators_next(&handle[0]), 0);
	assert_int_equal(communicators_next(&handle[0]), 1);
	assert_int_equal(communicators_next_to(&handle[0], 5, COMMUNICATOR_SENDS), 0);
	assert_int_equal(communicators_next_to(&handle[0], 5, COMMUNICATOR_SENDS), 1);
	assert_int_equal(communicators_next_to(&handle[0], 5, COMMUNICATOR_RECEIVES), 0);
	assert_int_equal(communicators_next_to(&handle[0], 6, COMMUNICATOR_SENDS), 0);
	/* Another one at the same address begins anew. */
	communicators_remove(&handle[0]);
	assert_int_equal(communicators_find(&handle[0]).identity, COLLECTIVE_NO_COMM);
	known.identity = 78;
	communicators_add(&handle[0], &known);
	assert_int_equal(communicators_next(&handle[0]), 0);
	assert_int_equal(communicators_next_to(&handle[0], 5, COMMUNICATOR_SENDS), 0);
	communicators_remove(&handle[0]);
	/* Communicators beyond the table's room are unknown, and never taken for another. */
	for (unsigned i = 0; i < 4000; i++) {
		known.identity = 1000 + i;
		communicators_add(&handle[i], &known);
	}
	for (unsigned i = 0; i < 4000; i++) {
		struct communicator found = communicators_find(&handle[i]);

		assert_true(found.identity == 1000 + i || found.rank == COLLECTIVE_NO_RANK);
		communicators_remove(&handle[i]);
	}
	communicators_add(&handle[7], &known);
	assert_int_equal(communicators_find(&handle[7]).rank, 3);
}

TEST_CASE(identities_are_the_same_on_all_ranks)
{
	char id[128] = "unique";
	uint64_t parent = communicator_identity(id, sizeof(id));

	assert_int_equal(parent, communicator_identity(id, sizeof(id)));
	assert_true(parent > 0 && parent <= INT64_MAX);
	id[127] = 1;
	assert_int_not_equal(parent, communicator_identity(id, sizeof(id)));
	assert_int_equal(
		rccl_identity_of_split(parent, 0, 2), rccl_identity_of_split(parent, 0, 2));
	assert_int_not_equal(
		rccl_identity_of_split(parent, 0, 2), rccl_identity_of_split(parent, 0, 3));
	assert_int_not_equal(
		rccl_identity_of_split(parent, 0, 2), rccl_identity_of_split(parent, 1, 2));
	assert_int_equal(rccl_identity_of_split(COLLECTIVE_NO_COMM, 0, 2), COLLECTIVE_NO_COMM);
}

TEST_CASE(groups_know_their_end)
{
	struct communicator known = {.identity = 5, .rank = 1, .size = 2};
	static int object;
	void *comm = NULL;
	uint64_t end;

	assert_int_equal(rccl_group_end(), 0);
	assert_false(rccl_group_defer(&comm, &known));
	rccl_group_enter();
	end = rccl_group_end();
	assert_true(end > 0 && rccl_group_is_outermost());
	rccl_group_enter();
	assert_int_equal(rccl_group_end(), end);
	assert_false(rccl_group_is_outermost());
	assert_true(rccl_group_defer(&comm, &known));
	rccl_group_leave();
	assert_int_equal(communicators_find(&object).identity, COLLECTIVE_NO_COMM);
	comm = &object;
	rccl_group_leave();
	assert_int_equal(communicators_find(&object).identity, 5);
	assert_int_equal(rccl_group_end(), 0);
	/* An end without a beginning. */
	rccl_group_leave();
	assert_int_equal(rccl_group_end(), 0);
}

/* A group that begins while nothing is recorded promises nothing, and its end is no record. */
TEST_CASE(groups_of_a_closed_gate_are_none)
{
	struct event_ring ring;
	struct call_frame frame;
	uint64_t made;

	assert_true(events_early(RECORDER_RING_CALLS, &ring));
	made = event_ring_tail(&ring);
	gate_pause();
	rccl_group_enter();
	assert_int_equal(rccl_group_end(), 0);
	rtl_call_begin(&frame);
	rccl_group_leave();
	end_call(&frame, 4);
	gate_resume();
	assert_int_equal(event_ring_tail(&ring), made);
	rccl_group_enter();
	assert_true(rccl_group_end() > 0);
	rccl_group_leave();
}

TEST_CASE(graphs_count_their_launches)
{
	assert_int_equal(graph_launches_next((void *)0x1000), 0);
	assert_int_equal(graph_launches_next((void *)0x1000), 1);
	assert_int_equal(graph_launches_next((void *)0x2000), 0);
	graph_launches_forget((void *)0x1000);
	assert_int_equal(graph_launches_next((void *)0x1000), 0);
	assert_int_equal(graph_launches_next((void *)0x2000), 1);
	assert_int_equal(graph_launches_next(NULL), GRAPH_LAUNCH_UNKNOWN);
}
