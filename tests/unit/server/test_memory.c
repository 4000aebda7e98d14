/* SPDX-License-Identifier: MIT */
/* Any allocation of the loop may fail while somebody connects: nobody is sent away for it. */
#include "tests/unit/server/harness.h"

#include <event2/event.h>
#include <stdlib.h>

#include "tests/vfs/fault_malloc.h"

/* More than a connection takes. */
#define ALLOCATIONS 40u

/* A connection, while the @n-th allocation after it fails; how many there were. */
static uint64_t connect_without_the(struct harness *h, uint64_t n)
{
	struct fake_shim shim;
	uint64_t count;

	assert_int_equal(fake_shim_init(&shim, "job"), 0);
	assert_int_equal(fake_shim_connect_child(&shim, h->socket), 0);
	fault_malloc_set(n, 1);
	harness_turn(h);
	count = fault_malloc_count();
	fault_malloc_set(0, 0);
	/* On the same connection: whoever else came had to wait behind it. */
	assert_int_equal(fake_shim_send_hello(&shim, 1), 0);
	(void)harness_expect(h, &shim, RTL__FRAME__BODY_WELCOME);
	fake_shim_kill(&shim);
	fake_shim_done(&shim);
	return count;
}

static void who_connects_without_memory_is_taken_in_later(void **state)
{
	struct harness *h = *state;
	uint64_t count = connect_without_the(h, 0);

	assert_true(count > 0 && count < ALLOCATIONS);
	for (uint64_t n = 1; n <= count; n++)
		(void)connect_without_the(h, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(who_connects_without_memory_is_taken_in_later,
			harness_setup, harness_teardown),
	};

	event_set_mem_functions(fault_malloc_malloc, fault_malloc_realloc, free);
	fault_malloc_everywhere();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
