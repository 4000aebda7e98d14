/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The real server on a real socket, turned by the test itself: no thread, no sleep. Every wait
 * pumps the loop until its condition holds, and fails the test after FAKE_WAIT_MS.
 */
#include <stdbool.h>

#include "collectord/service/config.h"
#include "collectord/service/listen.h"
#include "collectord/loop/server.h"
#include "tests/lib/fake_shim.h"
#include "tests/lib/test.h"
#include "tests/unit/collectord/loop/fake_store.h"

struct harness {
	char dir[64];
	char socket[96];
	struct config config;
	struct listen_sockets sockets;
	struct store *store;
	struct server *server;
};

/* A test of a server, whose harness it has as h. The second: of a private collector's. */
#define SERVER_CASE(claim) TEST_CASE_WITH(claim, harness_setup, harness_teardown, struct harness *h)
#define PRIVATE_SERVER_CASE(claim)                                                                 \
	TEST_CASE_WITH(claim, harness_setup_private, harness_teardown, struct harness *h)
int harness_setup(void **state);
int harness_setup_private(void **state);
int harness_teardown(void **state);

/* Let the loop do what is ready now. */
void harness_turn(struct harness *h);

/* Turn until @condition(@data). */
void harness_wait(struct harness *h, bool (*condition)(void *data), void *data);

/* As fake_receive(), turning meanwhile. */
int harness_receive(struct harness *h, struct fake_shim *shim, Rtl__Frame **ret);

/* A frame for @shim, turning meanwhile; its body must be @body. */
Rtl__Frame *harness_expect(struct harness *h, struct fake_shim *shim, Rtl__Frame__BodyCase body);

/* The refusal that @shim gets holds @text; then its connection ends. */
void harness_expect_refusal(struct harness *h, struct fake_shim *shim, const char *text);
void harness_expect_closed(struct harness *h, struct fake_shim *shim);

/* Connected as a process of its own, Hello said, Welcome received: its last_frame. */
uint64_t harness_shim(struct harness *h, struct fake_shim *shim, const char *job);

/* Connects @shim, of this process, and says Hello with so many copies of its recorder. */
void harness_say_hello(struct harness *h, struct fake_shim *shim, unsigned n_fds);
/* As harness_shim(), of this process. */
void harness_own_shim(struct harness *h, struct fake_shim *shim, const char *job);

/* Connected (not as a shim), nothing said yet. */
void harness_connect(struct harness *h, struct fake_shim *peer);
void harness_send_runner_hello(struct fake_shim *peer, const char *job);
void harness_send_early_runner_hello(struct fake_shim *peer, const char *job);
/* Of one that a collector before this one had told to start its command. */
void harness_send_runner_hello_again(struct fake_shim *peer, const char *job);
/* With rules of categories; NULL: none. */
void harness_send_runner_rules(struct fake_shim *peer, const char *job, const char *categories);
void harness_send_runner_done(struct fake_shim *peer, bool now, int status);
