/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The shim thread, with a socket on which the test acts as the collector. Tests only; asserts
 * through cmocka.
 */
#include <stdbool.h>

#include "shim/send/worker.h"
#include "tests/lib/test.h"
#include "tests/shim/capture/synth.h"

#define WAIT_MS	    300000
#define BRIEF_NS    500000000u
#define DEADLINE_NS (WAIT_MS * 1000000ull)
#define TICK_HZ	    1000000000u

struct fixture {
	char directory[64];
	char path[96];
	int listener;
	unsigned sockets; /* number of sockets that are not the shim's */
	struct identity identity;
	struct rank_info rank;
	struct agents agents;
	struct clock_source clocks;
	struct strings strings;
	struct capture *capture;
	struct synth_queue *queue; /* in tests that have one */
	hsa_signal_t signal;
};

/* Override libc's clocks: BOOTTIME as the test sets it, and a time at which every clock stops. */
extern _Atomic int64_t boottime_offset_ns;
extern _Atomic uint64_t standing_ns;
/* The thread that ends the shim has read the clock at its beginning. */
extern __thread bool is_ending;
extern _Atomic bool has_begun;
/* The shim thread has to wait where it begins or reads the time, and is waiting. */
extern _Atomic bool has_no_processor, is_kept;
/* The runtime does not report the rate of the GPU's counter. */
extern bool has_no_rate;

/* A test of the shim's thread, with f. In the second, the end gives up long before a doubt is
 * resolved. */
#define WORKER_CASE(claim) TEST_CASE_WITH(claim, fixture_setup, fixture_teardown, struct fixture *f)
#define BRIEF_WORKER_CASE(claim)                                                                   \
	TEST_CASE_WITH(claim, fixture_setup_brief, fixture_teardown, struct fixture *f)
int fixture_setup(void **state);
int fixture_setup_brief(void **state);
int fixture_teardown(void **state);

/* Number of descriptors that /proc gives this name, and the last of them. */
unsigned count_open(const char *kind, int *ret_last);
unsigned count_sockets(void);

/* The next connection; -1 if none comes within @ms. */
int accept_next(const struct fixture *f, int ms);
/* Waits until frame @number is published. */
void wait_for_frame(const struct fixture *f, uint64_t number);
