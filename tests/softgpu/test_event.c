// SPDX-License-Identifier: MIT
/* Interrupts and polling: a thread that waits for a signal wakes, however it waits. */
#include "tests/softgpu/test_gpu.h"

#include <pthread.h>
#include <stdlib.h>

static struct gpu g;
static struct code code;

static int setup_interrupts(void **state)
{
	(void)state;
	setenv("HSA_ENABLE_INTERRUPT", "1", 1);
	setenv("SOFTGPU_REALTIME", "1", 1);
	setenv("SOFTGPU_FAULT", "default duration=2ms", 1);
	gpu_open(&g);
	code_load(g.agent[0], &code);
	return 0;
}

static int setup_polling(void **state)
{
	(void)state;
	setup_interrupts(state);
	code_unload(&code);
	gpu_close();
	setenv("HSA_ENABLE_INTERRUPT", "0", 1);
	gpu_open(&g);
	code_load(g.agent[0], &code);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	code_unload(&code);
	gpu_close();
	return 0;
}

TEST_CASE(blocked_waiters_wake)
{
	hsa_queue_t *q = queue_new(g.agent[0], 64);
	hsa_signal_t s = signal_new(1);

	for (int i = 0; i < 100; i++)
		run_one(q, code.kernel[0], s);
	HSA_OK(hsa_signal_destroy(s));
	HSA_OK(hsa_queue_destroy(q));
}

struct waiter {
	hsa_queue_t *q;
	int rounds;
};

static void *wait_often(void *arg)
{
	struct waiter *w = arg;
	hsa_signal_t s = signal_new(1);

	for (int i = 0; i < w->rounds; i++)
		run_one(w->q, code.kernel[1], s);
	HSA_OK(hsa_signal_destroy(s));
	return NULL;
}

TEST_CASE(waiters_do_not_take_each_others_wakes)
{
	pthread_t thread[8];
	struct waiter w[8];

	for (int i = 0; i < 8; i++) {
		w[i] = (struct waiter){queue_new(g.agent[i & 1], 64), 30};
		assert_int_equal(pthread_create(&thread[i], NULL, wait_often, &w[i]), 0);
	}
	for (int i = 0; i < 8; i++) {
		pthread_join(thread[i], NULL);
		HSA_OK(hsa_queue_destroy(w[i].q));
	}
}

TEST_CASE(wait_any_sees_the_one_that_fires)
{
	hsa_queue_t *q = queue_new(g.agent[0], 64);
	hsa_signal_condition_t cond[4];
	hsa_signal_value_t value[4], seen;
	hsa_signal_t s[4];

	for (int i = 0; i < 4; i++) {
		s[i] = signal_new(1);
		cond[i] = HSA_SIGNAL_CONDITION_LT;
		value[i] = 1;
	}
	for (uint32_t i = 0; i < 4; i++) {
		queue_put(q, packet_dispatch(code.kernel[0], s[i]));
		assert_int_equal(hsa_amd_signal_wait_any(4, s, cond, value, UINT64_MAX,
					 HSA_WAIT_STATE_BLOCKED, &seen),
			i);
		assert_int_equal(seen, 0);
		hsa_signal_store_relaxed(s[i], 1);
	}
	for (int i = 0; i < 4; i++)
		HSA_OK(hsa_signal_destroy(s[i]));
	HSA_OK(hsa_queue_destroy(q));
}

static bool count_call(hsa_signal_value_t value, void *arg)
{
	(void)value;
	__atomic_add_fetch((unsigned int *)arg, 1, __ATOMIC_RELEASE);
	return false;
}

static bool is_called_often(void *arg)
{
	return __atomic_load_n((unsigned int *)arg, __ATOMIC_ACQUIRE) == 50;
}

TEST_CASE(async_handlers_are_called)
{
	hsa_queue_t *q = queue_new(g.agent[0], 64);
	unsigned int calls = 0;
	hsa_signal_t s[50];

	for (int i = 0; i < 50; i++) {
		s[i] = signal_new(1);
		HSA_OK(hsa_amd_signal_async_handler(
			s[i], HSA_SIGNAL_CONDITION_LT, 1, count_call, &calls));
		queue_put(q, packet_dispatch(code.kernel[0], s[i]));
	}
	assert_true(wait_for(is_called_often, &calls));
	for (int i = 0; i < 50; i++)
		HSA_OK(hsa_signal_destroy(s[i]));
	HSA_OK(hsa_queue_destroy(q));
}

/* KFD has 4096 events; ROCr makes signals that are polled from then on. */
TEST_CASE(signals_work_beyond_the_last_event)
{
	enum { SIGNALS = 4500 };
	static hsa_signal_t s[SIGNALS];
	hsa_queue_t *q = queue_new(g.agent[0], 64);

	for (int i = 0; i < SIGNALS; i++)
		s[i] = signal_new(1);
	run_one(q, code.kernel[0], s[0]);
	run_one(q, code.kernel[0], s[SIGNALS - 1]);
	for (int i = 0; i < SIGNALS; i++)
		HSA_OK(hsa_signal_destroy(s[i]));
	HSA_OK(hsa_queue_destroy(q));
}

int main(void)
{
	int failed;

	gpu_require_soft_thunk();
	print_message("with interrupts\n");
	failed = test_run(setup_interrupts, teardown);
	print_message("with polling\n");
	failed += test_run(setup_polling, teardown);
	return failed;
}
