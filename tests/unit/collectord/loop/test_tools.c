/* SPDX-License-Identifier: MIT */
/* What the collector answers to rtl stat, ls and ctl, and which users see it. */
#include "tests/unit/collectord/loop/harness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collectord/channel/channel.h"
#include "collectord/loop/sessions/access.h"
#include "collectord/loop/sessions/session.h"
#include "collectord/loop/tools/kept_sessions.h"
#include "collectord/loop/tools/overview.h"
#include "collectord/channel/seat.h"
#include "collectord/loop/connections/peer.h"
#include "collectord/loop/connections/state.h"
#include "collectord/loop/connections/worker.h"
#include "proto/base/cleanup.h"

static const Rtl__StatReply *ask_stat(
	struct harness *h, struct fake_shim *tool, const char *session)
{
	Rtl__StatRequest request = RTL__STAT_REQUEST__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	msg_set_bytes(&request.has_session, &request.session, session);
	frame.body_case = RTL__FRAME__BODY_STAT_REQUEST;
	frame.stat_request = &request;
	assert_int_equal(fake_send(tool->fd, &frame), 0);
	return harness_expect(h, tool, RTL__FRAME__BODY_STAT_REPLY)->stat_reply;
}

static void send_ctl(struct fake_shim *tool, const char *verb)
{
	Rtl__CtlRequest request = RTL__CTL_REQUEST__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	msg_set_bytes(&request.has_verb, &request.verb, verb);
	frame.body_case = RTL__FRAME__BODY_CTL_REQUEST;
	frame.ctl_request = &request;
	assert_int_equal(fake_send(tool->fd, &frame), 0);
}

static bool ask_ctl(struct harness *h, struct fake_shim *tool, const char *verb)
{
	send_ctl(tool, verb);
	return harness_expect(h, tool, RTL__FRAME__BODY_CTL_REPLY)->ctl_reply->ok;
}

static bool text_is(const ProtobufCBinaryData *got, const char *want)
{
	return got->len == strlen(want) && !memcmp(got->data, want, got->len);
}

static bool has_no_peer_but_one(void *data)
{
	return ((struct server *)data)->n_peers == 1;
}

SERVER_CASE(stat_shows_processes_and_their_state)
{
	const Rtl__StatReply *reply;
	struct fake_shim tool;
	struct fake_shim shim;

	harness_shim(h, &shim, "job");
	harness_connect(h, &tool);
	reply = ask_stat(h, &tool, NULL);
	assert_int_equal(reply->n_sessions, 1);
	/* Not stored yet, as far as this store says. */
	assert_int_equal(reply->sessions[0]->live_processes, 1);
	assert_int_equal(reply->sessions[0]->processes, 1);
	assert_int_equal(reply->n_rows, 1);
	assert_true(text_is(&reply->rows[0]->state, "connected"));
	assert_int_equal(reply->rows[0]->pid, shim.child);
	assert_int_equal(reply->rows[0]->stored, 7);
	assert_true(text_is(&reply->state, "ok"));
	fake_shim_hang_up(&shim);
	harness_wait(h, has_no_peer_but_one, h->server);
	reply = ask_stat(h, &tool, "job");
	assert_true(text_is(&reply->rows[0]->state, "away"));
	reply = ask_stat(h, &tool, "no such session");
	assert_int_equal(reply->n_sessions, 0);
	fake_shim_done(&tool);
	fake_shim_done(&shim);
}

static bool is_freed(void *data)
{
	return ((struct store_session *)data)->is_freed;
}

SERVER_CASE(closed_sessions_are_listed_but_not_in_stat)
{
	Rtl__SessionsRequest request = RTL__SESSIONS_REQUEST__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;
	const Rtl__SessionsReply *sessions;
	struct fake_shim tool;
	struct fake_shim shim;

	harness_shim(h, &shim, "job");
	fake_shim_done(&shim);
	harness_wait(h, is_freed, fake_store.sessions);
	harness_connect(h, &tool);
	assert_int_equal(ask_stat(h, &tool, NULL)->n_sessions, 0);
	frame.body_case = RTL__FRAME__BODY_SESSIONS_REQUEST;
	frame.sessions_request = &request;
	fake_send(tool.fd, &frame);
	sessions = harness_expect(h, &tool, RTL__FRAME__BODY_SESSIONS_REPLY)->sessions_reply;
	assert_int_equal(sessions->n_sessions, 1);
	assert_true(sessions->sessions[0]->closed);
	assert_true(text_is(&sessions->sessions[0]->job, "job"));
	fake_shim_done(&tool);
}

static void take_past(struct harness *h, const char *name)
{
	struct store_answer answer = {
		.kind = STORE_LEFT_CLOSED,
		.name = strdup(name),
		.job = strdup("job"),
		.database = strdup("/store/past.db"),
		.left = {.uid = geteuid()},
	};

	session_take_closed(h->server, &answer);
	store_answer_done(&answer);
}

SERVER_CASE(what_closed_before_the_service_started_stands_behind_the_rest_and_has_its_own_name)
{
	const Rtl__StatReply *reply;
	struct fake_shim tool;
	struct fake_shim shim;

	harness_shim(h, &shim, "job");
	take_past(h, "job-old");
	take_past(h, "job-older");
	assert_string_equal(h->server->sessions->job, "job");
	assert_int_not_equal(h->server->sessions->state, SESSION_CLOSED);
	assert_string_equal(h->server->sessions->next->name, "job-older");
	harness_connect(h, &tool);
	reply = ask_stat(h, &tool, "job");
	assert_int_equal(reply->n_sessions, 1);
	assert_false(reply->sessions[0]->closed);
	reply = ask_stat(h, &tool, "job-old");
	assert_int_equal(reply->n_sessions, 1);
	assert_true(reply->sessions[0]->closed);
	assert_true(text_is(&reply->sessions[0]->session, "job-old"));
	assert_int_equal(ask_stat(h, &tool, NULL)->n_sessions, 1);
	fake_shim_done(&tool);
	fake_shim_done(&shim);
}

SERVER_CASE(ctl_knows_status_and_flush_only)
{
	struct fake_shim tool;

	harness_connect(h, &tool);
	assert_true(ask_ctl(h, &tool, "status"));
	assert_true(ask_ctl(h, &tool, "flush"));
	assert_true(ask_ctl(h, &tool, "flush"));
	assert_false(ask_ctl(h, &tool, "reboot"));
	fake_shim_done(&tool);
}

static const Rtl__CtlReply *ask_to_remove(
	struct harness *h, struct fake_shim *tool, const char *name, const char *database)
{
	Rtl__CtlRequest request = RTL__CTL_REQUEST__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	frame.body_case = RTL__FRAME__BODY_CTL_REQUEST;
	frame.ctl_request = &request;
	msg_set_bytes(&request.has_verb, &request.verb, "remove");
	if (name)
		msg_set_bytes(&request.has_session, &request.session, name);
	if (database)
		msg_set_bytes(&request.has_database, &request.database, database);
	fake_send(tool->fd, &frame);
	return harness_expect(h, tool, RTL__FRAME__BODY_CTL_REPLY)->ctl_reply;
}

SERVER_CASE(a_closed_session_is_removed_for_the_uid_that_asks_and_an_open_one_is_not)
{
	const Rtl__CtlReply *reply;
	struct fake_shim tool, shim;

	harness_shim(h, &shim, "job");
	harness_connect(h, &tool);
	reply = ask_to_remove(h, &tool, fake_store.sessions->name, NULL);
	assert_false(reply->ok);
	assert_non_null(strstr((const char *)reply->text.data, "it is live"));
	reply = ask_to_remove(h, &tool, NULL, fake_store.sessions->path);
	assert_false(reply->ok);
	assert_string_equal(fake_store.disposal_name, "");
	reply = ask_to_remove(h, &tool, "another", NULL);
	assert_true(reply->ok && reply->matched == 1);
	assert_string_equal(fake_store.disposal_name, "another");
	assert_int_equal(fake_store.disposal_uid, getuid());
	fake_store.disposal_error = -ENOENT;
	reply = ask_to_remove(h, &tool, NULL, "/store/1/no.db");
	assert_false(reply->ok || reply->matched);
	assert_int_equal(reply->reason, 1);
	assert_string_equal(fake_store.disposal_name, "/store/1/no.db");
	fake_store.disposal_error = -EROFS;
	reply = ask_to_remove(h, &tool, "kept", NULL);
	assert_false(reply->ok);
	assert_true(reply->reason > 1);
	/* Neither: refused, and nothing asked of the store. */
	assert_false(ask_to_remove(h, &tool, NULL, NULL)->ok);
	assert_string_equal(fake_store.disposal_name, "kept");
	fake_shim_done(&tool);
	fake_shim_done(&shim);
}

SERVER_CASE(a_flush_that_failed_says_so)
{
	struct fake_shim tool;

	harness_connect(h, &tool);
	fake_store.flush_error = -ENOSPC;
	assert_false(ask_ctl(h, &tool, "flush"));
	fake_store.flush_error = 0;
	assert_true(ask_ctl(h, &tool, "flush"));
	/* A user makes only its own sessions commit. */
	assert_int_equal(fake_store.flush_uid, getuid() ? getuid() : STORE_EVERYBODY);
	fake_store.flush_error = -ENOSPC;
	server_stop(h->server, 0);
	harness_turn(h);
	assert_int_equal(h->server->exit_code, 1);
	fake_shim_done(&tool);
}

/* One that is well again says nothing of another. */
SERVER_CASE(each_session_has_its_own_trouble)
{
	struct fake_shim one, two;
	struct peer root = {.fd = -1, .uid = 0}, stranger = {.fd = -1, .uid = geteuid() + 1};
	char text[OVERVIEW_STATE_BYTES];
	void *first, *second;

	harness_shim(h, &one, "one");
	first = fake_store.sessions->owner;
	harness_shim(h, &two, "two");
	second = fake_store.sessions->owner;
	assert_ptr_not_equal(first, second);
	fake_store_answer(h->store, STORE_DEGRADED, first, 0, "the disk is full");
	fake_store_answer(h->store, STORE_DEGRADED, second, 0, "Input/output error");
	harness_turn(h);
	assert_non_null(strstr(overview_state(h->server, &root, text), "(and 1 more)"));
	h->server->see_all_gid = (gid_t)-1;
	assert_string_equal(overview_state(h->server, &stranger, text), "ok");
	fake_store_answer(h->store, STORE_RECOVERED, second, 0, NULL);
	harness_turn(h);
	assert_non_null(strstr(overview_state(h->server, &root, text), "the disk is full"));
	assert_null(strstr(text, "more"));
	fake_store_answer(h->store, STORE_RECOVERED, first, 0, NULL);
	harness_turn(h);
	assert_string_equal(overview_state(h->server, &root, text), "ok");
	fake_shim_done(&one);
	fake_shim_done(&two);
}

SERVER_CASE(a_tool_may_go_before_its_flush_is_done)
{
	struct fake_shim tool;
	struct fake_shim other;

	harness_connect(h, &tool);
	send_ctl(&tool, "flush");
	fake_shim_done(&tool);
	harness_connect(h, &other);
	assert_true(ask_ctl(h, &other, "status"));
	fake_shim_done(&other);
}

SERVER_CASE(a_tool_may_not_turn_into_a_shim)
{
	struct fake_shim tool;

	harness_connect(h, &tool);
	assert_true(ask_ctl(h, &tool, "status"));
	fake_shim_send_hello(&tool, 1);
	harness_expect_refusal(h, &tool, "only a first frame may carry");
	assert_int_equal(fake_store.n_processes, 0);
	fake_shim_done(&tool);
}

SERVER_CASE(a_request_of_a_version_that_is_not_ours_is_refused)
{
	Rtl__StatRequest request = RTL__STAT_REQUEST__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;
	struct fake_shim tool;

	harness_connect(h, &tool);
	request.has_version_min = request.has_version_max = true;
	request.version_min = request.version_max = 99;
	frame.body_case = RTL__FRAME__BODY_STAT_REQUEST;
	frame.stat_request = &request;
	fake_send(tool.fd, &frame);
	harness_expect_refusal(h, &tool, "protocol");
	fake_shim_done(&tool);
}

/* Takes the mark of a session that its owner keeps, or does not keep any more. */
static void mark(struct server *server, uid_t uid, const char *database, bool is_kept)
{
	struct store_answer marked = {.kind = STORE_MARKED,
		.complete = is_kept,
		.database = database ? strdup(database) : NULL,
		.left = {.uid = uid}};

	kept_sessions_take(server, &marked);
	free(marked.database);
}

static size_t count_kept(struct server *server, struct peer *peer, size_t bytes)
{
	Rtl__SessionsReply reply = RTL__SESSIONS_REPLY__INIT;
	size_t count;

	assert_int_equal(kept_sessions_list(server, peer, bytes, &reply), 0);
	count = reply.n_kept;
	free(reply.kept);
	return count;
}

SERVER_CASE(kept_sessions_are_listed_for_their_owner_while_they_are_kept)
{
	struct peer root = {.fd = -1, .uid = 0, .known = CHANNEL_PEER_KNOWN | CHANNEL_PEER_OF_HOST};
	struct peer owner = {.fd = -1, .uid = 1001, .known = CHANNEL_PEER_KNOWN};

	h->server->see_all_gid = (gid_t)-1;
	mark(h->server, 1001, "/store/1001/a.db", true);
	mark(h->server, 1002, "/store/1002/b.db", true);
	mark(h->server, 1001, "/store/1001/a.db", true); /* once more */
	mark(h->server, 1001, NULL, true);
	assert_int_equal(count_kept(h->server, &root, 1000), 2);
	assert_int_equal(count_kept(h->server, &owner, 1000), 1);
	/* Room for one of them. */
	assert_int_equal(count_kept(h->server, &root, 30), 1);
	mark(h->server, 1001, "/store/1001/a.db", false);
	assert_int_equal(count_kept(h->server, &owner, 1000), 0);
	kept_sessions_forget(h->server, "/store/1002/c.db");
	assert_int_equal(count_kept(h->server, &root, 1000), 1);
	kept_sessions_forget(h->server, "/store/1002/b.db");
	assert_int_equal(count_kept(h->server, &root, 1000), 0);
	mark(h->server, 1001, "/store/1001/a.db", true); /* freed with the server */
}

SERVER_CASE(a_session_that_is_held_or_over_its_quota_is_said_unless_another_fails)
{
	struct peer owner = {.fd = -1, .uid = geteuid()};
	struct fake_shim one, two;
	char text[OVERVIEW_STATE_BYTES];
	void *first, *second;

	harness_shim(h, &one, "one");
	first = fake_store.sessions->owner;
	harness_shim(h, &two, "two");
	second = fake_store.sessions->owner;
	fake_store_answer(h->store, STORE_HELD, first, 0, "a reader makes its log grow");
	harness_turn(h);
	assert_non_null(
		strstr(overview_state(h->server, &owner, text), ": a reader makes its log grow"));
	fake_store_answer(h->store, STORE_OVER_QUOTA, second, 0, "over its quota");
	harness_turn(h);
	assert_non_null(strstr(overview_state(h->server, &owner, text), ": over its quota"));
	fake_store_answer(h->store, STORE_DEGRADED, first, 0, "the disk is full");
	harness_turn(h);
	assert_non_null(strstr(overview_state(h->server, &owner, text), "degraded: "));
	fake_store_answer(h->store, STORE_RECOVERED, first, 0, NULL);
	fake_store_answer(h->store, STORE_WITHIN_QUOTA, second, 0, NULL);
	fake_store_answer(h->store, STORE_LET_GO, first, 0, NULL);
	harness_turn(h);
	assert_string_equal(overview_state(h->server, &owner, text), "ok");
	fake_shim_done(&one);
	fake_shim_done(&two);
}

TEST_CASE(a_worker_knows_what_it_serves_and_whether_it_was_watched)
{
	struct seat seat = {.owner = 1000, .since_realtime_ns = 50, .supervisor = 4711};
	struct server server = {.seat = NULL};
	char name[CONTAINER_NAME_BYTES];

	assert_int_equal(worker_pid(&server), getpid());
	assert_null(worker_container(&server, name));
	server.seat = &seat;
	assert_int_equal(worker_pid(&server), 4711);
	assert_null(worker_container(&server, name)); /* a user's */
	assert_true(worker_has_watched_since(&server, 50));
	assert_false(worker_has_watched_since(&server, 49));
	seat.was_refused = true;
	assert_false(worker_has_watched_since(&server, 50));
}

/* Credentials are those of connect(): no other user is needed to ask what one would see. */
SERVER_CASE(other_users_see_nothing_unless_root_or_of_the_group)
{
	const unsigned known = CHANNEL_PEER_KNOWN | CHANNEL_PEER_OF_HOST;
	struct peer peer = {.uid = 1001, .gid = 1001, .known = known};
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	peer.fd = pair[0];
	h->server->see_all_gid = 4242;
	assert_true(access_may_see(h->server, &peer, 1001));
	assert_false(access_may_see(h->server, &peer, 1002));
	peer = (struct peer){.fd = pair[0], .uid = 1001, .gid = 4242, .known = known};
	assert_true(access_may_see(h->server, &peer, 1002));
	peer = (struct peer){.fd = pair[0], .uid = 0, .gid = 1001, .known = known};
	assert_true(access_may_see(h->server, &peer, 1002));
	/* In a container. */
	peer = (struct peer){.fd = pair[0], .uid = 0, .gid = 4242, .known = CHANNEL_PEER_KNOWN};
	assert_true(access_may_see(h->server, &peer, 0));
	assert_false(access_may_see(h->server, &peer, 1002));
	close(pair[0]);
	close(pair[1]);
}
