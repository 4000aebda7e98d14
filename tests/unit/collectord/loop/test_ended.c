/* SPDX-License-Identifier: MIT */
/* What processes that have ended go on to take of a session that is open for months. */
#include "tests/unit/collectord/loop/harness.h"

#include <stdlib.h>
#include <sys/eventfd.h>

#include "collectord/loop/sessions/detached.h"
#include "collectord/loop/sessions/instance.h"
#include "collectord/loop/sessions/session.h"
#include "proto/base/limits.h"

static bool is_over(void *data)
{
	return ((struct instance *)data)->state == INSTANCE_ENDED;
}

SERVER_CASE(an_ended_process_holds_no_descriptor)
{
	struct instance *dead, *refused;
	struct fake_shim shim[2];

	harness_shim(h, &shim[0], "job");
	dead = fake_store.processes->owner;
	harness_shim(h, &shim[1], "job");
	refused = fake_store.processes->owner;
	assert_true(dead->pidfd >= 0 && refused->pidfd >= 0);
	fake_shim_kill(&shim[0]);
	harness_wait(h, is_over, dead);
	assert_true(dead->unread_bytes > 0); /* it was counted, and is no more */
	assert_int_equal(dead->session->unread_bytes, 0);
	assert_int_equal(dead->pidfd, -1);
	assert_int_equal(dead->memfd, -1);
	fake_store_answer(h->store, STORE_PROCESS_FAILED, refused, 0, "no room");
	harness_wait(h, is_over, refused);
	assert_int_equal(refused->pidfd, -1);
	assert_int_equal(refused->memfd, -1);
	fake_shim_done(&shim[0]);
	fake_shim_done(&shim[1]);
}

static void add_dead(struct session *session, enum instance_state state, unsigned n)
{
	while (n--) {
		struct instance *ended = calloc(1, sizeof(*ended));

		assert_non_null(ended);
		*ended = (struct instance){.session = session,
			.state = state,
			.memfd = -1,
			.pidfd = -1,
			.next = session->instances};
		session->instances = ended;
		session->n_instances++;
		session->n_ended += state == INSTANCE_ENDED;
	}
}

SERVER_CASE(the_processes_of_one_user_are_numbered)
{
	struct fake_shim first, last, extra;

	harness_shim(h, &first, "job");
	add_dead(fake_store.sessions->owner, INSTANCE_ENDED, PROCESSES_PER_UID_MAX - 2);
	harness_shim(h, &last, "job");
	fake_shim_init(&extra, "job");
	harness_say_hello(h, &extra, 1);
	harness_expect_refusal(h, &extra, "too many processes");
	fake_shim_done(&extra);
	fake_shim_done(&last);
	fake_shim_done(&first);
}

/* The file does not take them, and each holds three descriptors. */
SERVER_CASE(a_user_with_many_undrained_processes_waits_with_more)
{
	struct fake_shim first, last, extra;
	struct session *session;

	harness_shim(h, &first, "job");
	session = fake_store.sessions->owner;
	add_dead(session, INSTANCE_DRAINING, UNREAD_PROCESSES_MAX - 1);
	harness_shim(h, &last, "job");
	add_dead(session, INSTANCE_DRAINING, 1);
	fake_shim_init(&extra, "job");
	harness_say_hello(h, &extra, 1);
	harness_expect_refusal(h, &extra, "have ended and are not stored yet");
	fake_shim_done(&extra);
	/* One of them is over. */
	session->n_ended++;
	harness_shim(h, &extra, "job");
	/* However few they are: what they have written is memory of the node. */
	assert_false(session_has_many_unread(h->server));
	session->unread_bytes = UNREAD_BYTES_MAX - 1;
	assert_false(session_has_many_unread(h->server));
	session->unread_bytes++;
	assert_true(session_has_many_unread(h->server));
	session->unread_bytes = 0;
	session->n_ended = session->n_instances - session->n_live;
	fake_shim_done(&extra);
	fake_shim_done(&last);
	fake_shim_done(&first);
}

static struct instance_identity identity_of(unsigned n)
{
	return (struct instance_identity){.uid = 1, .pid = 1000, .start_time = n};
}

static void add_detached(struct harness *h, struct detached **list, unsigned n)
{
	const struct instance_identity identity = identity_of(n);
	int fd = eventfd(0, EFD_CLOEXEC); /* a process that lives */

	assert_true(fd >= 0);
	detached_add(list, h->server->base, &identity, &fd);
}

static void check_detached(const struct detached *list, unsigned n, bool is_there)
{
	const struct instance_identity identity = identity_of(n);

	assert_int_equal(detached_has(list, &identity), is_there);
}

/* Each is a descriptor while the process lives, which may say any number of times that it is new.
 */
SERVER_CASE(the_oldest_of_the_detached_is_forgotten)
{
	struct detached *list = NULL;

	for (unsigned n = 1; n <= 2 * DETACHED_MAX; n++)
		add_detached(h, &list, n);
	check_detached(list, 2 * DETACHED_MAX, true);
	check_detached(list, DETACHED_MAX + 1, true);
	check_detached(list, DETACHED_MAX, false);
	check_detached(list, 1, false);
	detached_free(&list);
}
