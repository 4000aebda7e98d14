// SPDX-License-Identifier: MIT
/*
 * Which thread submitted which dispatch, and the dispatch's number in its call: reservations, walks
 * and rings made by hand.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "shim/capture/tables/submitter.h"
#include "shim/hsa/packet.h"
#include "tests/lib/test.h"

#define PACKETS 8u

struct line {
	struct origins origins;
	hsa_queue_t queue;
	hsa_kernel_dispatch_packet_t ring[PACKETS];
	uint64_t next; /* next packet to walk */
};

static void line_init(struct line *line)
{
	memset(line, 0, sizeof(*line));
	line->queue.base_address = line->ring;
	line->queue.size = PACKETS;
	for (unsigned i = 0; i < PACKETS; i++)
		line->ring[i].header = HSA_PACKET_TYPE_INVALID;
	assert_int_equal(origins_begin(&line->origins, &line->queue, 0), 0);
}

static void publish(struct line *line, uint64_t index, unsigned type)
{
	__atomic_store_n(&line->ring[index % PACKETS].header,
		(uint16_t)(type << HSA_PACKET_HEADER_TYPE), __ATOMIC_RELEASE);
}

#define KERNEL	HSA_PACKET_TYPE_KERNEL_DISPATCH
#define BARRIER HSA_PACKET_TYPE_BARRIER_AND

/* Walks like the shadow front end; then the device consumes. */
static struct packet_origin walk_one(struct line *line)
{
	hsa_kernel_dispatch_packet_t *packet = &line->ring[line->next % PACKETS];
	struct packet_origin origin;

	(void)origins_walk(
		&line->origins, line->next, packet_is_dispatch(packet, packet->header), &origin);
	line->next++;
	packet->header = HSA_PACKET_TYPE_INVALID;
	return origin;
}

static struct packet_origin walk(struct line *line)
{
	struct packet_origin origin = walk_one(line);

	origins_walked(&line->origins, line->next);
	return origin;
}

static int setup(void **state)
{
	struct line *lines = calloc(2, sizeof(*lines));

	line_init(&lines[0]);
	line_init(&lines[1]);
	thread_state_forget();
	thread_state()->marker = 0;
	*state = lines;
	return 0;
}

static int teardown(void **state)
{
	struct line *lines = *state;

	origins_free(&lines[0].origins);
	origins_free(&lines[1].origins);
	free(lines);
	thread_state_forget();
	return 0;
}

#define CASE(claim) TEST_CASE_WITH(claim, setup, teardown, struct line *a)

CASE(packets_of_a_reservation_share_its_submitter)
{
	thread_state()->marker = 5;
	origins_reserve(&a->origins, 0, 3);
	thread_state()->marker = 6;
	origins_reserve(&a->origins, 3, 1);
	for (unsigned i = 0; i < 4; i++)
		publish(a, i, KERNEL);
	for (unsigned i = 0; i < 4; i++) {
		struct packet_origin origin = walk(a);

		assert_int_equal(origin.context.marker, i < 3 ? 5 : 6);
		assert_int_equal(origin.context.tid, thread_state_tid());
		assert_int_equal(origin.context.call, 0);
	}
}

struct submitter {
	struct line *line;
	uint64_t index;
	uint32_t tid;
};

static void *submit_as_another(void *argument)
{
	struct submitter *submitter = argument;

	thread_state()->marker = 100 + submitter->index;
	origins_reserve(&submitter->line->origins, submitter->index, 1);
	submitter->tid = thread_state_tid();
	return NULL;
}

/*
 * The queue remembers the thread that reserved last; here that one has ended, or another submits in
 * between.
 */
CASE(threads_that_alternate_are_distinguished)
{
	struct submitter other[2];

	for (uint64_t turn = 0; turn < 2; turn++) {
		pthread_t thread;

		thread_state()->marker = 7 + turn;
		origins_reserve(&a->origins, 2 * turn, 1);
		other[turn] = (struct submitter){a, 2 * turn + 1, 0};
		assert_int_equal(pthread_create(&thread, NULL, submit_as_another, &other[turn]), 0);
		pthread_join(thread, NULL);
	}
	for (unsigned i = 0; i < 4; i++)
		publish(a, i, KERNEL);
	for (unsigned i = 0; i < 4; i++) {
		struct packet_origin origin = walk(a);

		assert_int_equal(origin.context.marker, i % 2 ? 100 + i : 7 + i / 2);
		assert_int_equal(origin.context.tid, i % 2 ? other[i / 2].tid : thread_state_tid());
		assert_true(i % 2 == 0 || origin.context.tid != thread_state_tid());
	}
}

/* Walked by another thread or not yet: the numbers are the same. */
CASE(dispatches_count_over_queues_and_past_barriers)
{
	struct line *b = a + 1;

	thread_state()->call = 77;
	origins_reserve(&a->origins, 0, 1);
	publish(a, 0, BARRIER);
	origins_reserve(&b->origins, 0, 1); /* the barrier is still in its ring */
	publish(b, 0, KERNEL);
	assert_int_equal(walk(b).node, 0);
	origins_reserve(&a->origins, 1, 1); /* the walker's note says that it is a kernel */
	publish(a, 1, KERNEL);
	origins_reserve(&b->origins, 1, 1);
	publish(b, 1, KERNEL);
	assert_int_equal(walk(b).node, 2);
	(void)walk(a);
	assert_int_equal(walk(a).node, 1);
	/* Another call starts at 0, and the row has its id. */
	thread_state()->call = 78;
	origins_reserve(&a->origins, 2, 1);
	publish(a, 2, KERNEL);
	assert_int_equal(a->next, 2);
	assert_int_equal(walk(a).node, 0);
}

/* A batch of which one part was walked and consumed, and another part is in the ring. */
CASE(batch_walked_in_part_is_counted_whole)
{
	struct line *b = a + 1;
	const unsigned type[] = {KERNEL, BARRIER, KERNEL, KERNEL, BARRIER, KERNEL};

	thread_state()->call = 9;
	origins_reserve(&a->origins, 0, 6);
	for (unsigned i = 0; i < 6; i++)
		publish(a, i, type[i]);
	assert_int_equal(walk(a).node, 0);
	(void)walk(a);
	assert_int_equal(walk_one(a).node, 1);
	origins_reserve(&b->origins, 0, 1);
	publish(b, 0, KERNEL);
	assert_int_equal(walk(b).node, 4);
	assert_int_equal(walk(a).node, 2);
	(void)walk(a);
	assert_int_equal(walk(a).node, 3);
}

/* It cannot be known yet which of them will be a kernel. */
CASE(number_is_unknown_where_nothing_was_written_yet)
{
	struct line *b = a + 1;
	struct packet_origin origin;

	thread_state()->call = 9;
	origins_reserve(&a->origins, 0, 1);
	origins_reserve(&b->origins, 0, 1);
	publish(a, 0, KERNEL);
	publish(b, 0, KERNEL);
	assert_int_equal(walk(a).node, 0);
	origin = walk(b);
	assert_int_equal(origin.node, RECORDER_NODE_UNKNOWN);
	assert_int_equal(origin.context.call, 9);
	origins_reserve(&a->origins, 1, 1);
	publish(a, 1, KERNEL);
	assert_int_equal(walk(a).node, RECORDER_NODE_UNKNOWN);
	thread_state()->call = 10;
	origins_reserve(&a->origins, 2, 1);
	publish(a, 2, KERNEL);
	assert_int_equal(walk(a).node, 0);
}

CASE(call_inside_a_call_leaves_the_outer_count_alone)
{
	struct thread_count outer;

	thread_state()->call = 1;
	origins_reserve(&a->origins, 0, 1);
	publish(a, 0, KERNEL);
	assert_int_equal(walk(a).node, 0);
	outer = thread_state()->count;
	thread_state()->call = 2;
	origins_reserve(&a->origins, 1, 1);
	publish(a, 1, KERNEL);
	assert_int_equal(walk(a).context.call, 2);
	thread_state()->call = 1;
	thread_state()->count = outer;
	origins_reserve(&a->origins, 2, 1);
	publish(a, 2, KERNEL);
	{
		struct packet_origin origin = walk(a);

		assert_int_equal(origin.context.call, 1);
		assert_int_equal(origin.node, 1);
	}
}

/* Entries that are needed are never overwritten, not even by the right packet of the next round. */
CASE(reservation_too_far_ahead_is_unattributed)
{
	uint64_t entries = a->origins.mask + 1;

	thread_state()->marker = 3;
	for (uint64_t i = 0; i < entries; i++)
		origins_reserve(&a->origins, i, 1);
	thread_state()->marker = 4;
	origins_reserve(&a->origins, entries, 2);
	for (uint64_t i = 0; i < entries; i++) {
		publish(a, i, KERNEL);
		assert_int_equal(walk(a).context.marker, 3);
	}
	for (unsigned i = 0; i < 2; i++) {
		struct packet_origin origin = walk(a);

		assert_int_equal(origin.context.tid, 0);
		assert_int_equal(origin.context.marker, 0);
		assert_int_equal(origin.node, RECORDER_NODE_UNKNOWN);
	}
	origins_reserve(&a->origins, entries + 2, 1);
	assert_int_equal(walk(a).context.marker, 4);
}

/* The entry of a half walked batch is not free, although packets behind it were walked. */
CASE(half_walked_batch_keeps_its_entry)
{
	uint64_t entries = a->origins.mask + 1;

	thread_state()->marker = 3;
	origins_reserve(&a->origins, 0, entries);
	(void)walk(a);
	(void)walk(a);
	thread_state()->marker = 4;
	origins_reserve(&a->origins, entries, 1);
	for (uint64_t i = 2; i < entries; i++)
		assert_int_equal(walk(a).context.marker, 3);
	assert_int_equal(walk(a).context.tid, 0);
}

/* The ring of a destroyed queue is not read. */
CASE(queue_destroyed_within_the_call_is_safe)
{
	struct line *b = a + 1;

	thread_state()->call = 9;
	origins_reserve(&a->origins, 0, 1);
	origins_end(&a->origins);
	a->origins.ring = NULL;
	origins_reserve(&b->origins, 0, 1);
	publish(b, 0, KERNEL);
	assert_int_equal(walk(b).node, RECORDER_NODE_UNKNOWN);
}

/* In its next life the same packet index is another packet. */
CASE(block_used_again_knows_nothing_of_its_former_life)
{
	thread_state()->marker = 3;
	origins_reserve(&a->origins, 0, 2);
	origins_end(&a->origins);
	assert_int_equal(origins_begin(&a->origins, &a->queue, 0), 0);
	publish(a, 0, KERNEL);
	assert_int_equal(walk(a).context.tid, 0);
	origins_reserve(&a->origins, 1, 1);
	publish(a, 1, KERNEL);
	assert_int_equal(walk(a).context.marker, 3);
}

static _Atomic bool was_looked_at;

static void *state_use(void *ret)
{
	/*
	 * Through a volatile pointer, because the function is declared const and would be called
	 * before the loop.
	 */
	struct thread_state *(*volatile take)(void) = thread_state;
	struct thread_state *state;

	/* Relaxed, so that it orders nothing, and TSan treats both accesses as concurrent. */
	while (!atomic_load_explicit(&was_looked_at, memory_order_relaxed))
		sched_yield();
	state = take();
	*(struct thread_state **)ret = state;
	return (void *)(uintptr_t)(!state->marker && !state->call && !state->tid);
}

/* Meant for TSan: by then the next thread has the block, and claims it meanwhile. */
TEST_CASE(old_hint_does_not_find_the_block_of_an_ended_thread)
{
	struct thread_state *gone = NULL, *next = NULL;
	pthread_t thread;
	void *is_clear;

	atomic_store(&was_looked_at, true);
	assert_int_equal(pthread_create(&thread, NULL, state_use, &gone), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	gone->marker = gone->call = gone->tid = 7;
	atomic_store(&was_looked_at, false);
	assert_int_equal(pthread_create(&thread, NULL, state_use, &next), 0);
	for (int i = 0; i < 1000; i++) {
		thread_state_hint hint = gone;

		assert_ptr_equal(thread_state_near(&hint), thread_state());
		atomic_store_explicit(&was_looked_at, true, memory_order_relaxed);
	}
	assert_int_equal(pthread_join(thread, &is_clear), 0);
	assert_ptr_equal(next, gone);
	assert_true(is_clear);
}

#define LONG_PACKETS 4096u

/* Close to the walk, as far ahead as the queue is long, and in between. */
CASE(packets_far_ahead_of_the_walk_are_attributed)
{
	const uint64_t ahead[] = {
		1, ORIGINS_NEAR - 1, ORIGINS_NEAR, ORIGINS_NEAR + 1, LONG_PACKETS, 3};
	static hsa_kernel_dispatch_packet_t ring[LONG_PACKETS];
	struct origins origins = {0};
	hsa_queue_t queue = {.base_address = ring, .size = LONG_PACKETS};
	struct packet_origin origin;
	uint64_t reserved = 0, walked = 0;

	for (unsigned i = 0; i < LONG_PACKETS; i++)
		ring[i].header = HSA_PACKET_TYPE_INVALID;
	assert_int_equal(origins_begin(&origins, &queue, 0), 0);
	for (unsigned turn = 0; turn < 4 * sizeof(ahead) / sizeof(*ahead); turn++) {
		uint64_t n = ahead[turn % (sizeof(ahead) / sizeof(*ahead))];

		/* Sometimes inside a call, whose numbers are read later. */
		thread_state()->call = turn % 4 == 3 ? turn : 0;
		for (; reserved < walked + n; reserved++) {
			thread_state()->marker = 100 + reserved;
			origins_reserve(&origins, reserved, 1);
		}
		/* Half of them stay for the next round. */
		for (uint64_t end = walked + (n + 1) / 2; walked < end; walked++) {
			assert_true(origins_walk(&origins, walked, false, &origin));
			assert_int_equal(origin.context.marker, 100 + walked);
		}
		origins_walked(&origins, walked);
	}
	thread_state()->call = 0;
	assert_true(reserved > 2 * LONG_PACKETS);
	assert_true(origins.is_far);
	origins_free(&origins);
}

CASE(packets_close_to_the_walk_share_few_pages)
{
	struct origins origins = {0};
	hsa_queue_t queue = {.size = LONG_PACKETS};
	struct packet_origin origin;

	assert_int_equal(origins_begin(&origins, &queue, 0), 0);
	for (uint64_t i = 0; i < 3 * LONG_PACKETS; i++) {
		origins_reserve(&origins, i, 1);
		assert_true(origins_walk(&origins, i, false, &origin));
		origins_walked(&origins, i + 1);
	}
	assert_false(origins.is_far);
	origins_free(&origins);
}
