// SPDX-License-Identifier: MIT
/* What one peer may say: the last that is taken, and the first that is not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/limits.h"
#include "proto/recorder/layout.h"
#include "tests/unit/collectord/store/harness.h"
#include "tests/unit/collectord/store/recorder.h"

#define IN_FLIGHT (3 * IN_FLIGHT_ROWS_MAX)

static void flush(struct harness *h)
{
	assert_int_equal(store_flush(h->store, STORE_EVERYBODY, h), 0);
	harness_wait(h, STORE_FLUSHED);
}

STORE_CASE(strings_of_a_process)
{
	struct frames f = {0};

	harness_open(h);
	peer_add_strings(&f, PROCESS_STRINGS_MAX - 1, 1);
	harness_send(h, &f);
	flush(h);
	peer_add_strings(&f, PROCESS_STRINGS_MAX, 1);
	harness_send(h, &f);
	harness_wait(h, STORE_BAD_FRAME);
}

/* A string, a symbol and a shape: the last two have fewer ids, or as many. */
STORE_CASE(symbols_and_shapes_of_a_process)
{
	struct frames f = {0};

	harness_open(h);
	peer_add_kernel(&f, PROCESS_SHAPES_MAX - 1, "k", 1);
	harness_send(h, &f);
	flush(h);
	peer_add_kernel(&f, PROCESS_SHAPES_MAX, "k", 1);
	harness_send(h, &f);
	harness_wait(h, STORE_BAD_FRAME);
}

static void add_counters(struct frames *f, uint64_t of_queue, uint64_t of_process)
{
	uint64_t value[RTL_Q_COUNT] = {[RTL_Q_dispatched] = of_queue};
	uint64_t process[RTL_P_COUNT] = {[RTL_P_queues_created] = of_process};
	Rtl__QueueCounters queue = RTL__QUEUE_COUNTERS__INIT, *queues = &queue;
	Rtl__Counters counters = RTL__COUNTERS__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	queue.has_queue = queue.has_gpu = 1;
	queue.n_value = RTL_Q_COUNT;
	queue.value = value;
	counters.n_process = RTL_P_COUNT;
	counters.process = process;
	counters.n_queues = 1;
	counters.queues = &queues;
	frame.body_case = RTL__FRAME__BODY_COUNTERS;
	frame.counters = &counters;
	frames_add(f, &frame);
}

static void check_counters(struct harness *h, uint64_t of_queue, uint64_t of_process)
{
	assert_number(h->path, "SELECT dispatched FROM rtl_queue WHERE queueId = 0", of_queue);
	assert_number(
		h->path, "SELECT value FROM rtl_counter WHERE name = 'queues_created'", of_process);
}

/* What is greater is not believed; the peer goes on. */
STORE_CASE(counters_of_a_queue_and_a_process)
{
	struct frames f = {0};

	harness_open(h);
	peer_add_defines(&f);
	add_counters(&f, 7, 7);
	add_counters(&f, COUNTER_QUEUE_MAX + 1, COUNTER_PROCESS_MAX + 1);
	harness_send(h, &f);
	flush(h);
	check_counters(h, 7, 7);
	add_counters(&f, COUNTER_QUEUE_MAX, COUNTER_PROCESS_MAX);
	add_counters(&f, UINT64_MAX, UINT64_MAX);
	harness_send(h, &f);
	harness_close(h); /* those of a process are written now and then */
	check_counters(h, COUNTER_QUEUE_MAX, COUNTER_PROCESS_MAX);
}

/* Each before the one before: of a counter that begins again both sides are kept. */
static void add_restarts(struct frames *f, uint64_t first, uint64_t n)
{
	Rtl__Anchor anchor[CLOCK_ROWS_MAX], *anchors[CLOCK_ROWS_MAX];
	Rtl__Anchors all = RTL__ANCHORS__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	assert_true(n <= CLOCK_ROWS_MAX);
	for (uint64_t i = 0; i < n; i++) {
		anchor[i] = (Rtl__Anchor)RTL__ANCHOR__INIT;
		anchor[i].has_gpu = anchor[i].has_tick = anchor[i].has_boottime_ns = 1;
		anchor[i].tick = 1000000 - first - i;
		anchor[i].boottime_ns = PEER_ZERO_NS + first + i;
		anchors[i] = &anchor[i];
	}
	all.n_anchors = n;
	all.anchors = anchors;
	frame.body_case = RTL__FRAME__BODY_ANCHORS;
	frame.anchors = &all;
	frames_add(f, &frame);
}

static int64_t clock_rows(struct harness *h)
{
	return sql_number(h->path, "SELECT count(*) FROM rtl_clock");
}

/* They are no records, for which there are quotas. What is not kept is counted all the same. */
STORE_CASE(anchors_of_a_gpu)
{
	struct frames f = {0};
	int64_t most;

	harness_open(h);
	add_restarts(&f, 0, CLOCK_ROWS_MAX);
	harness_send(h, &f);
	flush(h);
	assert_int_equal(clock_rows(h), CLOCK_ROWS_MAX);
	for (unsigned i = 1; i < 100; i++)
		add_restarts(&f, i * CLOCK_ROWS_MAX, CLOCK_ROWS_MAX);
	harness_send(h, &f);
	flush(h);
	/* However long that took: it was no time for each of them. */
	most = 50 * CLOCK_ROWS_MAX;
	assert_in_range(clock_rows(h), CLOCK_ROWS_MAX, most);
	assert_number(h->path, "SELECT anchors FROM rtl_clock_check", 100 * CLOCK_ROWS_MAX);
}

STORE_CASE(metrics_of_a_mark)
{
	struct frames f = {0};
	char text[512] = "";
	size_t n = 0;

	for (unsigned i = 0; i < 2 * METRIC_PAIRS_MAX; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "m%u=%u ", i, i);
	harness_open(h);
	peer_add_kernel(&f, 1, text, n);
	peer_add_marker(&f, 1, RTL_MARKER_MARK);
	harness_send(h, &f);
	harness_wait_commit(h, 1);
	assert_number(h->path, "SELECT count(*) FROM rtl_metric", METRIC_PAIRS_MAX);
	assert_number(h->path, "SELECT max(value) FROM rtl_metric", METRIC_PAIRS_MAX - 1);
}

STORE_CASE(the_command_of_a_session_is_cut)
{
	char command[2 * COMMAND_BYTES_MAX];
	const struct store_session_params params = {.name = "job",
		.command = command,
		.path = h->path,
		.uid = getuid(),
		.create = STORE_NEW};

	memset(command, 'x', sizeof(command) - 1);
	command[sizeof(command) - 1] = 0;
	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	harness_wait(h, STORE_OPENED);
	assert_number(h->path, "SELECT length(command) FROM rtl_session", COMMAND_BYTES_MAX);
}

static void look_at(struct harness *h, int memfd)
{
	struct frames f = {0};

	harness_open(h);
	assert_int_equal(store_process_watch(h->process, memfd), 0);
	/* By then it was scanned already, as all processes are now and then; a client that asks is
	 * told more. */
	peer_add_kernel(&f, 1, "x", 1);
	peer_add_marker(&f, 1, RTL_MARKER_MARK);
	harness_send(h, &f);
	harness_wait_commit(h, 1);
	assert_int_equal(store_look(h->store, STORE_EVERYBODY, h), 0);
	harness_wait(h, STORE_FLUSHED);
}

/* Of each of two queues; the oldest wait, and say how many are behind them. */
STORE_CASE(dispatches_in_flight_of_a_queue)
{
	struct hand_recorder *r = hand_recorder_new(1);
	struct recorder_slot *slots = calloc(2 * IN_FLIGHT, sizeof(*slots));
	int fd;

	assert_non_null(slots);
	hand_recorder_slot(r, 0, SLOT_SUBMITTED, 0, 0);
	for (unsigned i = 0; i < 2 * IN_FLIGHT; i++) {
		memcpy(&slots[i], &r->slot[0], sizeof(slots[i]));
		slots[i].queue = i % 2;
		slots[i].seq = IN_FLIGHT - 1 - i / 2;
	}
	r->header.slots_used = 2 * IN_FLIGHT;
	r->header.queues_used = 2;
	for (unsigned q = 0; q < 2; q++) {
		r->queue[q].in_use = 1;
		r->queue[q].producer[RTL_Q_dispatched] = IN_FLIGHT;
	}
	fd = hand_recorder_memfd_with(r, &r->header.slots, slots, 2 * IN_FLIGHT, sizeof(*slots));
	free(slots);
	free(r);
	look_at(h, fd);
	assert_text(h->path,
		"SELECT group_concat(text) FROM (SELECT queueId || ': ' || count(*) || ' ' || "
		"min(sequenceId) || '-' || max(sequenceId) || ' ' || max(behind) || '-' || "
		"min(behind) AS text FROM rtl_in_flight GROUP BY queueId ORDER BY queueId)",
		"0: 16 0-15 47-32,1: 16 0-15 47-32");
	assert_int_equal(IN_FLIGHT_ROWS_MAX, 16);
}

#define MANY_QUEUES (IN_FLIGHT_PROCESS_ROWS_MAX / 4)
#define OF_EACH	    8u

/* Of each of many queues fewer, the oldest again. Their blocks lie behind the slots. */
STORE_CASE(dispatches_in_flight_of_many_queues)
{
	struct both {
		struct recorder_slot slot[MANY_QUEUES * OF_EACH];
		struct recorder_queue queue[MANY_QUEUES];
		uint8_t rest[sizeof(struct recorder_slot)];
	} *both = calloc(1, sizeof(*both));
	struct hand_recorder *r = hand_recorder_new(1);
	int fd;

	assert_non_null(both);
	hand_recorder_slot(r, 0, SLOT_SUBMITTED, 0, 0);
	for (unsigned i = 0; i < MANY_QUEUES * OF_EACH; i++) {
		memcpy(&both->slot[i], &r->slot[0], sizeof(both->slot[i]));
		both->slot[i].queue = i % MANY_QUEUES;
		both->slot[i].seq = i / MANY_QUEUES;
	}
	for (unsigned q = 0; q < MANY_QUEUES; q++) {
		both->queue[q].in_use = 1;
		both->queue[q].producer[RTL_Q_dispatched] = OF_EACH;
	}
	r->header.slots_used = MANY_QUEUES * OF_EACH;
	r->header.queues_used = MANY_QUEUES;
	r->header.queues = (struct recorder_region){
		sizeof(*r) + offsetof(struct both, queue), MANY_QUEUES, sizeof(both->queue[0])};
	fd = hand_recorder_memfd_with(r, &r->header.slots, both,
		sizeof(*both) / sizeof(both->slot[0]), sizeof(both->slot[0]));
	free(both);
	free(r);
	look_at(h, fd);
	assert_text(h->path,
		"SELECT count(*) || ' of ' || count(DISTINCT queueId) || ' ' || max(sequenceId) || "
		"' ' || max(behind) FROM rtl_in_flight",
		"1024 of 256 3 7");
}
