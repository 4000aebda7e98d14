// SPDX-License-Identifier: MIT
#include "tests/unit/collectord/store/harness.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/folder.h"

int harness_setup(void **state)
{
	struct harness *h = calloc(1, sizeof(*h));
	struct store_config config = {0};
	const char *base = getenv("TMPDIR");

	assert_non_null(h);
	assert_true(snprintf(h->dir, sizeof(h->dir), "%s/rtl-store-XXXXXX", base ? base : "/tmp") <
		    (int)sizeof(h->dir));
	assert_non_null(mkdtemp(h->dir));
	snprintf(h->path, sizeof(h->path), "%s/job.db", h->dir);
	assert_int_equal(store_new(&config, &h->store), 0);
	*state = h;
	return 0;
}

int harness_teardown(void **state)
{
	struct harness *h = *state;

	store_answer_done(&h->answer);
	store_free(h->store);
	(void)folder_remove(h->dir);
	free(h);
	return 0;
}

static int is_trouble(enum store_answer_kind kind)
{
	return kind == STORE_FAILED || kind == STORE_PROCESS_FAILED || kind == STORE_BAD_FRAME ||
	       kind == STORE_DEGRADED;
}

void harness_wait(struct harness *h, enum store_answer_kind kind)
{
	struct pollfd poller = {.fd = store_answer_fd(h->store), .events = POLLIN};

	for (;;) {
		store_answer_done(&h->answer);
		if (store_next_answer(h->store, &h->answer)) {
			if (h->answer.kind == kind)
				return;
			if (is_trouble(h->answer.kind))
				fail_msg("answer %d: %s", h->answer.kind,
					h->answer.text ? h->answer.text : "");
			continue;
		}
		memset(&h->answer, 0, sizeof(h->answer));
		if (poll(&poller, 1, HARNESS_WAIT_MS) != 1)
			fail_msg("no answer %d in time", kind);
	}
}

void harness_wait_commit(struct harness *h, uint64_t frame)
{
	do
		harness_wait(h, STORE_COMMITTED);
	while (h->answer.frame < frame);
}

void harness_open_session(struct harness *h, enum store_create create)
{
	struct store_session_params params = {
		.name = "job",
		.job = "job-1",
		.command = "python train.py",
		.path = h->path,
		.uid = getuid(),
		.create = create,
	};

	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	harness_wait(h, STORE_OPENED);
	assert_ptr_equal(h->answer.owner, h);
}

void harness_open_process(struct harness *h, uint8_t token, int rank)
{
	size_t count;
	uint8_t *hello = peer_hello(token, rank, &count);

	assert_int_equal(store_process_open(h->session, hello, count, getuid(), 1000 + token, 4242,
				 h, &h->process),
		0);
	harness_wait(h, STORE_PROCESS_OPENED);
}

void harness_open(struct harness *h)
{
	harness_open_session(h, STORE_NEW);
	harness_open_process(h, 1, 0);
}

void harness_open_timed(struct harness *h, struct frames *frames)
{
	harness_open(h);
	peer_add_defines(frames);
	peer_add_anchors(frames, 1000000);
}

void harness_send(struct harness *h, struct frames *frames)
{
	size_t count;
	uint8_t *bytes = frames_take(frames, &count);

	assert_true(store_process_frames(h->process, bytes, count) >= 0);
}

void harness_close(struct harness *h)
{
	struct frames frames = {0};

	peer_add_bye(&frames);
	harness_send(h, &frames);
	assert_int_equal(store_process_end(h->process, -1, STORE_ENDED_EXITED, 0), 0);
	harness_wait(h, STORE_PROCESS_ENDED);
	assert_int_equal(store_session_close(h->session, 0), 0);
	harness_wait(h, STORE_CLOSED);
}

void harness_check_books(const char *path)
{
	static const char *const none[] = {
		"SELECT count(*) FROM rtl_account WHERE pending < 0 OR dispatched <> skipped + "
		"timed + untimed + outstanding + dropped + torn + pending",
		"SELECT count(*) FROM (SELECT 1 FROM rocpd_op "
		"GROUP BY process_id, queueId, sequenceId HAVING count(*) > 1)",
		"SELECT count(*) FROM rocpd_op o JOIN rtl_outstanding x USING "
		"(process_id, queueId, sequenceId)",
		"SELECT count(*) FROM rtl_queue q WHERE stored <> (SELECT count(*) FROM rocpd_op o "
		"WHERE o.process_id = q.process_id AND o.queueId = q.queueId)",
		"SELECT count(*) FROM rtl_queue q WHERE untimed <> (SELECT count(*) FROM rocpd_op "
		"o "
		"WHERE o.process_id = q.process_id AND o.queueId = q.queueId AND o.start IS NULL)",
		"SELECT count(*) FROM rocpd_op WHERE (start IS NULL) <> (reason IS NOT NULL)",
	};

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (sql_number(path, none[i]))
			fail_msg("not 0: %s", none[i]);
	assert_text(path, "PRAGMA integrity_check", "ok");
}
