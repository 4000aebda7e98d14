/* SPDX-License-Identifier: MIT */
/* A process that comes back: which connection is its, and what that waits for. */
#include "tests/unit/collectord/loop/harness.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "collectord/loop/connections/peer.h"
#include "proto/base/limits.h"

SERVER_CASE(a_reconnect_replaces_the_older_connection)
{
	struct fake_shim first;
	struct fake_shim second;

	/* Both are this very process: the same pid and start time. */
	harness_own_shim(h, &first, "job");
	fake_store.processes->hw = 41;
	fake_shim_init(&second, "job");
	memcpy(second.recorder->token, first.recorder->token, sizeof(first.recorder->token));
	harness_say_hello(h, &second, 1);
	assert_int_equal(
		harness_expect(h, &second, RTL__FRAME__BODY_WELCOME)->welcome->last_frame, 41);
	harness_expect_closed(h, &first);
	/* The recorder and the pidfd are its process's, not each connection's. */
	assert_int_equal(h->server->peers->passed_fd, -1);
	assert_int_equal(h->server->peers->pidfd, -1);
	assert_int_equal(fake_store.n_processes, 1);
	assert_int_equal(fake_store.processes->reopens, 1);
	fake_shim_done(&first);
	fake_shim_done(&second);
}

static bool was_reopened(void *data)
{
	return ((struct store_process *)data)->reopens == 1;
}

SERVER_CASE(no_ack_comes_before_the_welcome)
{
	struct store_process *process;
	struct fake_shim shim;

	harness_own_shim(h, &shim, "job");
	process = fake_store.processes;
	fake_store.holds_opens = true;
	fake_shim_hang_up(&shim);
	harness_say_hello(h, &shim, 1);
	harness_wait(h, was_reopened, process);
	/* Of the older connection: the shim does not know that it sent that. */
	fake_store_answer(h->store, STORE_COMMITTED, process->owner, 7, NULL);
	fake_store_answer(h->store, STORE_PROCESS_OPENED, process->owner, 7, NULL);
	assert_int_equal(
		harness_expect(h, &shim, RTL__FRAME__BODY_WELCOME)->welcome->last_frame, 7);
	fake_shim_done(&shim);
}

static bool was_closed(void *data)
{
	struct fake_shim *shim = data;
	Rtl__Frame *frame;

	return fake_receive(shim, 0, &frame) == -ECONNRESET;
}

/* However often, while its database has no answer: the one that comes is for the last of them. */
SERVER_CASE(a_shim_that_reconnects_often_is_queued_once)
{
	struct fake_shim shim, again[5];

	fake_store.holds_opens = true;
	fake_shim_init(&shim, "job");
	harness_say_hello(h, &shim, 1);
	for (unsigned i = 0; i < 5; i++) {
		again[i] = shim;
		shim.fd = -1;
		shim.reader = (struct frame_reader){0};
		frame_reader_init(&shim.reader, REPLY_BYTES_MAX);
		harness_say_hello(h, &shim, 1);
		/* The one before makes way once this one's Hello was read. */
		harness_wait(h, was_closed, &again[i]);
		close(again[i].fd);
		frame_reader_done(&again[i].reader);
	}
	assert_int_equal(fake_store.n_processes, 1);
	assert_int_equal(fake_store.processes->reopens, 0);
	fake_store_answer(h->store, STORE_PROCESS_OPENED, fake_store.processes->owner, 3, NULL);
	assert_int_equal(
		harness_expect(h, &shim, RTL__FRAME__BODY_WELCOME)->welcome->last_frame, 3);
	fake_shim_done(&shim);
}
