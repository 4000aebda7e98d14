/* SPDX-License-Identifier: MIT */
/* rtl ctl start, stop and status: what the processes of a session are told, and what the tool is.
 */
#include "tests/unit/collectord/loop/harness.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collectord/loop/connections/state.h"
#include "collectord/loop/sessions/instance.h"
#include "collectord/loop/sessions/session.h"
#include "proto/names/control.h"

#define DURATION_NS 10000000000u

static void can_be_told(Rtl__Hello *hello, void *data)
{
	(void)data;
	hello->has_has_control = hello->has_control = true;
}

static void is_too_old(Rtl__Hello *hello, void *data)
{
	(void)data;
	hello->has_has_control = hello->has_control = false;
}

static void connect_rank(struct harness *h, struct fake_shim *shim, int64_t rank,
	void (*edit_hello)(Rtl__Hello *hello, void *data))
{
	assert_int_equal(fake_shim_init(shim, "job"), 0);
	shim->rank = rank;
	shim->edit_hello = edit_hello;
	assert_int_equal(fake_shim_connect_child(shim, h->socket), 0);
	assert_int_equal(fake_shim_send_hello(shim, 1), 0);
	(void)harness_expect(h, shim, RTL__FRAME__BODY_WELCOME);
}

/* A request for all sessions and ranks where @session and @ranks are NULL. */
static void ask(struct fake_shim *tool, const char *verb, const char *session, const char *ranks,
	uint64_t duration_ns)
{
	Rtl__CtlRequest request = RTL__CTL_REQUEST__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	msg_set_bytes(&request.has_verb, &request.verb, verb);
	if (session)
		msg_set_bytes(&request.has_session, &request.session, session);
	if (ranks)
		msg_set_bytes(&request.has_ranks, &request.ranks, ranks);
	request.has_duration_ns = duration_ns != 0;
	request.duration_ns = duration_ns;
	frame.body_case = RTL__FRAME__BODY_CTL_REQUEST;
	frame.ctl_request = &request;
	assert_int_equal(fake_send(tool->fd, &frame), 0);
}

static void expect_reply(struct harness *h, struct fake_shim *tool, bool is_ok, const char *text)
{
	const Rtl__CtlReply *reply = harness_expect(h, tool, RTL__FRAME__BODY_CTL_REPLY)->ctl_reply;
	char found[512];

	snprintf(found, sizeof(found), "%.*s", (int)reply->text.len, (char *)reply->text.data);
	if (reply->ok != is_ok || !strstr(found, text))
		fail_msg("%s: '%s', not '%s'", reply->ok ? "done" : "refused", found, text);
}

static void expect_none(struct harness *h, struct fake_shim *peer)
{
	Rtl__Frame *frame;

	harness_turn(h);
	assert_int_equal(fake_receive(peer, 0, &frame), -ETIMEDOUT);
}

/* What @shim is told, as it was sent. */
static Rtl__Control expect_control(struct harness *h, struct fake_shim *shim)
{
	return *harness_expect(h, shim, RTL__FRAME__BODY_CONTROL)->control;
}

/* @shim says that it heard @seq, and why it does not record. */
static void answer(struct fake_shim *shim, uint64_t seq, uint32_t closed, bool is_settled)
{
	Rtl__ControlDone done = RTL__CONTROL_DONE__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	done.has_seq = done.has_closed = done.has_settles = done.settles = true;
	done.seq = seq;
	done.closed = closed;
	done.has_settled_frame = is_settled;
	frame.body_case = RTL__FRAME__BODY_CONTROL_DONE;
	frame.control_done = &done;
	assert_int_equal(fake_send(shim->fd, &frame), 0);
}

SERVER_CASE(a_stop_is_answered_when_the_process_is_dormant_and_all_it_recorded_is_stored)
{
	struct fake_shim shim, tool;
	Rtl__Control control;

	connect_rank(h, &shim, 3, can_be_told);
	harness_connect(h, &tool);
	ask(&tool, "stop", NULL, NULL, 0);
	control = expect_control(h, &shim);
	assert_true(control.seq && control.has_record);
	assert_false(control.record || control.has_duration_ns);
	expect_none(h, &tool);
	/* Another request of this connection waits for no answer of the first. */
	ask(&tool, "start", NULL, NULL, 0);
	expect_reply(h, &tool, false, "a request of this connection is under way");
	answer(&shim, control.seq, CONTROL_DORMANT, false);
	expect_none(h, &tool);
	answer(&shim, control.seq, CONTROL_DORMANT, true);
	expect_reply(h, &tool, true, ": 1 of 1 processes are dormant\n");
	ask(&tool, "status", fake_store.sessions->name, NULL, 0);
	expect_reply(h, &tool, true, ": dormant\n");
	fake_shim_done(&tool);
	fake_shim_done(&shim);
}

SERVER_CASE(a_start_for_a_time_is_told_to_the_ranks_that_are_meant)
{
	struct fake_shim first, second, tool;
	Rtl__Control control;

	connect_rank(h, &first, 0, can_be_told);
	connect_rank(h, &second, 1, can_be_told);
	harness_connect(h, &tool);
	ask(&tool, "start", fake_store.sessions->name, "1-2", DURATION_NS);
	control = expect_control(h, &second);
	assert_true(control.record && control.has_duration_ns);
	assert_in_range(control.duration_ns, 1, DURATION_NS);
	expect_none(h, &first);
	answer(&second, control.seq, CONTROL_STEPS, true);
	expect_reply(h, &tool, true,
		": 0 of 1 processes record, 1 wait for their time, steps or program\n");
	ask(&tool, "start", NULL, NULL, 0);
	answer(&first, expect_control(h, &first).seq, 0, false);
	answer(&second, expect_control(h, &second).seq, 0, false);
	expect_reply(h, &tool, true, ": 2 of 2 processes record\n");
	fake_shim_done(&tool);
	fake_shim_done(&second);
	fake_shim_done(&first);
}

SERVER_CASE(a_process_that_comes_later_is_told_what_its_session_was)
{
	struct fake_shim first, second, tool;
	Rtl__Control stop, told;

	connect_rank(h, &first, 0, can_be_told);
	harness_connect(h, &tool);
	ask(&tool, "stop", NULL, NULL, 0);
	stop = expect_control(h, &first);
	connect_rank(h, &second, 1, can_be_told);
	told = expect_control(h, &second);
	assert_true(told.seq == stop.seq && !told.record);
	answer(&first, stop.seq, CONTROL_DORMANT, true);
	answer(&second, stop.seq, CONTROL_DORMANT, true);
	expect_reply(h, &tool, true, ": 2 of 2 processes are dormant\n");
	fake_shim_done(&tool);
	fake_shim_done(&second);
	fake_shim_done(&first);
}

static bool has_dormant(void *server)
{
	return ((struct server *)server)->sessions->instances->control.closed == CONTROL_DORMANT;
}

SERVER_CASE(a_tool_may_go_before_the_processes_have_answered)
{
	struct fake_shim shim, tool, other;
	Rtl__Control control;

	connect_rank(h, &shim, 0, can_be_told);
	harness_connect(h, &tool);
	ask(&tool, "stop", NULL, NULL, 0);
	control = expect_control(h, &shim);
	fake_shim_done(&tool);
	harness_connect(h, &other);
	answer(&shim, control.seq, CONTROL_DORMANT, true);
	harness_wait(h, has_dormant, h->server);
	ask(&other, "status", NULL, "0", 0);
	expect_reply(h, &other, true, ": dormant\n");
	fake_shim_done(&other);
	fake_shim_done(&shim);
}

static bool has_left_out(void *server)
{
	const struct instance *i = ((struct server *)server)->sessions->instances;

	for (; i; i = i->next)
		if (i->control.closed == CONTROL_RANK_OUT)
			return true;
	return false;
}

SERVER_CASE(a_request_that_finds_no_process_says_what_was_missing)
{
	struct fake_shim old, out, tool;

	harness_connect(h, &tool);
	ask(&tool, "start", NULL, NULL, 0);
	expect_reply(h, &tool, false, "no session of yours is open");
	ask(&tool, "stop", "another", NULL, 0);
	expect_reply(h, &tool, false, "no session another that you may see");
	ask(&tool, "start", NULL, "3-", 0);
	expect_reply(h, &tool, false, "the ranks are not a list like 0,3-5");
	ask(&tool, "status", "another", NULL, 0);
	expect_reply(h, &tool, false, "no session another that you may see");
	connect_rank(h, &old, 0, is_too_old);
	ask(&tool, "start", NULL, NULL, 0);
	expect_reply(
		h, &tool, false, "all 1 processes meant have a shim that is too old to be told");
	ask(&tool, "status", NULL, NULL, 0);
	expect_reply(h, &tool, true, "records, its shim is too old to be told\n");
	ask(&tool, "start", NULL, "7", 0);
	expect_reply(h, &tool, false, "none of the 1 processes of session ");
	ask(&tool, "status", NULL, "7", 0);
	expect_reply(h, &tool, false, "has rank 7");
	connect_rank(h, &out, 1, can_be_told);
	answer(&out, 0, CONTROL_RANK_OUT, false);
	harness_wait(h, has_left_out, h->server);
	ask(&tool, "status", NULL, "1", 0);
	expect_reply(h, &tool, true, "left out by --ranks\n");
	ask(&tool, "start", NULL, "1", 0);
	expect_reply(h, &tool, false, "all 1 processes meant were left out by --ranks");
	fake_shim_done(&out);
	fake_shim_done(&old);
	fake_shim_done(&tool);
}
