// SPDX-License-Identifier: MIT
#include "tests/unit/collectord/store/hand.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "collectord/store/thread/thread.h"
#include "proto/base/limits.h"
#include "tests/unit/collectord/store/harness.h"

#define HOUR_NS 3600000000000u

static int no_beat(void *data)
{
	(void)data;
	return 0;
}

int hand_setup(void **state)
{
	static const struct quota_limits none;
	struct hand *hand = calloc(1, sizeof(*hand));
	void *h;

	assert_non_null(hand);
	harness_setup(&h);
	hand->h = h;
	pthread_mutex_init(&hand->store.lock, NULL);
	pthread_cond_init(&hand->store.wake, NULL);
	msg_arena_init(&hand->store.arena, ARENA_BYTES_MAX);
	quota_limit(&hand->store.account, &none);
	hand->store.patience = (struct database_patience){.busy_ms = 1000, .beat = no_beat};
	hand->store.answer_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	hand->store.give_up_ns = HOUR_NS;
	*state = hand;
	return 0;
}

int hand_teardown(void **state)
{
	struct hand *hand = *state;
	struct store *store = &hand->store;
	void *h = hand->h;

	turns_finish(store);
	while (store->databases)
		session_file_close(store, store->databases);
	while (store->sessions) {
		struct store_session *next = store->sessions->next;

		destroy_session(store->sessions);
		store->sessions = next;
	}
	answer_drop_all(store);
	msg_arena_done(&store->arena);
	pthread_cond_destroy(&store->wake);
	pthread_mutex_destroy(&store->lock);
	close(store->answer_fd);
	free(hand);
	return harness_teardown(&h);
}

void ask_to_open(struct hand *hand, struct tenant *t, unsigned number, uid_t uid, const char *name,
	enum store_create create)
{
	struct store_session_params params = {
		.name = name, .uid = uid, .create = create, .path = t->path};

	snprintf(t->path, sizeof(t->path), "%s/%u.db", hand->h->dir, number);
	assert_int_equal(store_session_new(&hand->store, &params, t, &t->session), 0);
	turns_route(&hand->store, command_new(COMMAND_SESSION_OPEN, t->session, NULL));
}

void rounds_until_open(struct hand *hand, const struct store_session *session)
{
	for (unsigned i = 0; session->is_waiting && i < ROUNDS_MAX; i++)
		turns_round(&hand->store);
	assert_non_null(session->database);
}

void route_all(struct hand *hand)
{
	struct command *command;

	while ((command = command_list_take(&hand->store.queue)))
		turns_route(&hand->store, command);
}

void ask_for_process(struct hand *hand, struct tenant *t, uint8_t token)
{
	size_t count;
	uint8_t *hello = peer_hello(token, 0, &count);

	assert_int_equal(store_process_open(t->session, hello, count, getuid(), 1000 + token, 4242,
				 t, &t->process),
		0);
	route_all(hand);
}

void open_process(struct hand *hand, struct tenant *t, uint8_t token)
{
	ask_for_process(hand, t, token);
	for (unsigned i = 0; !t->process->process && i < ROUNDS_MAX; i++)
		turns_round(&hand->store);
	assert_non_null(t->process->process);
}

void open_tenant(struct hand *hand, struct tenant *t, unsigned number, uid_t uid)
{
	ask_to_open(hand, t, number, uid, "job", STORE_NEW);
	rounds_until_open(hand, t->session);
	open_process(hand, t, (uint8_t)(10 + number));
}

void send_frame(struct hand *hand, struct tenant *t, uint64_t number)
{
	struct frames f = {0};
	size_t count;
	uint8_t *bytes;

	if (number == 1) {
		peer_add_defines(&f);
		peer_add_anchors(&f, 1000000);
	}
	peer_add_dispatches(&f, number, 1, 10 * (number - 1), 10);
	bytes = frames_take(&f, &count);
	assert_int_equal(store_process_frames(t->process, bytes, count), 0);
	route_all(hand);
}

unsigned answers_of(struct hand *hand, enum store_answer_kind kind)
{
	struct store_answer answer;
	unsigned n = 0;

	while (store_next_answer(&hand->store, &answer)) {
		n += answer.kind == kind;
		store_answer_done(&answer);
	}
	return n;
}
