// SPDX-License-Identifier: MIT
/* The store of a tenant's worker: what its sessions leave to the next one, and what their owner
 * asks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectord/channel/channel.h"
#include "collectord/channel/seat.h"
#include "tests/unit/collectord/store/harness.h"

/* The worker's place in the service, and the file of its session. */
struct worker {
	struct seat seat;
	int supervisor; /* the other end of its channel */
	char index[96], database[160];
};

/* Ends the store that is there; @h gets one that serves @w. */
static void begin_store(struct harness *h, struct worker *w)
{
	const struct store_config config = {
		.index_path = w->index, .folder = h->dir, .seat = &w->seat};

	store_answer_done(&h->answer);
	memset(&h->answer, 0, sizeof(h->answer));
	h->store = store_free(h->store);
	assert_int_equal(store_new(&config, &h->store), 0);
	assert_int_equal(store_recover(h->store, NULL), 0);
}

static void begin(struct harness *h, struct worker *w)
{
	int pair[2];

	assert_int_equal(channel_pair(pair), 0);
	*w = (struct worker){
		.seat = {.owner = getuid(), .channel = pair[0], .door = -1, .reserve = -1},
		.supervisor = pair[1]};
	w->seat.ledger = ledger_new();
	assert_non_null(w->seat.ledger);
	w->seat.page = ledger_find(w->seat.ledger, getuid());
	snprintf(w->index, sizeof(w->index), "%s/tenant.db", h->dir);
	begin_store(h, w);
	harness_wait(h, STORE_LEFT_DONE);
}

static void end(struct harness *h, struct worker *w)
{
	h->store = store_free(h->store);
	ledger_free(w->seat.ledger);
	close(w->seat.channel);
	close(w->supervisor);
}

static void open_session(struct harness *h, struct worker *w, enum store_create create)
{
	const struct store_session_params params = {
		.name = "job", .job = "job-1", .dir = h->dir, .uid = getuid(), .create = create};

	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	harness_wait(h, STORE_OPENED);
	snprintf(w->database, sizeof(w->database), "%s", h->answer.database);
}

static void close_session(struct harness *h)
{
	assert_int_equal(store_session_close(h->session, 0), 0);
	harness_wait(h, STORE_CLOSED);
}

static int remove_session(struct harness *h, uid_t uid, const char *name)
{
	assert_int_equal(store_remove(h->store, uid, name, NULL, h), 0);
	harness_wait(h, STORE_DISPOSED);
	assert_ptr_equal(h->answer.owner, h);
	return h->answer.error;
}

/* Checks that the mark is told before the answer. */
static void keep_session(struct harness *h, struct worker *w, bool is_kept)
{
	assert_int_equal(store_keep(h->store, getuid(), NULL, w->database, is_kept, h), 0);
	harness_wait(h, STORE_MARKED);
	assert_string_equal(h->answer.database, w->database);
	assert_int_equal(h->answer.complete, is_kept);
	harness_wait(h, STORE_DISPOSED);
	assert_int_equal(h->answer.error, 0);
}

STORE_CASE(a_session_is_removed_for_its_owner_when_it_is_closed_and_not_kept)
{
	struct worker w;
	int r;

	begin(h, &w);
	open_session(h, &w, STORE_NEW);
	assert_int_equal(remove_session(h, getuid(), "job"), -ETXTBSY);
	close_session(h);
	keep_session(h, &w, true);
	assert_int_equal(remove_session(h, getuid(), "job"), -EROFS);
	keep_session(h, &w, false);
	assert_int_equal(remove_session(h, getuid() + 1, "job"), -ENOENT);
	assert_int_equal(remove_session(h, getuid(), "another"), -ENOENT);
	assert_int_equal(access(w.database, F_OK), 0);
	assert_int_equal(store_remove(h->store, getuid(), "job", NULL, h), 0);
	harness_wait(h, STORE_REMOVED);
	assert_true(h->answer.removed.was_requested);
	assert_string_equal(h->answer.database, w.database);
	harness_wait(h, STORE_DISPOSED);
	r = h->answer.error;
	assert_true(r == 0 || r == -EINPROGRESS);
	if (r == 0)
		assert_int_not_equal(access(w.database, F_OK), 0);
	end(h, &w);
}

STORE_CASE(a_session_that_is_kept_is_told_to_the_next_worker_of_its_tenant)
{
	struct worker w;

	begin(h, &w);
	open_session(h, &w, STORE_NEW);
	close_session(h);
	keep_session(h, &w, true);
	begin_store(h, &w);
	harness_wait(h, STORE_LEFT_CLOSED);
	assert_string_equal(h->answer.name, "job");
	assert_string_equal(h->answer.job, "job-1");
	assert_string_equal(h->answer.database, w.database);
	assert_non_null(strstr(h->answer.line, "0 dispatched"));
	harness_wait(h, STORE_MARKED);
	assert_true(h->answer.complete);
	harness_wait(h, STORE_LEFT_DONE);
	end(h, &w);
}

/* The files of the tenant are found by their folder, and the supervisor hears that the index has
 * changed. */
STORE_CASE(a_worker_without_an_index_finds_the_sessions_of_its_tenant)
{
	struct channel_message message;
	struct worker w;
	int fd = -1;

	begin(h, &w);
	open_session(h, &w, STORE_NEW);
	assert_int_equal(channel_receive(w.supervisor, &message, &fd), 1);
	assert_int_equal(message.kind, CHANNEL_INDEXED);
	close_session(h);
	h->store = store_free(h->store);
	assert_int_equal(unlink(w.index), 0);
	begin_store(h, &w);
	harness_wait(h, STORE_LEFT_CLOSED);
	assert_string_equal(h->answer.database, w.database);
	harness_wait(h, STORE_LEFT_DONE);
	assert_number(w.index, "SELECT count(*) FROM session", 1);
	end(h, &w);
}

STORE_CASE(a_store_without_an_index_removes_nothing)
{
	harness_open_session(h, STORE_NEW);
	assert_int_equal(remove_session(h, getuid(), "job"), -EOPNOTSUPP);
}

/* ---- what a session is told -------------------------------------------------------------------
 */

static void flush(struct harness *h)
{
	assert_int_equal(store_flush(h->store, STORE_EVERYBODY, h), 0);
	harness_wait(h, STORE_FLUSHED);
}

STORE_CASE(the_command_of_a_session_is_the_first_that_a_runner_tells)
{
	struct worker w;

	begin(h, &w);
	open_session(h, &w, STORE_NEW);
	assert_number(w.database, "SELECT command IS NULL FROM rtl_session", 1);
	assert_int_equal(store_session_command(h->session, "python train.py"), 0);
	flush(h);
	assert_text(w.database, "SELECT command FROM rtl_session", "python train.py");
	assert_text(
		w.database, "SELECT value FROM rtl_meta WHERE key = 'command'", "python train.py");
	assert_int_equal(store_session_command(h->session, "python eval.py"), 0);
	flush(h);
	assert_text(w.database, "SELECT command FROM rtl_session", "python train.py");
	close_session(h);
	end(h, &w);
}

STORE_CASE(what_a_session_was_told_is_told_to_the_next_collector_of_this_boot)
{
	struct worker w;

	begin(h, &w);
	open_session(h, &w, STORE_NEW);
	assert_int_equal(store_session_controls(h->session, "stop all"), 0);
	flush(h);
	begin_store(h, &w);
	harness_wait(h, STORE_LEFT_SESSION);
	assert_string_equal(h->answer.name, "job");
	{
		const struct store_session_params params = {.name = "job",
			.job = "job-1",
			.path = w.database,
			.uid = getuid(),
			.create = STORE_RESUME};

		assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	}
	harness_wait(h, STORE_CONTROLS);
	assert_string_equal(h->answer.text, "stop all");
	harness_wait(h, STORE_OPENED);
	close_session(h);
	end(h, &w);
}
