/* SPDX-License-Identifier: MIT */
/* Any allocation of the loop may fail while a shim connects: the loop refuses no shim for that. */
#include "tests/unit/collectord/loop/harness.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/reliability/vfs/fault_malloc.h"

/* More than a connection takes. */
#define ALLOCATIONS 40u

static int accept_error;
static unsigned accepts;

/* In libc's place: a kernel that has none. */
__attribute__((visibility("default"))) int accept4(
	int fd, struct sockaddr *address, socklen_t *bytes, int flags)
{
	accepts++;
	if (!accept_error)
		return (int)syscall(SYS_accept4, fd, address, bytes, flags);
	errno = accept_error;
	return -1;
}

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
	/* On the same connection: all other connections had to wait behind it. */
	assert_int_equal(fake_shim_send_hello(&shim, 1), 0);
	(void)harness_expect(h, &shim, RTL__FRAME__BODY_WELCOME);
	fake_shim_kill(&shim);
	fake_shim_done(&shim);
	return count;
}

SERVER_CASE(a_shim_that_connects_without_memory_is_accepted_later)
{
	uint64_t count = connect_without_the(h, 0);

	assert_true(count > 0 && count < ALLOCATIONS);
	for (uint64_t n = 1; n <= count; n++)
		(void)connect_without_the(h, n);
}

/* The same at its Hello: it is hung up on and comes again, where it would heed a refusal. */
static uint64_t greet_without_the(struct harness *h, uint64_t n)
{
	struct fake_shim shim;
	Rtl__Frame *frame = NULL;
	uint64_t count;
	int r;

	assert_int_equal(fake_shim_init(&shim, "job"), 0);
	assert_int_equal(fake_shim_connect_child(&shim, h->socket), 0);
	harness_turn(h);
	assert_int_equal(fake_shim_send_hello(&shim, 1), 0);
	fault_malloc_set(n, 1);
	harness_turn(h);
	count = fault_malloc_count();
	fault_malloc_set(0, 0);
	r = harness_receive(h, &shim, &frame);
	if (r == -ECONNRESET) {
		assert_int_equal(fake_shim_reconnect_child(&shim), 0);
		assert_int_equal(fake_shim_send_hello(&shim, 1), 0);
		frame = harness_expect(h, &shim, RTL__FRAME__BODY_WELCOME);
	}
	assert_int_equal(frame->body_case, RTL__FRAME__BODY_WELCOME);
	fake_shim_kill(&shim);
	fake_shim_done(&shim);
	return count;
}

SERVER_CASE(a_shim_that_says_hello_without_memory_may_reconnect)
{
	uint64_t count = greet_without_the(h, 0);

	assert_true(count > 0 && count < ALLOCATIONS);
	for (uint64_t n = 1; n <= count; n++)
		(void)greet_without_the(h, n);
}

/* The connection stays in the backlog, whose listener would wake the loop all the time. */
SERVER_CASE(where_the_kernel_has_no_memory_accepting_pauses)
{
	static const int errors[] = {ENOMEM, ENOBUFS};

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct fake_shim shim;

		assert_int_equal(fake_shim_init(&shim, "job"), 0);
		assert_int_equal(fake_shim_connect_child(&shim, h->socket), 0);
		accept_error = errors[i];
		accepts = 0;
		harness_turn(h);
		assert_int_equal(accepts, 1);
		assert_true(h->server->is_throttled);
		accept_error = 0;
		assert_int_equal(fake_shim_send_hello(&shim, 1), 0);
		(void)harness_expect(h, &shim, RTL__FRAME__BODY_WELCOME);
		fake_shim_kill(&shim);
		fake_shim_done(&shim);
	}
}

static bool has_ended(void *data)
{
	(void)data;
	return fake_store.processes->has_ended;
}

static bool is_closed(void *data)
{
	(void)data;
	return fake_store.sessions->is_closed;
}

static bool is_flushed(void *data)
{
	return ((struct harness *)data)->server->is_flushed;
}

/* Its session would never close, and its rtl run would wait for that. */
SERVER_CASE(what_must_be_done_is_tried_until_there_is_memory)
{
	struct fake_shim shim;

	harness_shim(h, &shim, "job");
	fake_store.refusals = 2;
	fake_shim_kill(&shim);
	harness_wait(h, has_ended, NULL);
	assert_int_equal(fake_store.refusals, 0);
	assert_true(fake_store.processes->had_memfd);
	fake_store.refusals = 2;
	harness_wait(h, is_closed, NULL);
	assert_int_equal(fake_store.refusals, 0);
	fake_store.refusals = 2;
	server_stop(h->server, 0);
	assert_false(h->server->is_flushed);
	harness_wait(h, is_flushed, h);
	assert_int_equal(h->server->exit_code, 0);
	fake_shim_done(&shim);
}

int main(void)
{
	event_set_mem_functions(fault_malloc_malloc, fault_malloc_realloc, free);
	fault_malloc_everywhere();
	return test_run(NULL, NULL);
}
