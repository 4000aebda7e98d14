/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A store in a folder of its own, and its answers. Tests; asserts through cmocka.
 */
#include "collectord/store/store.h"
#include "tests/lib/sql.h"
#include "tests/lib/test.h"
#include "tests/unit/collectord/store/frames.h"

/* For what must come; long, since only a failure waits it out. */
#define HARNESS_WAIT_MS 300000

struct harness {
	char dir[64];
	char path[96]; /* DIR/job.db */
	struct store *store;
	struct store_session *session;
	struct store_process *process;
	struct store_answer answer; /* the last one that was waited for */
};

/* A test of a running store, whose harness it has as h. */
#define STORE_CASE(claim) TEST_CASE_WITH(claim, harness_setup, harness_teardown, struct harness *h)
int harness_setup(void **state);
int harness_teardown(void **state);

/* Waits for an answer of @kind; any FAILED or BAD_FRAME that is not asked for fails the test. */
void harness_wait(struct harness *h, enum store_answer_kind kind);
/* Waits until frame @frame is committed. */
void harness_wait_commit(struct harness *h, uint64_t frame);

/* Opens session "job" at h->path and waits. */
void harness_open_session(struct harness *h, enum store_create create);
/* Opens process @token in it and waits; pid is 1000 + token. */
void harness_open_process(struct harness *h, uint8_t token, int rank);
void harness_open(struct harness *h);
/* The same, and into @frames go definitions and an anchor of time, for dispatches to follow. */
void harness_open_timed(struct harness *h, struct frames *frames);
/* Sends what is in @frames to h->process. */
void harness_send(struct harness *h, struct frames *frames);
/* Ends the process without a recorder, after a Bye, and closes the session. */
void harness_close(struct harness *h);

/* The identity holds for every queue, numbers are unique and fit rtl_queue. */
void harness_check_books(const char *path);
