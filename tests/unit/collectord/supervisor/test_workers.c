/* SPDX-License-Identifier: MIT */
/* For which tenants the supervisor starts a worker that no connection asks for. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectord/service/config.h"
#include "collectord/service/limit_options.h"
#include "collectord/service/listen.h"
#include "collectord/service/state_dir.h"
#include "collectord/supervisor/internal.h"
#include "proto/base/clock.h"
#include "tests/lib/test.h"

#define NOW_NS (100 * AGES_NS)

static int end_at_once(
	const struct config *config, struct listen_sockets *sockets, const struct seat *seat)
{
	(void)config;
	(void)sockets;
	(void)seat;
	return EXIT_SUCCESS;
}

/* A service in which two tenants had a worker; the first one of them has a closed session. */
static void make_service(struct supervisor *s, struct config *config, struct listen_sockets *none)
{
	*s = (struct supervisor){.config = config,
		.sockets = none,
		.work = end_at_once,
		.reserve = -1,
		.signal_fd = -1,
		.indexer = {.channel = -1},
		.ledger = ledger_new(),
		.aged_ns = NOW_NS};
	for (struct acceptor *a = s->acceptors; a < s->acceptors + ACCEPTORS_MAX; a++)
		a->channel = -1;
	assert_non_null(s->ledger);
	assert_non_null(workers_find(s, 1000));
	assert_non_null(workers_find(s, 1001));
	atomic_store(&workers_find(s, 1000)->page->closed, 1);
}

static void end_service(struct supervisor *s)
{
	workers_done(s);
	ledger_free(s->ledger);
}

TEST_CASE(sessions_grow_old_without_a_worker_of_their_tenant)
{
	struct config config = {.limits = {.keep_s = 86400}};
	struct listen_sockets none = {0};
	struct supervisor s;
	pid_t pid;
	int status;

	make_service(&s, &config, &none);
	workers_watch(&s, NOW_NS + AGES_NS - 1);
	assert_int_equal(s.n_workers, 0);
	workers_watch(&s, NOW_NS + AGES_NS);
	assert_int_equal(s.n_workers, 1);
	pid = workers_find(&s, 1000)->pid;
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(workers_ended(&s, pid, status));
	workers_watch(&s, NOW_NS + 2 * AGES_NS - 1);
	assert_int_equal(s.n_workers, 0);
	end_service(&s);
}

TEST_CASE(a_node_that_keeps_sessions_for_ever_starts_no_worker_for_them)
{
	struct config config = {.limits = {.keep_s = LIMIT_UNSET}};
	struct listen_sockets none = {0};
	struct supervisor s;

	make_service(&s, &config, &none);
	workers_watch(&s, NOW_NS + AGES_NS);
	assert_int_equal(s.n_workers, 0);
	config.limits.keep_s = 0;
	workers_watch(&s, NOW_NS + 2 * AGES_NS);
	assert_int_equal(s.n_workers, 0);
	end_service(&s);
}

static int keep(struct supervisor *s, struct worker *worker, unsigned n)
{
	char name[CHANNEL_NAME_BYTES];
	unsigned before = worker->n_kept;

	snprintf(name, sizeof(name), KEPT_PREFIX "%u-1-%u-00", worker->owner, n);
	keeper_keep(s, worker, dup(STDIN_FILENO), name, false);
	return worker->n_kept > before;
}

/* Or a user with a few pods would leave the supervisor no descriptor to start a worker with. */
TEST_CASE(tenants_with_many_recorders_leave_room_for_those_with_few)
{
	struct config config = {.limits = {.keep_s = LIMIT_UNSET}};
	struct listen_sockets none = {0};
	struct worker *greedy, *last;
	struct supervisor s;
	unsigned kept = 0;

	place_raise_descriptors();
	make_service(&s, &config, &none);
	for (unsigned tenant = 0; kept < KEPT_ALL_MAX; tenant++) {
		greedy = workers_find(&s, 2000 + tenant);
		assert_non_null(greedy);
		for (unsigned n = 0; n < KEPT_TENANT_MAX && kept < KEPT_ALL_MAX; n++)
			kept += (unsigned)keep(&s, greedy, n);
		assert_int_equal(
			greedy->n_kept, kept < KEPT_ALL_MAX ? KEPT_TENANT_MAX : greedy->n_kept);
		assert_false(
			greedy->n_kept == KEPT_TENANT_MAX && keep(&s, greedy, KEPT_TENANT_MAX));
	}
	assert_int_equal(s.n_passed, KEPT_PASSED_MAX + 2 * (kept / KEPT_TENANT_MAX - 1));
	last = workers_find(&s, 1000);
	for (unsigned n = 0; n < KEPT_LEAST; n++)
		assert_true(keep(&s, last, n));
	assert_false(keep(&s, last, KEPT_LEAST));
	assert_int_equal(last->n_passed, KEPT_PASSED_LEAST);
	assert_true(s.n_passed <= KEPT_RECORDERS_MAX);
	/* What goes makes room. */
	keeper_drop(&s, last, KEPT_PREFIX "1000-1-0-00");
	assert_int_equal(last->n_passed, KEPT_PASSED_LEAST - 1);
	assert_true(keep(&s, last, KEPT_LEAST));
	assert_int_equal(last->n_passed, KEPT_PASSED_LEAST);
	end_service(&s);
	assert_int_equal(s.n_kept, 0);
	assert_int_equal(s.n_passed, 0);
}
