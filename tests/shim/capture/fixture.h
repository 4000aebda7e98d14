/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * One capture, one queue and one reader, driven step by step by the test's own thread. The
 * capture.* cmocka tests use it.
 */
#include "shim/capture/capture.h"
#include "tests/lib/test.h"
#include "tests/shim/capture/reader.h"
#include "tests/shim/capture/synth.h"

#define MS 1000000ull

struct fixture {
	struct capture *capture;
	struct recorder *recorder;
	struct reader *reader;
	struct synth_queue *queue;
	uint64_t now_ns;
};

/* @packets is the size of the queue. */
void fixture_init(struct fixture *f, uint32_t packets);
void fixture_init_with(struct fixture *f, uint32_t packets, const struct capture_hsa *hsa);
void fixture_done(struct fixture *f);

/* A test of a capture with a queue of 64 packets, which it has as f. */
#define CAPTURE_CASE(claim)                                                                        \
	TEST_CASE_WITH(claim, fixture_setup, fixture_teardown, struct fixture *f)
int fixture_setup(void **state);
int fixture_teardown(void **state);

/* Submits a dispatch of kernel object 1 with the barrier bit. */
uint64_t fixture_dispatch(struct fixture *f, uint64_t signal);
/* Advances time by @ns, harvests, and lets the reader take frames. */
void fixture_harvest(struct fixture *f, uint64_t ns);
/* Lets the device do all that it can. */
void fixture_step(struct fixture *f);
/* Does both, for longer than late times, verdicts and the flush of a frame take. */
#define FIXTURE_SETTLE_NS (100 * MS)
void fixture_settle(struct fixture *f);

/* Destroys the queue as an application does; its execs stay readable until fixture_done(). */
void fixture_destroy_queue(struct fixture *f);

uint64_t fixture_count(const struct fixture *f, enum rtl_queue_counter what);
const struct reader_row *fixture_row(const struct fixture *f, uint64_t seq);

/*
 * Checks the identity of docs/recorder.md, section 7 for @queue, and every stored record against
 * what the device executed. @dropped: number of dispatches that may be missing.
 */
void check_against_device(const struct capture *capture, const struct reader *reader,
	const struct synth_queue *queue, uint64_t dropped);
