/* SPDX-License-Identifier: MIT */
/* The answers of several workers to one tool, as one. */
#include "collectord/loop/tools/merged_replies.h"

#include <errno.h>
#include <string.h>

#include "proto/base/limits.h"
#include "proto/wire/msg.h"
#include "tests/lib/test.h"

struct heard {
	char text[1024];
	bool ok;
	unsigned matched, reason;
	size_t sessions, rows, bytes;
	uint64_t first_start_ns;
	unsigned left_out;
};

static void hear(const Rtl__Frame *reply, void *data)
{
	struct heard *heard = data;
	const ProtobufCBinaryData *text;

	*heard = (struct heard){.bytes = msg_packed_bytes(reply)};
	if (reply->body_case == RTL__FRAME__BODY_CTL_REPLY) {
		heard->ok = reply->ctl_reply->ok;
		heard->matched = reply->ctl_reply->matched;
		heard->reason = reply->ctl_reply->reason;
		text = &reply->ctl_reply->text;
	} else {
		heard->sessions = reply->stat_reply->n_sessions;
		heard->rows = reply->stat_reply->n_rows;
		heard->left_out = reply->stat_reply->left_out;
		if (heard->sessions)
			heard->first_start_ns = reply->stat_reply->sessions[0]->start_realtime_ns;
		text = &reply->stat_reply->state;
	}
	memcpy(heard->text, text->data, text->len < 1023 ? text->len : 1023);
}

struct answer {
	Rtl__Frame frame;
	Rtl__CtlReply ctl;
	Rtl__StatReply stat;
};

static Rtl__Frame *ctl(struct answer *a, bool ok, unsigned reason, const char *text)
{
	a->frame = (Rtl__Frame)RTL__FRAME__INIT;
	a->ctl = (Rtl__CtlReply)RTL__CTL_REPLY__INIT;
	a->ctl.has_ok = true;
	a->ctl.ok = ok;
	a->ctl.has_reason = reason != 0;
	a->ctl.reason = reason;
	a->ctl.matched = ok;
	msg_set_bytes(&a->ctl.has_text, &a->ctl.text, text);
	a->frame.body_case = RTL__FRAME__BODY_CTL_REPLY;
	a->frame.ctl_reply = &a->ctl;
	return &a->frame;
}

static Rtl__Frame *stat_of(struct answer *a, const char *state)
{
	a->frame = (Rtl__Frame)RTL__FRAME__INIT;
	a->stat = (Rtl__StatReply)RTL__STAT_REPLY__INIT;
	msg_set_bytes(&a->stat.has_state, &a->stat.state, state);
	a->frame.body_case = RTL__FRAME__BODY_STAT_REPLY;
	a->frame.stat_reply = &a->stat;
	return &a->frame;
}

static struct heard merged(
	Rtl__Frame **replies, size_t count, const char *silent, const char *status)
{
	const struct merge merge = {
		.replies = replies, .count = count, .silent = silent, .status = status};
	struct heard heard;

	assert_int_equal(merge_replies(&merge, hear, &heard), 0);
	return heard;
}

TEST_CASE(of_refusals_the_one_that_knew_most_is_told)
{
	struct answer a, b, c;
	Rtl__Frame *replies[] = {ctl(&a, false, 1, "none"), ctl(&b, false, 3, "no process"),
		ctl(&c, false, 1, "none here")};
	struct heard heard = merged(replies, 3, NULL, NULL);

	assert_false(heard.ok);
	assert_int_equal(heard.reason, 3);
	assert_string_equal(heard.text, "no process");
}

TEST_CASE(what_was_done_is_told_of_all_and_what_was_not_meant_of_none)
{
	struct answer a, b, c;
	Rtl__Frame *replies[] = {ctl(&a, true, 0, "session a\n"), ctl(&b, false, 1, "none"),
		ctl(&c, true, 0, "session c\n")};
	struct heard heard = merged(replies, 3, NULL, NULL);

	assert_true(heard.ok);
	assert_int_equal(heard.matched, 2);
	assert_string_equal(heard.text, "session a\nsession c\n");
}

TEST_CASE(the_state_of_the_node_is_the_first_that_is_not_ok)
{
	struct answer a, b;
	Rtl__Frame *replies[] = {
		ctl(&a, true, 0, "ok\nsession a\n"), ctl(&b, true, 0, "degraded: b\nsession b\n")};

	assert_string_equal(merged(replies, 2, NULL, "node, ").text,
		"node, degraded: b\nsession a\nsession b\n");
}

TEST_CASE(a_worker_that_does_not_answer_is_named)
{
	struct answer a;
	Rtl__Frame *replies[] = {stat_of(&a, "ok"), NULL};
	struct heard heard = merged(replies, 2, "uid 7", NULL);
	const struct merge none = {.replies = replies + 1, .count = 1, .silent = "uid 7"};

	assert_non_null(strstr(heard.text, "uid 7"));
	assert_int_equal(merge_replies(&none, hear, &heard), -ENODATA);
}

/* 4 MiB are what a tool takes; the small one loses nothing to the great one. */
TEST_CASE(a_reply_stays_as_small_as_one_may_be)
{
	static Rtl__StatRow rows[2][40000];
	static Rtl__StatRow *lists[2][40000];
	static char exe[200];
	struct answer a, b;
	Rtl__SessionInfo infos[2] = {RTL__SESSION_INFO__INIT, RTL__SESSION_INFO__INIT};
	Rtl__SessionInfo *info_lists[2] = {&infos[0], &infos[1]};
	Rtl__Frame *replies[] = {stat_of(&a, "ok"), stat_of(&b, "ok")};
	struct heard heard;

	memset(exe, 'x', sizeof(exe) - 1);
	for (unsigned k = 0; k < 2; k++)
		for (unsigned i = 0; i < 40000; i++) {
			rows[k][i] = (Rtl__StatRow)RTL__STAT_ROW__INIT;
			rows[k][i].has_pid = true;
			rows[k][i].pid = i;
			msg_set_bytes(&rows[k][i].has_exe, &rows[k][i].exe, exe);
			lists[k][i] = &rows[k][i];
		}
	a.stat.rows = lists[0];
	a.stat.n_rows = 40000;
	b.stat.rows = lists[1];
	b.stat.n_rows = 100;
	for (unsigned k = 0; k < 2; k++) {
		infos[k].has_start_realtime_ns = true;
		infos[k].start_realtime_ns = k + 1;
	}
	a.stat.sessions = &info_lists[0];
	b.stat.sessions = &info_lists[1];
	a.stat.n_sessions = b.stat.n_sessions = 1;
	heard = merged(replies, 2, NULL, NULL);
	assert_true(heard.bytes <= REPLY_BYTES_MAX);
	assert_true(heard.rows > 10000);
	assert_int_equal(heard.rows + heard.left_out, 40100);
	assert_int_equal(heard.sessions, 2);
	assert_int_equal(heard.first_start_ns, 2); /* the newest first */
}
