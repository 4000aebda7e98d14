/* SPDX-License-Identifier: MIT */
#include "tests/unit/collectord/store/life.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectord/db/rows/feed_file.h"
#include "tests/unit/collectord/store/recorder.h"

#define DEADLINE_MS 300000
/* Behind those of peer_add_defines(). */
#define SHAPE_FIRST 3u
static_assert(LIFE_FIRST * LIFE_EACH > FEED_FILE_SHAPES, "some go into the file before the commit");

static bool is_aside(enum store_answer_kind kind)
{
	return kind == STORE_DEGRADED || kind == STORE_RECOVERED || kind == STORE_FLUSHED ||
	       kind == STORE_MADE;
}

/* Whatever it is, but for trouble that comes and goes. */
enum store_answer_kind life_wait(struct harness *h)
{
	struct pollfd poller = {.fd = store_answer_fd(h->store), .events = POLLIN};

	for (;;) {
		store_answer_done(&h->answer);
		if (store_next_answer(h->store, &h->answer)) {
			if (!is_aside(h->answer.kind))
				return h->answer.kind;
			continue;
		}
		memset(&h->answer, 0, sizeof(h->answer));
		if (poll(&poller, 1, DEADLINE_MS) != 1)
			fail_msg("no answer in time");
	}
}

static bool open_both(struct harness *h)
{
	struct store_session_params params = {
		.name = "job",
		.job = "job-1",
		.path = h->path,
		.uid = getuid(),
		.create = STORE_RESUME,
	};
	enum store_answer_kind kind;
	size_t count;
	uint8_t *hello;

	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	do
		kind = life_wait(h);
	while (kind == STORE_LEFT_PROCESS || kind == STORE_CALLED);
	if (kind == STORE_FAILED) {
		h->session = store_session_free(h->session);
		return false;
	}
	assert_int_equal(kind, STORE_OPENED);
	hello = peer_hello(1, 0, &count);
	assert_int_equal(
		store_process_open(h->session, hello, count, getuid(), 1001, 4242, h, &h->process),
		0);
	return true;
}

/* Each of the first ones has a shape of its own. */
static void add_frame(struct frames *f, uint64_t n)
{
	uint64_t seq = (n - 1) * LIFE_EACH;

	if (n > LIFE_FIRST)
		peer_add_dispatches(f, n, 1, seq, LIFE_EACH);
	else
		peer_add_shapes(f, n, SHAPE_FIRST + (uint32_t)seq, seq, LIFE_EACH);
}

static void send_all(struct harness *h)
{
	struct frames f = {0};

	peer_add_defines(&f);
	for (uint32_t i = 0; i < LIFE_FIRST * LIFE_EACH; i++)
		peer_add_kernel(&f, SHAPE_FIRST + i, "gamma.kd", 8);
	peer_add_anchors(&f, 1000000);
	for (uint64_t n = 1; n <= LIFE_FRAMES; n++) {
		add_frame(&f, n);
		if (n < LIFE_FIRST)
			continue;
		harness_send(h, &f);
		/* A transaction each, also where the machine is fast. */
		assert_int_equal(store_flush(h->store, STORE_EVERYBODY, h), 0);
	}
}

enum life_end life_run(struct harness *h)
{
	struct hand_recorder *r;
	enum store_answer_kind kind;

	if (!open_both(h))
		return LIFE_NOT_OPENED;
	r = hand_recorder_new(1);
	r->queue[0].producer[RTL_Q_dispatched] = LIFE_FRAMES * LIFE_EACH;
	/* Also before it is open: what is committed already is taken for a duplicate. */
	send_all(h);
	assert_int_equal(
		store_process_end(h->process, hand_recorder_memfd(r), STORE_ENDED_KILLED, -1), 0);
	while ((kind = life_wait(h)) == STORE_COMMITTED || kind == STORE_PROCESS_OPENED)
		;
	free(r);
	assert_true(kind == STORE_PROCESS_ENDED || kind == STORE_PROCESS_FAILED);
	assert_int_equal(store_session_close(h->session, 0), 0);
	assert_int_equal(life_wait(h), STORE_CLOSED);
	h->session = store_session_free(h->session);
	return LIFE_CLOSED;
}

void life_restart(struct harness *h, unsigned give_up_ms)
{
	struct store_config config = {.give_up_ms = give_up_ms};

	store_answer_done(&h->answer);
	memset(&h->answer, 0, sizeof(h->answer));
	h->store = store_free(h->store);
	assert_int_equal(store_new(&config, &h->store), 0);
}

void life_forget(struct harness *h)
{
	static const char *const suffix[] = {"", "-wal", "-shm", "-journal"};
	char path[128];

	for (size_t i = 0; i < sizeof(suffix) / sizeof(suffix[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", h->path, suffix[i]);
		(void)unlink(path);
	}
}

uint64_t life_next(uint64_t n, uint64_t count)
{
	uint64_t step = getenv("RTL_TEST_LONG") ? 1 : 1 + n / 4;

	return n < count && n + step > count ? count : n + step;
}

void life_check(struct harness *h)
{
	int64_t frames = sql_number(h->path, "SELECT coalesce(sum(hw_frame), 0) FROM rtl_process");
	int64_t rows = sql_number(h->path, "SELECT count(*) FROM rocpd_op");

	if (rows != frames * LIFE_EACH)
		fail_msg("%ld rows, %ld frames committed", (long)rows, (long)frames);
	harness_check_books(h->path);
}
