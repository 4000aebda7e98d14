// SPDX-License-Identifier: MIT
/*
 * Concurrent producers, device and harvester. Whatever the interleaving, every dispatch that the
 * device executed is stored once, with the device's own times, or counted as dropped.
 */
#include "tests/shim/capture/fixture.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "shim/capture/capture_internal.h"
#include "shim/base/gate.h"
#include "shim/capture/ends.h"
#include "shim/capture/harvest.h"
#include "shim/capture/front_ends/create.h"
#include "shim/capture/front_ends/shadow.h"
#include "shim/capture/front_ends/shadow_queue.h"
#include "shim/capture/front_ends/shadow_table.h"
#include "shim/base/thread.h"
#include "shim/base/tsc_clock.h"

#define PRODUCERS_MAX 8
#define DEADLINE_NS   (300ull * 1000 * MS)

struct plan {
	enum synth_mode mode;
	unsigned queues, producers;
	uint32_t packets;     /* size of a queue */
	uint32_t dispatches;  /* per producer */
	unsigned batch;	      /* packets of a reservation: 1 .. this */
	bool has_barrier;     /* every packet has the barrier bit */
	bool has_barriers;    /* barrier packets in between */
	bool has_app_signals; /* one packet in three has a signal of the application */
	bool rings_first;     /* sometimes rings before publication */
	bool has_gate;	      /* recording stops and starts all the time */
	bool has_calls;	      /* host calls of a few packets each, over all queues */
	unsigned lookers;     /* threads that see ends all the time */
};

/* What a packet's row must contain, by producer and number. */
struct attribution {
	uint64_t marker, call;
	uint32_t node;
};

struct producer {
	const struct plan *plan;
	struct capture *capture;
	unsigned number;
	pthread_t thread;
	hsa_signal_t signal[16];
	unsigned app_packets;
	uint32_t tid;
	uint32_t nodes; /* dispatches of the call so far */
	uint32_t calls;
	struct attribution *expected;
};

static struct {
	struct synth_queue *queue[PRODUCERS_MAX];
	struct capture *capture;
	struct reader *reader;
	struct producer producer[PRODUCERS_MAX];
	unsigned queues;
	bool has_gate;
	bool is_in_order;
	_Atomic bool stop;
} world;

/* Does what an application does: waits until it has fired, sets it again, and uses it again. */
static uint64_t app_signal(struct producer *p)
{
	hsa_signal_t signal = p->signal[p->app_packets++ % 16];

	while (synth_signal_load(signal) > 0)
		sched_yield();
	synth_store(p->capture, signal, 1);
	return signal.handle;
}

static unsigned batch_of(const struct plan *plan, uint32_t done)
{
	unsigned n = plan->batch > 1 ? 1 + done * 7 % plan->batch : 1;

	return done + n > plan->dispatches ? plan->dispatches - done : n;
}

/* Every few reservations another host call, or none, and another range. */
static void attribution_set(struct producer *p, uint32_t done)
{
	if (done % 7 == 0)
		thread_state()->marker = (uint64_t)p->number << 32 | done;
	if (!p->plan->has_calls || done % 3)
		return;
	p->nodes = 0;
	thread_state()->call = done % 4 ? (uint64_t)(p->number + 1) << 24 | ++p->calls : 0;
}

static void attribution_expect(struct producer *p, uint32_t id)
{
	p->expected[id] = (struct attribution){
		.marker = thread_state()->marker,
		.call = thread_state()->call,
		.node = thread_state()->call ? p->nodes++ : 0,
	};
}

static struct synth_packet vendor_barrier(struct synth_packet packet)
{
	packet.type = HSA_PACKET_TYPE_VENDOR_SPECIFIC;
	packet.format = SYNTH_FORMAT_BARRIER;
	return packet;
}

static void batch_submit(struct producer *p, struct synth_queue *queue, uint32_t done, unsigned n)
{
	const struct plan *plan = p->plan;
	uint64_t first;

	attribution_set(p, done);
	first = synth_add_index(p->capture, queue, n);
	if (plan->rings_first && done % 5 == 0)
		synth_ring(p->capture, queue, first);
	for (unsigned i = 0; i < n; i++) {
		uint32_t id = done + i;
		struct synth_packet packet = {
			.type = HSA_PACKET_TYPE_KERNEL_DISPATCH,
			.has_barrier = plan->has_barrier,
			.kernel_object = 1 + id % 50,
			.variant = id * PRODUCERS_MAX + p->number,
			.cookie = (uint64_t)p->number << 32 | id,
		};

		if (plan->has_barriers && id % 11 == 3)
			packet.type = HSA_PACKET_TYPE_BARRIER_AND;
		else if (plan->has_barriers && id % 13 == 5)
			packet = vendor_barrier(packet);
		else if (plan->has_app_signals && id % 3 == 0)
			packet.signal = app_signal(p);
		if (packet.type == HSA_PACKET_TYPE_KERNEL_DISPATCH)
			attribution_expect(p, id);
		synth_put(queue, first + i, &packet);
		/* Doorbells per chunk, as for graph launches. */
		if (i % 64 == 7)
			synth_ring(p->capture, queue, first + i);
	}
	if (!plan->rings_first || done % 5 != 0)
		synth_ring(p->capture, queue, first + n - 1);
}

static void *produce(void *argument)
{
	struct producer *p = argument;
	uint32_t done = 0;

	p->tid = thread_state_tid();
	while (done < p->plan->dispatches) {
		unsigned n = batch_of(p->plan, done);
		unsigned queue = p->plan->has_calls ? p->number + done : p->number;

		batch_submit(p, world.queue[queue % p->plan->queues], done, n);
		done += n;
	}
	return NULL;
}

static uint64_t value(const struct synth_queue *queue, enum rtl_queue_counter what)
{
	return recorder_queue_value(&capture_recorder(world.capture)->queues[queue->block], what);
}

static bool has_each_skipped(void)
{
	for (unsigned i = 0; i < world.queues; i++)
		if (!value(world.queue[i], RTL_Q_skipped_filter))
			return false;
	return true;
}

/*
 * Independent of how often this thread runs: the gate is closed from the beginning until each queue
 * has seen it.
 */
static void gate_turn(void)
{
	if (!gate_is_open(gate_load(&gate_word)) && has_each_skipped())
		gate_resume();
	else
		gate_pause();
}

static void *harvest(void *unused)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	(void)unused;
	while (!atomic_load(&world.stop)) {
		if (world.has_gate)
			gate_turn();
		(void)harvest_run(world.capture, clock_boottime_ns());
		(void)reader_poll(world.reader, capture_recorder(world.capture));
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/*
 * No dispatch before number @seq of @block may be in one of these states, in which its end is
 * unknown.
 */
__attribute__((no_sanitize_thread)) /* reads what other threads write */
static void
check_none_is_submitted(uint32_t block, uint64_t seq)
{
	struct capture *c = world.capture;

	for (slot_ref ref = 1; ref <= recorder_slots_used(&c->recorder); ref++) {
		const struct recorder_slot *slot = slot_of(c, ref);
		const uint64_t *head = (const uint64_t *)(const void *)slot;
		uint64_t before = __atomic_load_n(head, __ATOMIC_ACQUIRE);
		uint64_t number = __atomic_load_n(&slot->seq, __ATOMIC_ACQUIRE);
		uint64_t after = __atomic_load_n(head, __ATOMIC_ACQUIRE);

		if (before == after && (before & UINT16_MAX) == SLOT_SUBMITTED &&
			(before >> 16 & UINT16_MAX) == block)
			assert_true(number >= seq);
	}
}

/* Like a thread of the program that has waited for everything that the device has done so far. */
static void *see_ends(void *unused)
{
	(void)unused;
	while (!atomic_load(&world.stop)) {
		uint64_t executed[PRODUCERS_MAX];

		for (unsigned i = 0; i < world.queues; i++)
			executed[i] = atomic_load(&world.queue[i]->executed);
		ends_look(world.capture);
		/* The device counts before it lets the signal fall. */
		for (unsigned i = 0; world.is_in_order && i < world.queues; i++)
			if (executed[i])
				check_none_is_submitted(world.queue[i]->block, executed[i] - 1);
	}
	return NULL;
}

static uint64_t read_index(const struct synth_queue *queue)
{
	return __atomic_load_n(&queue->amd.read_dispatch_id, __ATOMIC_ACQUIRE);
}

/* Whether everything that was reserved has been consumed and harvested. */
static bool is_settled(const struct plan *plan)
{
	for (unsigned i = 0; i < plan->queues; i++) {
		struct shadow_queue *shadow =
			shadow_of_queue(world.capture, synth_hsa_queue(world.queue[i]));

		if (read_index(world.queue[i]) != shadow_index_load(shadow))
			return false;
	}
	return capture_pending(world.capture) == 0;
}

static void wait_settled(const struct plan *plan)
{
	uint64_t deadline = clock_monotonic_ns() + DEADLINE_NS;

	while (!is_settled(plan)) {
		if (clock_monotonic_ns() > deadline)
			fail_msg("not settled, %llu pending",
				(unsigned long long)capture_pending(world.capture));
		sched_yield();
	}
}

static void producers_run(const struct plan *plan)
{
	struct producer *producer = world.producer;

	for (unsigned i = 0; i < plan->producers; i++) {
		producer[i] = (struct producer){
			.plan = plan,
			.capture = world.capture,
			.number = i,
			.expected = calloc(plan->dispatches, sizeof(struct attribution)),
		};
		for (int k = 0; k < 16; k++)
			producer[i].signal[k] = synth_signal_new(0);
		assert_int_equal(
			pthread_create(&producer[i].thread, NULL, produce, &producer[i]), 0);
	}
	for (unsigned i = 0; i < plan->producers; i++)
		pthread_join(producer[i].thread, NULL);
	wait_settled(plan);
	for (unsigned i = 0; i < plan->producers; i++)
		for (int k = 0; k < 16; k++) {
			harvest_signal_destroy(world.capture, producer[i].signal[k]);
			synth_signal_free(producer[i].signal[k]);
		}
}

/*
 * Whichever thread walked, the row names the submitting thread, its range, its call and the number
 * in it. For the rest of a call the number is reported as unknown if its thread was idle while the
 * others went twice around the ring: these rings are small, and TSan is slow.
 */
static void check_attribution(const struct synth_queue *queue)
{
	size_t unknown = 0;

	for (size_t seq = 0; seq < queue->execs; seq++) {
		const struct reader_row *row = reader_row(world.reader, queue->block, seq);
		uint64_t cookie = queue->exec[seq].cookie;
		const struct producer *p = &world.producer[cookie >> 32];
		const struct attribution *expected = &p->expected[(uint32_t)cookie];

		if (!row || (world.has_gate && !row->tid))
			continue;
		assert_int_equal(row->tid, p->tid);
		assert_int_equal(row->marker, expected->marker);
		assert_int_equal(row->call, expected->call);
		if (row->node == RECORDER_NODE_UNKNOWN)
			unknown++;
		else
			assert_int_equal(row->node, expected->node);
	}
	assert_true(unknown <= queue->execs / 4);
}

static void check_all(const struct plan *plan)
{
	uint64_t signalled = 0;

	for (unsigned i = 0; i < plan->queues; i++) {
		struct synth_queue *queue = world.queue[i];

		check_against_device(world.capture, world.reader, queue,
			value(queue, RTL_Q_dropped_recorder_full) +
				value(queue, RTL_Q_skipped_filter));
		/* The shadow front end cannot miss a packet, so this counter must be 0. */
		assert_int_equal(value(queue, RTL_Q_missed), 0);
		assert_int_equal(value(queue, RTL_Q_foreign_writers), 0);
		assert_int_equal(value(queue, RTL_Q_untimed_timestamp_invalid), 0);
		assert_int_equal(value(queue, RTL_Q_untimed_unstamped), 0);
		assert_int_equal(value(queue, RTL_Q_skipped_filter) != 0, plan->has_gate);
		/* Reserved while nothing was recorded, and recorded later. */
		if (!plan->has_gate)
			assert_int_equal(value(queue, RTL_Q_unattributed), 0);
		check_attribution(queue);
		signalled += value(queue, RTL_Q_own_signals_seen);
	}
	assert_int_equal(signalled != 0, plan->has_app_signals);
}

static void run(const struct plan *plan)
{
	static const struct recorder_identity identity = {.pid = 1};
	struct capture_hsa hsa;
	pthread_t harvester, looker[2];

	synth_hsa(&hsa);
	memset(&world, 0, sizeof(world));
	world.has_gate = plan->has_gate;
	world.is_in_order = plan->has_barrier;
	world.queues = plan->queues;
	ticks_look();
	assert_int_equal(capture_create(&identity, &hsa, &world.capture), 0);
	world.reader = reader_new();
	for (unsigned i = 0; i < plan->queues; i++) {
		world.queue[i] = synth_queue_new(plan->packets);
		assert_int_equal(synth_adopt(world.capture, world.queue[i], i % 2), 0);
	}
	if (plan->has_gate)
		gate_pause();
	synth_start(plan->mode);
	assert_int_equal(pthread_create(&harvester, NULL, harvest, NULL), 0);
	for (unsigned i = 0; i < plan->lookers; i++)
		assert_int_equal(pthread_create(&looker[i], NULL, see_ends, NULL), 0);
	producers_run(plan);
	atomic_store(&world.stop, true);
	pthread_join(harvester, NULL);
	for (unsigned i = 0; i < plan->lookers; i++)
		pthread_join(looker[i], NULL);
	synth_stop();
	(void)reader_poll(world.reader, capture_recorder(world.capture));
	gate_resume();
	check_all(plan);
	capture_free(world.capture);
	reader_free(world.reader);
	for (unsigned i = 0; i < plan->queues; i++)
		synth_queue_free(world.queue[i]);
	for (unsigned i = 0; i < plan->producers; i++)
		free(world.producer[i].expected);
	assert_int_equal(synth.signals_live, 0);
}

/* With ThreadSanitizer each takes many times as long, and it sees a race without that it goes
 * wrong. */
#ifdef __SANITIZE_THREAD__
#define DISPATCHES 2000
#else
#define DISPATCHES 20000
#endif

static const struct plan one = {.queues = 1,
	.producers = 1,
	.packets = 1024,
	.dispatches = DISPATCHES,
	.has_barrier = true};

static void in_all_modes(struct plan plan)
{
	for (int mode = SYNTH_DOORBELL; mode <= SYNTH_TORN; mode++) {
		plan.mode = (enum synth_mode)mode;
		run(&plan);
	}
}

TEST_CASE(one_producer_is_accounted_for)
{
	in_all_modes(one);
}

TEST_CASE(eight_producers_on_one_queue_are_accounted_for)
{
	struct plan plan = one;

	plan.producers = 8;
	plan.dispatches = DISPATCHES / 4;
	in_all_modes(plan);
}

TEST_CASE(producers_on_queues_of_their_own_are_accounted_for)
{
	struct plan plan = one;

	plan.producers = plan.queues = 4;
	plan.dispatches = DISPATCHES / 2;
	plan.mode = SYNTH_EAGER;
	run(&plan);
}

TEST_CASE(batches_with_chunked_doorbells_are_accounted_for)
{
	struct plan plan = one;

	plan.batch = 256;
	plan.producers = 2;
	in_all_modes(plan);
}

TEST_CASE(dispatches_in_a_tiny_full_ring_are_accounted_for)
{
	struct plan plan = one;

	plan.packets = 4;
	plan.producers = 3;
	plan.dispatches = 2000;
	in_all_modes(plan);
}

TEST_CASE(dispatches_without_barrier_bit_are_accounted_for)
{
	struct plan plan = one;

	plan.has_barrier = false;
	plan.producers = 4;
	plan.dispatches = DISPATCHES / 4;
	in_all_modes(plan);
}

TEST_CASE(dispatches_among_barrier_packets_are_accounted_for)
{
	struct plan plan = one;

	plan.has_barriers = true;
	plan.producers = 2;
	in_all_modes(plan);
}

TEST_CASE(signals_of_the_application_are_read_and_stay_intact)
{
	struct plan plan = one;

	plan.has_app_signals = true;
	plan.producers = 4;
	plan.queues = 2;
	plan.dispatches = 3000;
	in_all_modes(plan);
}

TEST_CASE(threads_that_see_ends_beside_the_harvester_find_all_of_them)
{
	struct plan plan = one;

	plan.lookers = 2;
	plan.packets = 64; /* so that slots are used again and again */
	plan.dispatches = DISPATCHES / 8;
	plan.producers = plan.queues = 2;
	in_all_modes(plan);
	plan.has_app_signals = plan.has_barriers = true;
	run(&plan);
	plan.has_barrier = false;
	run(&plan);
}

TEST_CASE(doorbell_before_publication_blocks_no_thread)
{
	struct plan plan = one;

	plan.rings_first = true;
	plan.producers = 4;
	plan.dispatches = 1000;
	in_all_modes(plan);
}

TEST_CASE(dispatches_of_a_call_are_numbered_over_all_queues)
{
	struct plan plan = one;

	plan.has_calls = true;
	plan.has_barriers = true;
	plan.producers = 8;
	plan.queues = 4;
	plan.dispatches = DISPATCHES / 4;
	in_all_modes(plan);
	plan.batch = 300;
	plan.packets = 4096;
	in_all_modes(plan);
}

/* Behind those of a process that always records: the gate is the process's, and stays. */
TEST_CASE(dispatches_across_stops_and_starts_are_accounted_for)
{
	struct plan plan = one;

	plan.has_gate = true;
	plan.has_barriers = true;
	plan.batch = 9;
	plan.producers = 4;
	in_all_modes(plan);
	/* Its times are read early when a skipped packet is about to overwrite them. */
	plan.has_app_signals = true;
	plan.batch = 1;
	in_all_modes(plan);
}

/* ---- a walk that is left to the holder ------------------------------------------------- */

/* A page without read access: a read of it triggers a doorbell at that moment. */
static struct {
	struct fixture *fixture;
	void *page;
	size_t bytes;
	uintptr_t walk; /* of the queue, just before */
	unsigned rings;
} bystander;

static struct shadow_queue *shadow_of(struct fixture *f)
{
	return shadow_table_at(f->capture->head.shadow, f->queue->block);
}

static void ring_meanwhile(int number)
{
	(void)number;
	(void)mprotect(bystander.page, bystander.bytes, PROT_READ | PROT_WRITE);
	bystander.walk = shadow_of(bystander.fixture)->walk;
	bystander.rings++;
	fixture_dispatch(bystander.fixture, 0);
}

/* Called where slots are taken from a queue whose walk is held. */
TEST_CASE(no_thread_walks_under_the_harvest_lock)
{
	struct fixture f;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first, end;
	struct capture_queue *q;
	slot_ref taken[2];

	fixture_init(&f, 64);
	fixture_dispatch(&f, 0);
	q = &f.capture->queues[f.queue->block];
	first = (uintptr_t)q & ~(page - 1);
	end = ((uintptr_t)(q + 1) + page - 1) & ~(page - 1);
	bystander.fixture = &f;
	bystander.page = (void *)first; // NOLINT: a page is an address
	bystander.bytes = end - first;
	bystander.rings = 0;
	assert_int_equal(
		sigaction(SIGSEGV, &(struct sigaction){.sa_handler = ring_meanwhile}, NULL), 0);

	harvest_lock_wait(f.capture);
	assert_int_equal(mprotect(bystander.page, bystander.bytes, PROT_NONE), 0);
	shadow_walks.take_free(f.capture, f.queue->block, taken);
	assert_int_equal(bystander.rings, 1);
	assert_true(bystander.walk); /* held: the walk was left to the holder */
	assert_int_equal(synth_wdid(f.queue), 1);
	harvest_lock_release(f.capture);
	assert_int_equal(synth_wdid(f.queue), 2);
	assert_int_equal(shadow_of(&f)->walk, 0);
	/* The producer had packets, so the queue keeps its slots. */
	assert_int_equal(taken[0] | taken[1], 0);
	(void)sigaction(SIGSEGV, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	fixture_settle(&f);
	check_against_device(f.capture, f.reader, f.queue, 0);
	assert_int_equal(fixture_count(&f, RTL_Q_recorded), 2);
	fixture_done(&f);
}
