/* SPDX-License-Identifier: MIT */
/* Processes that come to say that they cannot be recorded. */
#include "tests/unit/collectord/loop/harness.h"

#include <errno.h>

static void without_recorder(Rtl__Hello *hello, void *data)
{
	(void)data;
	hello->has_unrecorded = true;
	hello->unrecorded = EFBIG;
	hello->has_recorder_bytes = false;
}

static void say_unrecorded(struct harness *h, struct fake_shim *shim, unsigned recorders)
{
	fake_shim_init(shim, "job");
	shim->edit_hello = without_recorder;
	assert_int_equal(fake_shim_connect(shim, h->socket), 0);
	assert_int_equal(fake_shim_send_hello(shim, recorders), 0);
}

static bool is_closed(void *data)
{
	return ((struct store_session *)data)->is_closed;
}

/* It needs no answer, and its session none of it; but that says that it is missing. */
SERVER_CASE(a_process_without_a_recorder_is_counted)
{
	struct fake_shim shim, whole;

	harness_shim(h, &whole, "job");
	for (unsigned n = 0; n < 2; n++) {
		say_unrecorded(h, &shim, n);
		if (n)
			harness_expect_refusal(h, &shim, "says that it has none");
		else
			harness_expect_closed(h, &shim);
		fake_shim_done(&shim);
	}
	fake_shim_kill(&whole);
	harness_wait(h, is_closed, fake_store.sessions);
	assert_int_equal(fake_store.n_sessions, 1);
	assert_int_equal(fake_store.n_processes, 1);
	assert_int_equal(fake_store.sessions->unseen, 1);
	fake_shim_done(&whole);
}

/* No other process is in its session: the session closes like that of a process that has ended. */
SERVER_CASE(a_process_without_a_recorder_opens_its_session)
{
	struct fake_shim shim;

	say_unrecorded(h, &shim, 0);
	harness_expect_closed(h, &shim);
	assert_int_equal(fake_store.n_sessions, 1);
	assert_string_equal(fake_store.sessions->job, "job");
	assert_int_equal(fake_store.sessions->unseen, 1);
	harness_wait(h, is_closed, fake_store.sessions);
	assert_int_equal(fake_store.n_processes, 0);
	fake_shim_done(&shim);
}
