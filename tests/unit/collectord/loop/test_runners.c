/* SPDX-License-Identifier: MIT */
/* When a session opens, what holds it open, and which runners are told of its end. */
#include "tests/unit/collectord/loop/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collectord/loop/sessions/session.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"

static bool is_closed(void *data)
{
	return ((struct store_session *)data)->is_closed;
}

static bool has_ended(void *data)
{
	return ((struct store_process *)data)->has_ended;
}

static void join(struct harness *h, struct fake_shim *runner, const char *job)
{
	harness_connect(h, runner);
	harness_send_runner_hello(runner, job);
	(void)harness_expect(h, runner, RTL__FRAME__BODY_RUNNER_STATUS);
}

static void join_with_shim(struct harness *h, struct fake_shim *runner, struct fake_shim *shim)
{
	join(h, runner, "job");
	harness_shim(h, shim, "job");
}

/* The answer to RunnerDone, before the session is closed. */
static void say_done(struct harness *h, struct fake_shim *runner, bool now, unsigned live)
{
	const Rtl__RunnerStatus *status;

	harness_send_runner_done(runner, now, 0);
	status = harness_expect(h, runner, RTL__FRAME__BODY_RUNNER_STATUS)->runner_status;
	assert_false(status->closed);
	assert_int_equal(status->live_processes, live);
}

static unsigned expect_closed_status(struct harness *h, struct fake_shim *runner)
{
	const Rtl__RunnerStatus *status;
	unsigned runners;

	status = harness_expect(h, runner, RTL__FRAME__BODY_RUNNER_STATUS)->runner_status;
	assert_true(status->closed);
	runners = status->runners;
	harness_expect_closed(h, runner);
	return runners;
}

SERVER_CASE(a_runner_is_told_where_its_session_is)
{
	const Rtl__RunnerStatus *status;
	struct fake_shim runner;

	harness_connect(h, &runner);
	harness_send_runner_hello(&runner, "job");
	status = harness_expect(h, &runner, RTL__FRAME__BODY_RUNNER_STATUS)->runner_status;
	assert_int_equal(status->runners, 1);
	assert_int_equal(status->live_processes, 0);
	assert_false(status->closed);
	assert_memory_equal(
		status->session.data, fake_store.sessions->name, strlen(fake_store.sessions->name));
	assert_int_equal(status->database.len, strlen(fake_store.sessions->path));
	fake_shim_done(&runner);
}

static void say_done_unseen(struct fake_shim *runner, uint32_t unseen)
{
	Rtl__RunnerDone done = RTL__RUNNER_DONE__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	done.has_unseen = true;
	done.unseen = unseen;
	frame.body_case = RTL__FRAME__BODY_RUNNER_DONE;
	frame.runner_done = &done;
	assert_int_equal(fake_send(runner->fd, &frame), 0);
}

SERVER_CASE(what_a_runner_saw_without_a_shim_is_counted_once_and_within_limits)
{
	struct fake_shim runner, shim, other;

	join(h, &runner, "job");
	join(h, &other, "job");
	harness_shim(h, &shim, "job"); /* keeps the session open */
	say_done_unseen(&runner, 3);
	(void)harness_expect(h, &runner, RTL__FRAME__BODY_RUNNER_STATUS);
	say_done_unseen(&runner, 3);
	(void)harness_expect(h, &runner, RTL__FRAME__BODY_RUNNER_STATUS);
	assert_int_equal(fake_store.sessions->unseen, 3);
	say_done_unseen(&other, UINT32_MAX);
	(void)harness_expect(h, &other, RTL__FRAME__BODY_RUNNER_STATUS);
	assert_int_equal(fake_store.sessions->unseen, 3 + RUNNER_UNSEEN_MAX);
	fake_shim_done(&shim);
	fake_shim_done(&other);
	fake_shim_done(&runner);
}

static bool is_opening(struct harness *h, struct fake_shim *runner)
{
	const Rtl__RunnerStatus *status =
		harness_expect(h, runner, RTL__FRAME__BODY_RUNNER_STATUS)->runner_status;

	assert_false(status->closed);
	assert_true(status->has_session);
	return status->opening;
}

SERVER_CASE(a_runner_that_asks_is_told_that_the_file_is_being_made)
{
	struct fake_shim first, second, patient;

	fake_store.only_makes = true;
	harness_connect(h, &patient);
	harness_send_runner_hello(&patient, "job");
	harness_connect(h, &first);
	harness_send_early_runner_hello(&first, "job");
	assert_true(is_opening(h, &first));
	harness_connect(h, &second);
	harness_send_early_runner_hello(&second, "job");
	assert_true(is_opening(h, &second));
	fake_store_open_session(h->store, fake_store.sessions);
	assert_false(is_opening(h, &first));
	assert_false(is_opening(h, &second));
	assert_false(is_opening(h, &patient));
	fake_shim_done(&first);
	fake_shim_done(&second);
	fake_shim_done(&patient);
}

SERVER_CASE(a_runner_is_refused_if_the_file_fails_after_it_was_made)
{
	struct fake_shim runner;

	fake_store.only_makes = true;
	harness_connect(h, &runner);
	harness_send_early_runner_hello(&runner, "job");
	assert_true(is_opening(h, &runner));
	fake_store_answer(h->store, STORE_FAILED, fake_store.sessions->owner, 0, "no room");
	harness_expect_refusal(h, &runner, "no room");
	fake_shim_done(&runner);
}

SERVER_CASE(a_runner_without_a_job_is_refused)
{
	struct fake_shim runner;

	harness_connect(h, &runner);
	harness_send_runner_hello(&runner, NULL);
	harness_expect_refusal(h, &runner, "job");
	fake_shim_done(&runner);
}

SERVER_CASE(a_runner_with_rules_that_are_none_is_refused)
{
	static const char *const bad[] = {"gemm", "gemm\t\tx", "gemm\tx\n", "\t\tx\n", "gemm\t\t\n",
		"gemm\t\tx\ty\n", "gemm\t\tx\n\n", "\n", "gemm\n\t\tx\n"};
	struct fake_shim runner;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		harness_connect(h, &runner);
		harness_send_runner_rules(&runner, "job", bad[i]);
		harness_expect_refusal(h, &runner, "rule of categories");
		fake_shim_done(&runner);
	}
	assert_int_equal(fake_store.n_sessions, 0);
	harness_connect(h, &runner);
	harness_send_runner_rules(&runner, "job", "gemm\t\tx\ncommunication\tallreduce\ty\n");
	(void)harness_expect(h, &runner, RTL__FRAME__BODY_RUNNER_STATUS);
	fake_shim_done(&runner);
}

SERVER_CASE(the_session_closes_when_runner_and_processes_are_done)
{
	struct fake_shim runner, shim;

	join_with_shim(h, &runner, &shim);
	assert_int_equal(fake_store.n_sessions, 1);
	say_done(h, &runner, false, 1);
	assert_false(fake_store.sessions->is_closed);
	fake_shim_kill(&shim);
	assert_int_equal(expect_closed_status(h, &runner), 1);
	assert_true(fake_store.processes->has_ended);
	assert_int_equal(fake_store.sessions->exit_status, 0);
	fake_shim_done(&shim);
	fake_shim_done(&runner);
}

SERVER_CASE(a_runner_holds_its_session_when_all_processes_have_ended)
{
	struct fake_shim runner, shim;

	join_with_shim(h, &runner, &shim);
	fake_shim_done(&shim);
	harness_wait(h, has_ended, fake_store.processes);
	harness_shim(h, &shim, "job");
	assert_int_equal(fake_store.n_sessions, 1);
	assert_false(fake_store.sessions->is_closed);
	fake_shim_done(&shim);
	fake_shim_done(&runner);
}

SERVER_CASE(of_several_runners_exactly_one_is_the_last)
{
	struct fake_shim runners[3];
	unsigned sum = 0;
	unsigned last = 0;

	for (size_t i = 0; i < 3; i++)
		join(h, &runners[i], "job");
	assert_int_equal(fake_store.n_sessions, 1);
	for (size_t i = 0; i < 3; i++)
		say_done(h, &runners[i], false, 0);
	for (size_t i = 0; i < 3; i++) {
		unsigned n = expect_closed_status(h, &runners[i]);

		sum += n;
		last += n == 1;
		fake_shim_done(&runners[i]);
	}
	assert_int_equal(last, 1);
	assert_int_equal(sum, 3 + 2 + 1);
}

SERVER_CASE(a_runner_that_waits_no_longer_detaches_what_lives)
{
	struct fake_shim runner, shim;

	join_with_shim(h, &runner, &shim);
	say_done(h, &runner, false, 1);
	harness_send_runner_done(&runner, true, 0);
	(void)harness_expect(h, &runner, RTL__FRAME__BODY_RUNNER_STATUS);
	assert_int_equal(expect_closed_status(h, &runner), 1);
	assert_int_equal(fake_store.processes->how, STORE_ENDED_DETACHED);
	harness_expect_refusal(h, &shim, "closed");
	fake_shim_done(&runner);
	fake_shim_done(&shim);
}

SERVER_CASE(what_was_detached_does_not_open_its_session_again)
{
	struct fake_shim runner, shim;

	join(h, &runner, "job");
	harness_own_shim(h, &shim, "job");
	say_done(h, &runner, true, 1);
	(void)expect_closed_status(h, &runner);
	harness_expect_refusal(h, &shim, "closed");
	harness_say_hello(h, &shim, 1);
	harness_expect_refusal(h, &shim, "closed");
	assert_int_equal(fake_store.n_sessions, 1);
	fake_shim_done(&runner);
	fake_shim_done(&shim);
}

SERVER_CASE(a_runner_does_not_end_the_processes_of_another)
{
	struct fake_shim first;
	struct fake_shim second;
	struct fake_shim shim;

	join(h, &first, "job");
	join(h, &second, "job");
	harness_shim(h, &shim, "job");
	say_done(h, &first, true, 1);
	assert_false(fake_store.processes->has_ended);
	say_done(h, &second, true, 1);
	harness_wait(h, has_ended, fake_store.processes);
	fake_shim_done(&first);
	fake_shim_done(&second);
	fake_shim_done(&shim);
}

SERVER_CASE(a_dead_runner_leaves_the_session_to_its_processes)
{
	struct fake_shim runner, shim;

	join_with_shim(h, &runner, &shim);
	fake_shim_done(&runner);
	fake_store_answer(h->store, STORE_COMMITTED, fake_store.processes->owner, 1, NULL);
	(void)harness_expect(h, &shim, RTL__FRAME__BODY_ACK);
	assert_false(fake_store.sessions->is_closed);
	fake_shim_kill(&shim);
	harness_wait(h, is_closed, fake_store.sessions);
	fake_shim_done(&shim);
}

/* The last runner is done, and its session is closed. */
static void end(struct harness *h, struct fake_shim *runner)
{
	harness_send_runner_done(runner, false, 0);
	harness_wait(h, is_closed, fake_store.sessions);
}

/* It was killed: its command goes on, and has only not come to the GPU. */
SERVER_CASE(a_process_that_connects_after_its_runner_died_is_waited_for)
{
	struct fake_shim runner, shim;

	join(h, &runner, "job");
	fake_shim_done(&runner);
	harness_shim(h, &shim, "job");
	assert_int_equal(fake_store.n_sessions, 1);
	assert_false(fake_store.sessions->is_closed);
	fake_shim_kill(&shim);
	harness_wait(h, is_closed, fake_store.sessions);
	assert_true(fake_store.sessions->was_unwatched);
	fake_shim_done(&shim);
}

/* The collector before this one died before the session was in its file: only its runner knows. */
SERVER_CASE(a_session_whose_runner_reconnects_was_unwatched)
{
	struct fake_shim runner;

	harness_connect(h, &runner);
	harness_send_runner_hello_again(&runner, "job");
	(void)harness_expect(h, &runner, RTL__FRAME__BODY_RUNNER_STATUS);
	end(h, &runner);
	assert_true(fake_store.sessions->was_unwatched);
	fake_shim_done(&runner);
}

static bool comes_again_unwatched(struct harness *h, struct listen_place place)
{
	const struct listen_sockets bound = h->sockets;
	struct fake_shim runner;
	bool was_unwatched;

	h->sockets.is_passed = true;
	h->sockets.places[0] = place;
	harness_connect(h, &runner);
	harness_send_runner_hello_again(&runner, "job");
	(void)harness_expect(h, &runner, RTL__FRAME__BODY_RUNNER_STATUS);
	end(h, &runner);
	was_unwatched = fake_store.sessions->was_unwatched;
	fake_shim_done(&runner);
	h->sockets = bound;
	return was_unwatched;
}

/* The process that passed the socket held it meanwhile, so that runners waited in its queue. */
SERVER_CASE(a_session_is_watched_while_another_process_holds_the_socket)
{
	assert_false(comes_again_unwatched(h, h->sockets.places[0]));
}

SERVER_CASE(a_place_that_is_not_to_be_seen_was_held)
{
	assert_false(comes_again_unwatched(h, (struct listen_place){.is_known = false}));
}

SERVER_CASE(a_place_where_nothing_lay_was_not_held)
{
	assert_true(comes_again_unwatched(h, (struct listen_place){.is_missing = true}));
}

/* Cleaners remove files from /run and /tmp: later runners have not found the collector. */
SERVER_CASE(a_session_is_unwatched_while_the_socket_is_gone)
{
	struct fake_shim runner;

	join(h, &runner, "job");
	assert_int_equal(unlink(h->socket), 0);
	end(h, &runner);
	assert_true(fake_store.sessions->was_unwatched);
	fake_shim_done(&runner);
}

SERVER_CASE(a_session_is_unwatched_while_another_file_has_the_sockets_name)
{
	struct fake_shim runner;
	char moved[sizeof(h->socket) + 8];
	int fd;

	join(h, &runner, "job");
	snprintf(moved, sizeof(moved), "%s.moved", h->socket);
	/* Beside it first: a number that is free again may be given to the next file. */
	assert_int_equal(rename(h->socket, moved), 0);
	fd = open(h->socket, O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	end(h, &runner);
	assert_true(fake_store.sessions->was_unwatched);
	fake_shim_done(&runner);
	close(fd);
	assert_int_equal(rename(moved, h->socket), 0);
}

SERVER_CASE(what_was_sent_before_the_end_of_a_command_belongs_to_its_session)
{
	struct fake_shim runner, shim;

	join(h, &runner, "job");
	/* The rank comes and dies, its runner says so, and only then does the server look. */
	fake_shim_init(&shim, "job");
	assert_int_equal(fake_shim_connect_child(&shim, h->socket), 0);
	assert_int_equal(fake_shim_send_hello(&shim, 1), 0);
	fake_shim_kill(&shim);
	harness_send_runner_done(&runner, false, 0);
	while (!fake_store.sessions->is_closed)
		harness_turn(h);
	assert_int_equal(fake_store.n_processes, 1);
	assert_false(fake_store.sessions->was_unwatched);
	assert_true(fake_store.processes->has_ended);
	assert_int_equal(fake_store.n_sessions, 1);
	fake_shim_done(&shim);
	fake_shim_done(&runner);
}

SERVER_CASE(a_session_without_a_runner_closes_after_its_last_process)
{
	struct fake_shim shim;

	harness_shim(h, &shim, "job");
	fake_shim_kill(&shim);
	harness_wait(h, is_closed, fake_store.sessions);
	assert_int_equal(fake_store.sessions->exit_status, -1);
	fake_shim_done(&shim);
}

static bool is_session_gone(void *data)
{
	return ((struct store_session *)data)->is_freed;
}

SERVER_CASE(a_latecomer_reopens_the_file_of_its_session)
{
	struct fake_shim shim;

	harness_shim(h, &shim, "job");
	fake_shim_done(&shim);
	harness_wait(h, is_session_gone, fake_store.sessions);
	harness_shim(h, &shim, "job");
	assert_int_equal(fake_store.n_sessions, 2);
	assert_string_equal(fake_store.sessions->path, fake_store.sessions->next->path);
	assert_string_equal(fake_store.sessions->name, fake_store.sessions->next->name);
	fake_shim_done(&shim);
}

SERVER_CASE(processes_without_a_job_have_sessions_of_their_own)
{
	struct fake_shim first;
	struct fake_shim second;

	harness_shim(h, &first, NULL);
	harness_shim(h, &second, NULL);
	assert_int_equal(fake_store.n_sessions, 2);
	fake_shim_done(&first);
	fake_shim_done(&second);
}

static bool is_stopping(void *data)
{
	struct server *server = data;

	return server->is_stopping && server->is_flushed;
}

PRIVATE_SERVER_CASE(a_private_collector_ends_with_its_session)
{
	struct fake_shim runner, shim;

	join(h, &runner, "whatever");
	harness_shim(h, &shim, "another key");
	assert_int_equal(fake_store.n_sessions, 1);
	assert_string_equal(fake_store.sessions->name, "only");
	fake_shim_kill(&shim);
	say_done(h, &runner, false, 0);
	assert_int_equal(expect_closed_status(h, &runner), 1);
	harness_wait(h, is_stopping, h->server);
	assert_int_equal(h->server->exit_code, 0);
	fake_shim_done(&shim);
	fake_shim_done(&runner);
}

PRIVATE_SERVER_CASE(a_private_collector_survives_its_runner)
{
	struct fake_shim runner, shim;

	join_with_shim(h, &runner, &shim);
	fake_shim_done(&runner);
	fake_store_answer(h->store, STORE_COMMITTED, fake_store.processes->owner, 1, NULL);
	(void)harness_expect(h, &shim, RTL__FRAME__BODY_ACK);
	assert_false(h->server->is_stopping);
	fake_shim_kill(&shim);
	harness_wait(h, is_stopping, h->server);
	assert_true(fake_store.sessions->is_closed);
	fake_shim_done(&shim);
}
