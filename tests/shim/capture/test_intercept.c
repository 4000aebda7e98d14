// SPDX-License-Identifier: MIT
/*
 * The intercept front end and the choice between two front ends, against synthetic intercept queues
 * of every generation: with concurrent producers, device and harvester, and step by step.
 */
#include "tests/shim/capture/fixture.h"
#include "tests/shim/capture/synth_intercept.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "proto/base/clock.h"
#include "shim/capture/harvest.h"
#include "shim/capture/front_ends/create.h"
#include "shim/capture/front_ends/intercept.h"
#include "shim/capture/front_ends/shadow.h"
#include "shim/base/thread.h"
#include "shim/base/tsc_clock.h"

#define PRODUCERS   8
#define DEADLINE_NS (300ull * 1000 * MS)
#ifdef __SANITIZE_THREAD__ /* which takes many times as long, and sees a race without that it goes wrong */
#define DISPATCHES 1000
#else
#define DISPATCHES 4000
#endif

/* Agents: 1 is normal, 2 has doorbells that cannot be followed. */
static const struct front_ends only_intercept = {.first = &intercept_front_end};
static const struct front_ends both = {
	.first = &shadow_front_end, .fallback = &intercept_front_end};
static const struct front_ends only_shadow = {.first = &shadow_front_end};

static struct world {
	struct capture *capture;
	struct recorder *recorder;
	struct reader *reader;
	struct synth_queue *queue;
	uint64_t now_ns;
	uint32_t dispatches, batch;
	_Atomic unsigned number;
	uint32_t tid[PRODUCERS];
	_Atomic bool stop;
} world;

static void world_begin(void)
{
	static const struct recorder_identity identity = {.pid = 1};
	struct capture_hsa hsa;

	synth_hsa(&hsa);
	synth_intercept_hsa(&hsa);
	memset(&world, 0, sizeof(world));
	world.now_ns = 1000 * MS;
	ticks_look();
	assert_int_equal(capture_create(&identity, &hsa, &world.capture), 0);
	world.recorder = capture_recorder(world.capture);
	world.reader = reader_new();
}

static struct synth_queue *create(
	const struct front_ends *ends, uint64_t agent, uint32_t packets, const char **ret_why)
{
	struct queue_request request = {
		.agent = {agent},
		.size = packets,
		.private_segment_size = UINT32_MAX,
		.group_segment_size = 77,
	};
	uint32_t block = recorder_queues_used(world.recorder);
	hsa_queue_t *queue;

	assert_int_equal(front_ends_create(world.capture, ends, &request, &queue, ret_why),
		HSA_STATUS_SUCCESS);
	synth_of_hsa(queue)->block = block;
	synth_device_of(synth_of_hsa(queue))->block = block;
	return synth_of_hsa(queue);
}

static void destroy(struct synth_queue *queue)
{
	assert_int_equal(front_ends_destroy(world.capture, synth_hsa_queue(queue),
				 capture_hsa_of(world.capture)->queue_destroy),
		HSA_STATUS_SUCCESS);
}

static void world_end(void)
{
	capture_free(world.capture);
	reader_free(world.reader);
	assert_int_equal(synth.signals_live, 0);
}

static uint64_t value(const struct synth_queue *queue, enum rtl_queue_counter what)
{
	return recorder_queue_value(&world.recorder->queues[queue->block], what);
}

static uint64_t process(enum rtl_process_counter what)
{
	return world.recorder->header->process[what];
}

static void harvest_once(uint64_t ns)
{
	world.now_ns += ns;
	(void)harvest_run(world.capture, world.now_ns);
	(void)reader_poll(world.reader, world.recorder);
}

static const struct synth_packet kernel = {
	.type = HSA_PACKET_TYPE_KERNEL_DISPATCH, .has_barrier = true, .kernel_object = 7};

/* ---- step by step --------------------------------------------------------------------------- */

TEST_CASE(intercepted_queue_is_created_as_requested)
{
	const char *why;
	struct synth_queue *queue;

	world_begin();
	queue = create(&only_intercept, 1, 64, &why);
	assert_null(why);
	assert_true(synth_is_proxy(queue));
	assert_int_equal(synth_proxy_private_bytes(queue), UINT32_MAX);
	assert_int_equal(synth_proxy_group_bytes(queue), 77);
	assert_true(queue->amd.queue_properties & AMD_QUEUE_PROPERTIES_ENABLE_PROFILING);
	assert_int_equal(process(RTL_P_queues_created), 1);
	assert_int_equal(process(RTL_P_queues_followed), 1);
	assert_int_equal(process(RTL_P_queues_intercepted), 1);
	destroy(queue);
	assert_int_equal(process(RTL_P_queues_destroyed), 1);
	world_end();
}

TEST_CASE(the_application_s_packet_is_not_changed)
{
	hsa_signal_t own = synth_signal_new(1);
	struct synth_packet signalled = kernel;
	struct synth_queue *queue, *device;
	const char *why;

	world_begin();
	queue = create(&only_intercept, 1, 64, &why);
	device = synth_device_of(queue);
	(void)synth_submit(world.capture, queue, &kernel);
	signalled.signal = own.handle;
	(void)synth_submit(world.capture, queue, &signalled);
	assert_int_equal(queue->ring[0].completion_signal.handle, 0);
	assert_int_not_equal(device->ring[0].completion_signal.handle, 0);
	assert_int_equal(device->ring[1].completion_signal.handle, own.handle);
	while (synth_step(device, SYNTH_DOORBELL))
		;
	assert_int_equal(synth_signal_load(own), 0);
	harvest_once(1);
	harvest_once(30 * MS);
	check_against_device(world.capture, world.reader, device, 0);
	assert_int_equal(value(queue, RTL_Q_own_signals_read), 1);
	assert_int_equal(value(queue, RTL_Q_recorded), 2);
	harvest_signal_destroy(world.capture, own);
	synth_signal_free(own);
	destroy(queue);
	world_end();
}

/*
 * A runtime that passes on more than a ring at once, as if its staging buffer were larger: nothing
 * is split.
 */
TEST_CASE(packets_beyond_the_copy_buffer_are_counted_and_left_alone)
{
	struct synth_packet packet = kernel;
	struct synth_queue *queue, *device;
	const char *why;

	world_begin();
	synth_proxy_mode = SYNTH_PROXY_STAGED;
	queue = create(&only_intercept, 1, 64, &why);
	device = synth_device_of(queue);
	intercept_limit_copy(world.capture, queue->block, 4);
	for (int i = 0; i < 5; i++) {
		packet.type =
			i == 2 ? HSA_PACKET_TYPE_BARRIER_AND : HSA_PACKET_TYPE_KERNEL_DISPATCH;
		synth_put(queue, synth_add_index(world.capture, queue, 1), &packet);
	}
	synth_ring(world.capture, queue, 4);
	assert_int_equal(synth_proxy_batches(queue), 1);
	assert_int_equal(synth_proxy_faults(queue), 0);
	while (synth_step(device, SYNTH_DOORBELL))
		;
	harvest_once(1);
	harvest_once(30 * MS);
	assert_int_equal(value(queue, RTL_Q_dispatched), 4);
	assert_int_equal(value(queue, RTL_Q_untimed_unstamped), 4);
	assert_int_equal(value(queue, RTL_Q_skipped_not_kernel), 1);
	check_against_device(world.capture, world.reader, device, 0);
	destroy(queue);
	world_end();
}

TEST_CASE(forked_child_passes_all_packets_on)
{
	struct synth_queue *queue;
	const char *why;

	world_begin();
	queue = create(&only_intercept, 1, 64, &why);
	capture_pass_through(world.capture);
	(void)synth_submit(world.capture, queue, &kernel);
	assert_int_equal(value(queue, RTL_Q_dispatched), 0);
	assert_int_equal(synth_device_of(queue)->ring[0].completion_signal.handle, 0);
	assert_int_equal(synth_device_of(queue)->rings, 1);
	(void)capture_hsa_of(world.capture)->queue_destroy(synth_hsa_queue(queue));
	world_end();
}

TEST_CASE(after_the_stop_packets_are_counted_and_left_alone)
{
	struct synth_queue *queue;
	const char *why;

	world_begin();
	queue = create(&only_intercept, 1, 64, &why);
	capture_stop(world.capture);
	assert_true(front_ends_quiesce(world.capture, clock_monotonic_ns() + DEADLINE_NS));
	(void)synth_submit(world.capture, queue, &kernel);
	assert_int_equal(value(queue, RTL_Q_skipped_shutdown), 1);
	assert_int_equal(synth_device_of(queue)->ring[0].completion_signal.handle, 0);
	destroy(queue);
	world_end();
}

TEST_CASE(kernel_that_has_not_fired_at_the_destroy_is_unresolved)
{
	struct synth_queue *queue;
	const char *why;
	uint32_t block;

	world_begin();
	queue = create(&only_intercept, 1, 64, &why);
	block = queue->block;
	(void)synth_submit(world.capture, queue, &kernel);
	destroy(queue);
	assert_int_equal(recorder_queue_value(&world.recorder->queues[block], RTL_Q_unresolved), 1);
	/* The next queue reuses its block and its memory. */
	for (unsigned i = recorder_queues_used(world.recorder); i < RECORDER_QUEUES; i++)
		destroy(create(&only_intercept, 1, 64, &why));
	queue = create(&only_intercept, 1, 64, &why);
	assert_null(why);
	destroy(queue);
	world_end();
}

/* ---- two front ends -------------------------------------------------------------------- */

TEST_CASE(each_queue_has_the_front_end_that_can_follow_it)
{
	struct synth_queue *shadowed, *intercepted;
	const char *why;

	world_begin();
	shadowed = create(&both, 1, 64, &why);
	intercepted = create(&both, 2, 64, &why);
	assert_null(why);
	assert_false(synth_is_proxy(shadowed));
	assert_true(synth_is_proxy(intercepted));
	assert_int_equal(process(RTL_P_queues_created), 2);
	assert_int_equal(process(RTL_P_queues_followed), 2);
	assert_int_equal(process(RTL_P_queues_intercepted), 1);
	assert_int_equal(process(RTL_P_queues_ineligible), 0);
	for (int i = 0; i < 100; i++) {
		(void)synth_submit(world.capture, shadowed, &kernel);
		(void)synth_submit(world.capture, intercepted, &kernel);
		while (synth_step(shadowed, SYNTH_DOORBELL) |
			synth_step(synth_device_of(intercepted), SYNTH_DOORBELL))
			;
		harvest_once(MS);
	}
	harvest_once(1);
	harvest_once(30 * MS);
	check_against_device(world.capture, world.reader, shadowed, 0);
	check_against_device(world.capture, world.reader, synth_device_of(intercepted), 0);
	destroy(intercepted);
	destroy(shadowed);
	assert_int_equal(process(RTL_P_queues_destroyed), 2);
	world_end();
}

TEST_CASE(queue_that_no_front_end_can_follow_is_reported)
{
	struct synth_queue *queue;
	const char *why;

	world_begin();
	queue = create(&only_shadow, 2, 64, &why);
	assert_non_null(why);
	destroy(queue);
	synth_proxy_fails = true;
	queue = create(&both, 2, 64, &why);
	synth_proxy_fails = false;
	assert_non_null(why);
	assert_false(synth_is_proxy(queue));
	(void)synth_submit(world.capture, queue, &kernel);
	assert_int_equal(synth_wdid(queue), 1);
	destroy(queue);
	assert_int_equal(process(RTL_P_queues_ineligible), 2);
	assert_int_equal(process(RTL_P_queues_followed), 0);
	assert_int_equal(process(RTL_P_queues_destroyed), 2);
	world_end();
}

/* ---- all at once ----------------------------------------------------------------------- */

static void *produce(void *unused)
{
	unsigned number = atomic_fetch_add(&world.number, 1);
	hsa_signal_t own = synth_signal_new(0);

	(void)unused;
	world.tid[number] = thread_state_tid();
	for (uint32_t done = 0; done < world.dispatches;) {
		unsigned n = world.batch > 1 ? 1 + done * 7 % world.batch : 1;
		uint64_t first;

		thread_state()->marker = (uint64_t)number << 32 | done;
		first = synth_add_index(world.capture, world.queue, n);
		for (unsigned i = 0; i < n; i++) {
			struct synth_packet packet = kernel;

			packet.kernel_object = 1 + (done + i) % 50;
			packet.variant = (done + i) * PRODUCERS + number;
			packet.cookie = (uint64_t)number << 32;
			if ((done + i) % 11 == 3)
				packet.type = HSA_PACKET_TYPE_BARRIER_AND;
			else if (i == 0 && done % 5 == 0 && synth_signal_load(own) <= 0) {
				synth_store(world.capture, own, 1);
				packet.signal = own.handle;
			}
			synth_put(world.queue, first + i, &packet);
		}
		synth_ring(world.capture, world.queue, first + n - 1);
		done += n;
	}
	while (synth_signal_load(own) > 0)
		sched_yield();
	harvest_signal_destroy(world.capture, own);
	synth_signal_free(own);
	return NULL;
}

static void *harvest(void *unused)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	(void)unused;
	while (!atomic_load(&world.stop)) {
		(void)harvest_run(world.capture, clock_boottime_ns());
		(void)reader_poll(world.reader, world.recorder);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void wait_settled(struct synth_queue *device)
{
	uint64_t deadline = clock_monotonic_ns() + DEADLINE_NS;

	while (__atomic_load_n(&device->amd.read_dispatch_id, __ATOMIC_ACQUIRE) !=
			synth_wdid(world.queue) ||
		capture_pending(world.capture)) {
		if (clock_monotonic_ns() > deadline)
			fail_msg("not settled, %llu pending",
				(unsigned long long)capture_pending(world.capture));
		sched_yield();
	}
}

/* Whichever thread rang, even ROCr's own: the row names the submitting thread. */
static void check_attribution(const struct synth_queue *device)
{
	uint32_t block = world.queue->block;

	for (size_t seq = 0; seq < device->execs; seq++) {
		const struct reader_row *row = reader_row(world.reader, block, seq);
		uint64_t number = device->exec[seq].cookie >> 32;

		if (!row)
			continue;
		assert_int_equal(row->tid, world.tid[number]);
		assert_int_equal(row->marker >> 32, number);
	}
	assert_int_equal(value(world.queue, RTL_Q_unattributed), 0);
}

static void run(enum synth_proxy_mode mode, uint32_t packets, uint32_t dispatches, uint32_t batch)
{
	pthread_t producer[PRODUCERS], harvester;
	struct synth_queue *device;
	const char *why;

	world_begin();
	synth_proxy_mode = mode;
	world.dispatches = dispatches;
	world.batch = batch;
	world.queue = create(&only_intercept, 1, packets, &why);
	device = synth_device_of(world.queue);
	synth_start(SYNTH_EAGER);
	assert_int_equal(pthread_create(&harvester, NULL, harvest, NULL), 0);
	for (int i = 0; i < PRODUCERS; i++)
		assert_int_equal(pthread_create(&producer[i], NULL, produce, NULL), 0);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(producer[i], NULL);
	wait_settled(device);
	atomic_store(&world.stop, true);
	pthread_join(harvester, NULL);
	synth_stop();
	(void)reader_poll(world.reader, world.recorder);
	check_against_device(world.capture, world.reader, device,
		value(world.queue, RTL_Q_dropped_recorder_full));
	check_attribution(device);
	assert_int_equal(value(world.queue, RTL_Q_missed), 0);
	assert_int_equal(value(world.queue, RTL_Q_untimed_unstamped), 0);
	assert_int_equal(value(world.queue, RTL_Q_untimed_timestamp_invalid), 0);
	assert_true(value(world.queue, RTL_Q_own_signals_seen) > 0);
	assert_int_equal(
		value(world.queue, RTL_Q_intercept_calls), synth_proxy_batches(world.queue));
	assert_int_equal(synth_proxy_faults(world.queue), 0);
	destroy(world.queue);
	world_end();
}

TEST_CASE(eight_producers_are_accounted_for_in_each_generation_of_proxies)
{
	for (int mode = SYNTH_PROXY_ONE; mode <= SYNTH_PROXY_STAGED; mode++) {
		run((enum synth_proxy_mode)mode, 1024, DISPATCHES, 1);
		run((enum synth_proxy_mode)mode, 64, DISPATCHES / 2, 1);
	}
}

TEST_CASE(batches_of_any_length_that_wrap_are_accounted_for)
{
	for (int mode = SYNTH_PROXY_ONE; mode <= SYNTH_PROXY_STAGED; mode++)
		run((enum synth_proxy_mode)mode, 4096, DISPATCHES, 300);
}
