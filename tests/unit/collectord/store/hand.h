// SPDX-License-Identifier: MIT
#pragma once
/*
 * A store without a thread: the test is it, and looks at what is between two of its rounds. So
 * nothing depends on how long anything takes.
 */
#include <stdint.h>

#include "collectord/store/internal.h"

/* More than all that is in line takes, on any machine. */
#define ROUNDS_MAX 100000u

struct hand {
	struct harness *h; /* for its folder */
	struct store store;
};

/* A test that has a store as hand, and takes its rounds itself. */
#define HAND_CASE(claim) TEST_CASE_WITH(claim, hand_setup, hand_teardown, struct hand *hand)
int hand_setup(void **state);
int hand_teardown(void **state);

/* A session, and a process of it. */
struct tenant {
	struct store_session *session;
	struct store_process *process;
	char path[112];
};

/* In line to be opened, in file @number of the folder. */
void ask_to_open(struct hand *hand, struct tenant *t, unsigned number, uid_t uid, const char *name,
	enum store_create create);
void rounds_until_open(struct hand *hand, const struct store_session *session);

/* Into the lines, what the loop has put into the queue. */
void route_all(struct hand *hand);

void ask_for_process(struct hand *hand, struct tenant *t, uint8_t token);
void open_process(struct hand *hand, struct tenant *t, uint8_t token);

/* Both, in file @number; the token is 10 more. */
void open_tenant(struct hand *hand, struct tenant *t, unsigned number, uid_t uid);

/* Ten dispatches, in line. */
void send_frame(struct hand *hand, struct tenant *t, uint64_t number);

/* Of all that were said since, so many are of @kind. */
unsigned answers_of(struct hand *hand, enum store_answer_kind kind);
