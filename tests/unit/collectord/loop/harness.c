/* SPDX-License-Identifier: MIT */
#include "tests/unit/collectord/loop/harness.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/cleanup.h"
#include "proto/base/clock.h"

static int setup(void **state, const char *private_session)
{
	struct harness *h = calloc(1, sizeof(*h));
	pid_t pid = 0;

	assert_non_null(h);
	strcpy(h->dir, "/tmp/rtl-server-XXXXXX");
	assert_non_null(mkdtemp(h->dir));
	assert_int_equal(chmod(h->dir, 0755), 0); /* other users connect, too */
	snprintf(h->socket, sizeof(h->socket), "%s/s", h->dir);
	h->config.store_path = h->dir;
	h->config.private_session = private_session;
	h->config.is_private = private_session != NULL;
	h->store = fake_store_new();
	assert_int_equal(listen_bind(&h->sockets, h->socket, false, &pid), 0);
	assert_int_equal(server_new(&h->config, &h->sockets, h->store, &h->server), 0);
	*state = h;
	return 0;
}

int harness_setup(void **state)
{
	return setup(state, NULL);
}

int harness_setup_private(void **state)
{
	return setup(state, "only");
}

int harness_teardown(void **state)
{
	struct harness *h = *state;
	char lock[128];

	server_free(h->server);
	fake_store_free(h->store);
	listen_done(&h->sockets);
	snprintf(lock, sizeof(lock), "%s.lock", h->socket);
	unlink(lock);
	rmdir(h->dir);
	free(h);
	return 0;
}

void harness_turn(struct harness *h)
{
	event_base_loop(h->server->base, EVLOOP_NONBLOCK);
}

void harness_wait(struct harness *h, bool (*condition)(void *data), void *data)
{
	uint64_t deadline_ns = clock_monotonic_ns() + FAKE_WAIT_MS * 1000000ull;

	while (!condition(data)) {
		struct timeval tick = {.tv_usec = 10000};

		if (clock_monotonic_ns() > deadline_ns)
			fail_msg("what was waited for did not come");
		event_base_loopexit(h->server->base, &tick);
		event_base_loop(h->server->base, EVLOOP_ONCE);
	}
}

int harness_receive(struct harness *h, struct fake_shim *shim, Rtl__Frame **ret)
{
	uint64_t deadline_ns = clock_monotonic_ns() + FAKE_WAIT_MS * 1000000ull;
	int r;

	do {
		harness_turn(h);
		r = fake_receive(shim, 2, ret);
	} while (r == -ETIMEDOUT && clock_monotonic_ns() < deadline_ns);
	return r;
}

Rtl__Frame *harness_expect(struct harness *h, struct fake_shim *shim, Rtl__Frame__BodyCase body)
{
	Rtl__Frame *frame = NULL;

	assert_int_equal(harness_receive(h, shim, &frame), 0);
	if (frame->body_case == RTL__FRAME__BODY_REFUSAL && body != RTL__FRAME__BODY_REFUSAL)
		fail_msg("refused: %.*s", (int)frame->refusal->text.len,
			(char *)frame->refusal->text.data);
	assert_int_equal(frame->body_case, body);
	return frame;
}

void harness_expect_closed(struct harness *h, struct fake_shim *shim)
{
	Rtl__Frame *frame = NULL;

	assert_int_equal(harness_receive(h, shim, &frame), -ECONNRESET);
}

void harness_expect_refusal(struct harness *h, struct fake_shim *shim, const char *text)
{
	const Rtl__Frame *frame = harness_expect(h, shim, RTL__FRAME__BODY_REFUSAL);
	CLEANUP(free_p) char *got = msg_string(true, &frame->refusal->text, 1024);

	if (!strstr(got, text))
		fail_msg("the refusal \"%s\" does not say \"%s\"", got, text);
	harness_expect_closed(h, shim);
}

uint64_t harness_shim(struct harness *h, struct fake_shim *shim, const char *job)
{
	assert_int_equal(fake_shim_init(shim, job), 0);
	assert_int_equal(fake_shim_connect_child(shim, h->socket), 0);
	assert_int_equal(fake_shim_send_hello(shim, 1), 0);
	return harness_expect(h, shim, RTL__FRAME__BODY_WELCOME)->welcome->last_frame;
}

void harness_say_hello(struct harness *h, struct fake_shim *shim, unsigned n_fds)
{
	assert_int_equal(fake_shim_connect(shim, h->socket), 0);
	assert_int_equal(fake_shim_send_hello(shim, n_fds), 0);
}

void harness_own_shim(struct harness *h, struct fake_shim *shim, const char *job)
{
	assert_int_equal(fake_shim_init(shim, job), 0);
	harness_say_hello(h, shim, 1);
	(void)harness_expect(h, shim, RTL__FRAME__BODY_WELCOME);
}

void harness_connect(struct harness *h, struct fake_shim *peer)
{
	assert_int_equal(fake_shim_init(peer, NULL), 0);
	assert_int_equal(fake_shim_connect(peer, h->socket), 0);
}

static void send_runner_hello(struct fake_shim *peer, Rtl__RunnerHello *hello, const char *job)
{
	Rtl__Frame frame = RTL__FRAME__INIT;

	hello->has_version_min = hello->has_version_max = true;
	hello->version_min = hello->version_max = 1;
	msg_set_bytes(&hello->has_job, &hello->job, job);
	frame.body_case = RTL__FRAME__BODY_RUNNER_HELLO;
	frame.runner_hello = hello;
	assert_int_equal(fake_send(peer->fd, &frame), 0);
}

void harness_send_runner_hello(struct fake_shim *peer, const char *job)
{
	harness_send_runner_rules(peer, job, NULL);
}

void harness_send_early_runner_hello(struct fake_shim *peer, const char *job)
{
	Rtl__RunnerHello hello = RTL__RUNNER_HELLO__INIT;

	hello.has_early = hello.early = true;
	send_runner_hello(peer, &hello, job);
}

void harness_send_runner_hello_again(struct fake_shim *peer, const char *job)
{
	Rtl__RunnerHello hello = RTL__RUNNER_HELLO__INIT;

	hello.has_again = hello.again = true;
	send_runner_hello(peer, &hello, job);
}

void harness_send_runner_rules(struct fake_shim *peer, const char *job, const char *categories)
{
	Rtl__RunnerHello hello = RTL__RUNNER_HELLO__INIT;

	msg_set_bytes(&hello.has_categories, &hello.categories, categories);
	send_runner_hello(peer, &hello, job);
}

void harness_send_runner_done(struct fake_shim *peer, bool now, int status)
{
	Rtl__RunnerDone done = RTL__RUNNER_DONE__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	done.has_now = done.has_status = true;
	done.now = now;
	done.status = status;
	frame.body_case = RTL__FRAME__BODY_RUNNER_DONE;
	frame.runner_done = &done;
	assert_int_equal(fake_send(peer->fd, &frame), 0);
}
