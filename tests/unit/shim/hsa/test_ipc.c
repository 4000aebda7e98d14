/* SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "shim/hsa/ipc.h"
#include "tests/lib/test.h"

#define HANDLE(i) (0x7f0000000000ull + (i)*128)

TEST_CASE(only_shared_signals_are_found)
{
	assert_false(ipc_has(HANDLE(1)));
	ipc_add(HANDLE(1));
	ipc_add(HANDLE(1));
	assert_true(ipc_has(HANDLE(1)));
	assert_false(ipc_has(HANDLE(2)));
	ipc_remove(HANDLE(2));
	ipc_remove(HANDLE(1));
	assert_false(ipc_has(HANDLE(1)));
	assert_int_equal(atomic_load(&ipc_signals_known), 0);
}

TEST_CASE(adding_and_removing_signals_uses_no_entry_up)
{
	for (uint64_t i = 0; i < 100 * IPC_SIGNALS_MAX; i++) {
		ipc_add(HANDLE(i % 300));
		assert_true(ipc_has(HANDLE(i % 300)));
		ipc_remove(HANDLE(i % 300));
		assert_false(ipc_has(HANDLE(i % 300)));
	}
}

static atomic_bool stop;

static void *look(void *argument)
{
	uint64_t *found = argument;

	while (!atomic_load(&stop))
		for (uint64_t i = 0; i < 64; i++)
			*found += ipc_has(HANDLE(i));
	return NULL;
}

TEST_CASE(lookups_run_beside_changes)
{
	uint64_t found = 0;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, look, &found), 0);
	ipc_add(HANDLE(1000));
	for (uint64_t i = 0; i < 20000; i++) {
		ipc_add(HANDLE(i % 64));
		assert_true(ipc_has(HANDLE(1000)));
		ipc_remove(HANDLE(i % 64));
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	ipc_remove(HANDLE(1000));
}

/* Last: what is full stays so. */
TEST_CASE(too_many_make_every_signal_untimed)
{
	for (uint64_t i = 0; i < IPC_SIGNALS_MAX; i++)
		ipc_add(HANDLE(i));
	for (uint64_t i = 0; i < 2 * IPC_SIGNALS_MAX; i++)
		assert_true(ipc_has(HANDLE(i)));
}
