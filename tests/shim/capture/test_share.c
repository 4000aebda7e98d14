// SPDX-License-Identifier: MIT
/*
 * A queue that the runtime returns from every create of a cooperative queue, and counts: it is
 * followed once, until there was a destroy for every create.
 */
#include "tests/shim/capture/fixture.h"

#include <pthread.h>

#include "shim/capture/harvest.h"
#include "shim/capture/front_ends/shadow.h"

#define THREADS 4
#define ROUNDS	500
#define PACKETS 256

static const struct front_ends only_shadow = {.first = &shadow_front_end};

static uint64_t process(const struct fixture *f, enum rtl_process_counter what)
{
	return recorder_process_value(f->recorder, what);
}

/* ---- the runtime: one queue and its number of holders ---------------------------------- */

static pthread_mutex_t runtime_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned runtime_holders;
static bool runtime_refuses;

static hsa_status_t runtime_destroy(hsa_queue_t *queue)
{
	hsa_status_t status = HSA_STATUS_ERROR;

	(void)queue;
	pthread_mutex_lock(&runtime_lock);
	if (runtime_holders && !runtime_refuses) {
		runtime_holders--;
		status = HSA_STATUS_SUCCESS;
	}
	pthread_mutex_unlock(&runtime_lock);
	return status;
}

static const char *create(struct fixture *f)
{
	pthread_mutex_lock(&runtime_lock);
	runtime_holders++;
	pthread_mutex_unlock(&runtime_lock);
	return front_ends_share(f->capture, &only_shadow, synth_hsa_queue(f->queue), 0);
}

static hsa_status_t destroy(struct fixture *f)
{
	return front_ends_destroy(f->capture, synth_hsa_queue(f->queue), runtime_destroy);
}

static bool is_followed(const struct fixture *f)
{
	return shadow_of_queue(f->capture, synth_hsa_queue(f->queue)) != NULL;
}

/* The fixture's own queue is the first create. */
static void begin(struct fixture *f)
{
	fixture_init(f, PACKETS);
	runtime_holders = 1;
	runtime_refuses = false;
}

/* ---- step by step ---------------------------------------------------------------------- */

TEST_CASE(queue_returned_again_has_one_shadow_until_the_last_destroy)
{
	struct fixture f;

	begin(&f);
	for (int i = 0; i < 10; i++)
		fixture_dispatch(&f, 0);
	assert_null(create(&f));
	assert_null(create(&f));
	assert_int_equal(recorder_queues_used(f.recorder), 1);
	for (int left = 2; left >= 0; left--) {
		for (int i = 0; i < 10; i++)
			fixture_dispatch(&f, 0);
		fixture_settle(&f);
		assert_true(is_followed(&f));
		assert_int_equal(destroy(&f), HSA_STATUS_SUCCESS);
		assert_int_equal(is_followed(&f), left > 0);
	}
	check_against_device(f.capture, f.reader, f.queue, 0);
	assert_int_equal(fixture_count(&f, RTL_Q_recorded), 40);
	assert_int_equal(process(&f, RTL_P_queues_created), 3);
	assert_int_equal(process(&f, RTL_P_queues_followed), 3);
	assert_int_equal(process(&f, RTL_P_queues_destroyed), 3);
	assert_int_equal(process(&f, RTL_P_queues_coop), 0);
	/* Nothing is left: the runtime refuses one destroy too many. */
	assert_int_not_equal(destroy(&f), HSA_STATUS_SUCCESS);
	assert_false(is_followed(&f));
	fixture_done(&f);
}

TEST_CASE(failed_destroy_keeps_the_queue_followed)
{
	struct fixture f;

	begin(&f);
	assert_null(create(&f));
	runtime_refuses = true;
	for (int i = 0; i < 3; i++)
		assert_int_not_equal(destroy(&f), HSA_STATUS_SUCCESS);
	runtime_refuses = false;
	assert_int_equal(destroy(&f), HSA_STATUS_SUCCESS);
	assert_true(is_followed(&f));
	runtime_refuses = true;
	assert_int_not_equal(destroy(&f), HSA_STATUS_SUCCESS);
	assert_true(is_followed(&f));
	fixture_dispatch(&f, 0);
	fixture_settle(&f);
	assert_int_equal(fixture_count(&f, RTL_Q_recorded), 1);
	runtime_refuses = false;
	assert_int_equal(destroy(&f), HSA_STATUS_SUCCESS);
	assert_false(is_followed(&f));
	fixture_done(&f);
}

TEST_CASE(queue_that_cannot_be_followed_is_counted_for_each_create)
{
	struct fixture f;

	begin(&f);
	assert_int_equal(destroy(&f), HSA_STATUS_SUCCESS);
	f.queue->doorbell.kind = AMD_SIGNAL_KIND_LEGACY_DOORBELL;
	assert_non_null(create(&f));
	assert_non_null(create(&f));
	assert_int_equal(process(&f, RTL_P_queues_coop), 2);
	assert_int_equal(destroy(&f), HSA_STATUS_SUCCESS);
	assert_int_equal(destroy(&f), HSA_STATUS_SUCCESS);
	assert_int_equal(process(&f, RTL_P_queues_destroyed), 3);
	fixture_done(&f);
}

/* ---- all at once ----------------------------------------------------------------------- */

static void *come_and_go(void *data)
{
	struct synth_packet packet = {
		.type = HSA_PACKET_TYPE_KERNEL_DISPATCH, .has_barrier = true, .kernel_object = 1};
	struct fixture *f = data;

	for (int i = 0; i < ROUNDS; i++) {
		(void)create(f);
		(void)synth_submit(f->capture, f->queue, &packet);
		(void)destroy(f);
	}
	return NULL;
}

TEST_CASE(threads_that_create_and_destroy_lose_no_dispatch)
{
	pthread_t thread[THREADS];
	uint64_t dispatched = 0;
	struct fixture f;
	uint32_t blocks;

	begin(&f);
	assert_int_equal(destroy(&f), HSA_STATUS_SUCCESS);
	synth_start(SYNTH_EAGER);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, come_and_go, &f), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	while (atomic_load(&f.queue->executed) < THREADS * ROUNDS)
		fixture_harvest(&f, MS);
	synth_stop();
	blocks = recorder_queues_used(f.recorder);
	for (uint32_t i = 0; i < blocks; i++)
		dispatched += recorder_queue_value(&f.recorder->queues[i], RTL_Q_dispatched);
	assert_int_equal(dispatched, THREADS * ROUNDS);
	assert_int_equal(process(&f, RTL_P_queues_created), THREADS * ROUNDS + 1);
	assert_int_equal(process(&f, RTL_P_queues_followed), THREADS * ROUNDS + 1);
	assert_int_equal(process(&f, RTL_P_queues_destroyed), THREADS * ROUNDS + 1);
	assert_false(is_followed(&f));
	fixture_done(&f);
}
