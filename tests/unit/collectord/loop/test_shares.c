/* SPDX-License-Identifier: MIT */
/* What one user can have of the collector, and which removals are reported or forgotten beyond
 * that. */
#include "tests/unit/collectord/loop/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/service/log.h"
#include "collectord/loop/tools/removed_sessions.h"
#include "collectord/loop/sessions/session.h"
#include "proto/base/limits.h"

#define USER 5000u

static void ask(struct harness *h, struct fake_shim *runner, unsigned n)
{
	char job[32];

	snprintf(job, sizeof(job), "job %u", n);
	harness_connect(h, runner);
	harness_send_runner_hello(runner, job);
}

static void join(struct harness *h, struct fake_shim *runner, unsigned n)
{
	ask(h, runner, n);
	(void)harness_expect(h, runner, RTL__FRAME__BODY_RUNNER_STATUS);
}

static void leave(struct harness *h, struct fake_shim *runner)
{
	const Rtl__RunnerStatus *status;

	harness_send_runner_done(runner, false, 0);
	do
		status = harness_expect(h, runner, RTL__FRAME__BODY_RUNNER_STATUS)->runner_status;
	while (!status->closed);
	harness_expect_closed(h, runner);
	fake_shim_done(runner);
}

SERVER_CASE(one_user_has_so_many_open_sessions)
{
	static struct fake_shim runners[SESSIONS_MAX];
	struct fake_shim extra;

	for (unsigned i = 0; i < SESSIONS_MAX; i++)
		join(h, &runners[i], i);
	assert_int_equal(fake_store.n_sessions, SESSIONS_MAX);
	ask(h, &extra, SESSIONS_MAX);
	harness_expect_refusal(h, &extra, "too many sessions");
	fake_shim_done(&extra);
	assert_int_equal(fake_store.n_sessions, SESSIONS_MAX);
	join(h, &extra, 7); /* into one that is open */
	fake_shim_done(&extra);
	leave(h, &runners[0]);
	join(h, &runners[0], SESSIONS_MAX);
	for (unsigned i = 0; i < SESSIONS_MAX; i++)
		fake_shim_done(&runners[i]);
}

SERVER_CASE(one_session_has_so_many_runners)
{
	struct fake_shim first, last, extra;
	struct session *session;

	join(h, &first, 1);
	session = fake_store.sessions->owner;
	/* As many connections as one user may have: those that are not there are only counted. */
	session->n_runners += RUNNERS_PER_SESSION_MAX - 2;
	join(h, &last, 1);
	ask(h, &extra, 1);
	harness_expect_refusal(h, &extra, "runners of this user");
	fake_shim_done(&extra);
	session->n_runners -= RUNNERS_PER_SESSION_MAX - 2;
	fake_shim_done(&last);
	fake_shim_done(&first);
}

SERVER_CASE(so_many_closed_sessions_are_remembered)
{
	unsigned n = 0;

	for (unsigned i = 0; i < SESSIONS_CLOSED_MAX + 2; i++) {
		struct fake_shim runner;

		join(h, &runner, i);
		leave(h, &runner);
	}
	assert_int_equal(fake_store.n_sessions, SESSIONS_CLOSED_MAX + 2);
	for (const struct session *s = h->server->sessions; s; s = s->next) {
		n++;
		/* The first ones are forgotten. */
		assert_string_not_equal(s->job, "job 0");
		assert_string_not_equal(s->job, "job 1");
	}
	assert_int_equal(n, SESSIONS_CLOSED_MAX);
}

static void tell_removed(struct harness *h, unsigned n)
{
	struct store_answer answer = {
		.kind = STORE_REMOVED, .text = strdup("old"), .removed = {.uid = USER}};

	assert_true(asprintf(&answer.name, "%u", n) > 0);
	h->server->is_recovering = true; /* so that no line is logged for each */
	removed_take(h->server, &answer);
	h->server->is_recovering = false;
}

SERVER_CASE(the_oldest_removed_session_is_forgotten_first)
{
	unsigned n = 2 * SESSIONS_REMOVED_PER_UID_MAX;

	for (unsigned i = 0; i < n; i++)
		tell_removed(h, i);
	for (const struct removed *r = h->server->removed; r; r = r->next)
		assert_int_equal(atoi(r->name), --n);
	assert_int_equal(n, SESSIONS_REMOVED_PER_UID_MAX);
}

static unsigned count_lines(const char *text, const char *with)
{
	unsigned n = 0;

	for (; (text = strstr(text, with)); text++)
		n++;
	return n;
}

SERVER_CASE(a_refusal_is_said_once)
{
	FILE *saved = stderr;
	char *text = NULL;
	size_t bytes;

	stderr = open_memstream(&text, &bytes);
	assert_non_null(stderr);
	for (unsigned i = 0; i < 100; i++)
		log_refusal(USER + i, 1, "it lies");
	log_refusal(USER, 1, "it is late");
	log_done();
	fclose(stderr);
	stderr = saved;
	assert_int_equal(count_lines(text, "pid 1 refused: "), 2);
	assert_int_equal(count_lines(text, "uid 5000 pid 1 refused: it lies"), 1);
	assert_int_equal(count_lines(text, "refused 99 more times: it lies"), 1);
	free(text);
}
