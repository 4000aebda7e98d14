/* SPDX-License-Identifier: MIT */
#include "collectord/loop/sessions/runner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "collectord/loop/sessions/access.h"
#include "collectord/loop/sessions/instance.h"
#include "collectord/loop/connections/peer.h"
#include "collectord/loop/connections/state.h"
#include "collectord/loop/sessions/session.h"
#include "collectord/store/store.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"

/* Number of live pids that a runner is told; further ones are only counted. */
#define RUNNER_PIDS_MAX 64u

static void unlink_runner(struct runner *runner)
{
	struct runner **at = &runner->session->runners;

	while (*at && *at != runner)
		at = &(*at)->next;
	if (*at) {
		*at = runner->next;
		runner->session->n_runners--;
	}
}

/* Number of runners whose command has not ended. */
static unsigned count_running(const struct session *session)
{
	unsigned n = 0;

	for (const struct runner *r = session->runners; r; r = r->next)
		n += !r->is_done;
	return n;
}

/*
 * The reply counts this runner and those whose command still runs. If there are others, this runner
 * may leave, because the last of them waits for the end and reports it.
 */
static void on_done(struct runner *runner, const Rtl__RunnerDone *done)
{
	struct session *session = runner->session;
	unsigned unseen = done->has_unseen ? done->unseen : 0;

	/*
	 * A repeated RunnerDone counts the same processes. If memory runs out, the count is lost.
	 */
	if (unseen && !runner->is_done)
		(void)store_session_unseen(session->store,
			unseen < RUNNER_UNSEEN_MAX ? unseen : RUNNER_UNSEEN_MAX, (uid_t)-1);
	runner->is_done = true;
	if (done->has_now && done->now)
		session->wants_now = true;
	/* The session keeps the first nonzero status of its commands. */
	if (done->has_status) {
		int status = WIFSIGNALED(done->status) ? 128 + WTERMSIG(done->status)
						       : WEXITSTATUS(done->status);

		if (session->exit_status <= 0)
			session->exit_status = status;
	}
	/*
	 * The processes of the command sent their frames before this message, so read those first.
	 */
	(void)session->server->calls->is_settled(session->server, session->uid, NULL);
	runner_send_status(runner, false, 1 + count_running(session));
	session_check(session);
}

static void runner_frame(struct peer *peer, const uint8_t *data, size_t bytes)
{
	struct runner *runner = peer->role_data;
	Rtl__Frame *frame = NULL;
	Rtl__RunnerDone done;
	int r = msg_unpack(&peer->server->arena, data, bytes, &frame);

	if (r < 0 || frame->body_case != RTL__FRAME__BODY_RUNNER_DONE) {
		peer_refuse(peer, "%s",
			r == -ENOMEM ? peer_no_memory : "a runner may only say RunnerDone");
		return;
	}
	if (!runner)
		return;		    /* its session is closed already */
	done = *frame->runner_done; /* a copy, because the arena is used again below */
	on_done(runner, &done);
}

static void runner_closed(struct peer *peer)
{
	struct runner *runner = peer->role_data;
	struct session *session;

	if (!runner)
		return;
	session = runner->session;
	session->is_widowed |= !runner->is_done;
	peer->role_data = NULL;
	unlink_runner(runner);
	free(runner);
	session_check(session);
}

static const struct peer_role runner_role = {.frame = runner_frame, .closed = runner_closed};

void runner_send_status(struct runner *runner, bool is_closed, unsigned runners)
{
	const struct session *session = runner->session;
	Rtl__RunnerStatus status = RTL__RUNNER_STATUS__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;
	int64_t pids[RUNNER_PIDS_MAX];

	msg_set_bytes(&status.has_session, &status.session, session->name);
	msg_set_bytes(&status.has_database, &status.database, session->database);
	msg_set_bytes(&status.has_state, &status.state, session->trouble ? session->trouble : "ok");
	MSG_SET(&status, opening, session->state == SESSION_OPENING);
	MSG_SET(&status, closed, is_closed);
	MSG_SET(&status, runners, runners);
	status.has_live_processes = true;
	for (const struct instance *i = session->instances; i; i = i->next) {
		if (!instance_is_live(i))
			continue;
		if (status.live_processes < RUNNER_PIDS_MAX)
			pids[status.n_live_pids++] = i->identity.pid;
		status.live_processes++;
	}
	status.live_pids = pids;
	frame.body_case = RTL__FRAME__BODY_RUNNER_STATUS;
	frame.runner_status = &status;
	peer_send(runner->peer, &frame);
}

/* Unlinks the first runner from @session and frees it. Returns its peer, which stays open. */
static struct peer *let_go(struct session *session)
{
	struct runner *runner = session->runners;
	struct peer *peer = runner->peer;

	unlink_runner(runner);
	peer->role_data = NULL;
	free(runner);
	return peer;
}

void runner_send_made(struct session *session)
{
	for (struct runner *r = session->runners, *next; r; r = next) {
		next = r->next; /* sending may free it */
		if (r->is_early)
			runner_send_status(r, false, session->n_runners);
	}
}

void runner_send_trouble(struct session *session)
{
	for (struct runner *r = session->runners, *next; r; r = next) {
		next = r->next; /* sending may free it */
		if (r->is_done)
			runner_send_status(r, false, 1 + count_running(session));
	}
}

void runner_send_closed_all(struct session *session)
{
	/* The number counts down, so that exactly one runner sees that it is the last. */
	while (session->runners) {
		const struct runner *first = session->runners;

		runner_send_status(session->runners, true, session->n_runners);
		/* Sending may have closed the connection and freed the runner. */
		if (session->runners == first)
			peer_finish(let_go(session));
	}
}

void runner_refuse_all(struct session *session, const char *text)
{
	while (session->runners)
		peer_refuse(let_go(session), "%s", text);
}

static void welcome(struct peer *peer, struct session *session, bool is_early)
{
	struct runner *runner = calloc(1, sizeof(*runner));

	if (!runner) {
		peer_close(peer);
		session_check(session);
		return;
	}
	*runner = (struct runner){
		.next = session->runners, .peer = peer, .session = session, .is_early = is_early};
	session->runners = runner;
	session->n_runners++;
	session->had_runner = true;
	session->wants_now = false; /* only the earlier runners asked for it */
	peer_greeted(peer, &runner_role, runner, REQUEST_BYTES_MAX);
	/* In all other cases the answer of the store triggers it. */
	if (session->state == SESSION_OPEN || (is_early && session->is_made))
		runner_send_status(runner, false, session->n_runners);
}

/*
 * True if @text consists of lines of three fields separated by tabs, with the first and the last
 * not empty. An empty text is valid.
 */
static bool are_rules(const char *text)
{
	while (*text) {
		size_t line = strcspn(text, "\n"), category = strcspn(text, "\t");
		size_t collective = category < line ? strcspn(text + category + 1, "\t") : 0;
		size_t fields = category + 1 + collective + 1;

		if (!text[line] || !category || fields >= line ||
			memchr(text + fields, '\t', line - fields))
			return false;
		text += line + 1;
	}
	return true;
}

void runner_greet(struct peer *peer, const Rtl__RunnerHello *hello)
{
	CLEANUP(free_p)
	char *categories =
		msg_string(hello->has_categories, &hello->categories, CATEGORIES_BYTES_MAX);
	CLEANUP(free_p) char *job = msg_string(hello->has_job, &hello->job, LABEL_BYTES_MAX);
	CLEANUP(free_p)
	char *command = msg_string(hello->has_command, &hello->command, COMMAND_BYTES_MAX);
	struct session *session = NULL;
	int r;

	if (!msg_common_version((int)hello->has_version_min, hello->version_min,
		    (int)hello->has_version_max, hello->version_max)) {
		peer_refuse(peer, "rtl speaks protocol %u-%u, this collector %u-%u",
			hello->version_min, hello->version_max, PROTO_VERSION_MIN,
			PROTO_VERSION_MAX);
		return;
	}
	if (!peer->pid) {
		peer_refuse(peer, "%s", access_no_pid);
		return;
	}
	if (!job || !*job) {
		peer_refuse(peer, "RunnerHello lacks its job");
		return;
	}
	if (categories && !are_rules(categories)) {
		peer_refuse(peer, "RunnerHello has a rule of categories that is none");
		return;
	}
	r = session_get(peer->server, peer->uid, job, command, &session);
	if (r == 0 && hello->has_again && hello->again) {
		session->is_older |= !session->was_left;
		session->was_left = true;
	}
	if (r == 0 && categories && *categories) {
		r = store_session_categories(session->store, categories);
		if (r < 0)
			session_check(session);
	}
	if (r == 0 && session->n_runners >= RUNNERS_PER_SESSION_MAX) {
		session_check(session);
		r = -EDQUOT;
	}
	if (r < 0)
		peer_refuse(peer, "%s",
			r == -EDQUOT ? "too many sessions or runners of this user" : strerror(-r));
	else
		welcome(peer, session, hello->has_early && hello->early);
}
