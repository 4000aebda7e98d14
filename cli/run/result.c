// SPDX-License-Identifier: MIT
#include "cli/run/run.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/run/child/child.h"
#include "cli/run/child/gpu_watch.h"
#include "cli/run/child/run_orphans.h"
#include "cli/run/collector/collector.h"
#include "cli/run/collector/hello.h"
#include "cli/run/collector/private_collector.h"
#include "cli/run/collector/publish.h"
#include "cli/run/collector/supervisor.h"
#include "cli/run/job/options.h"
#include "cli/run/job/run_export.h"
#include "cli/run/job/signals.h"
#include "cli/run/job/why.h"
#include "cli/base/color.h"
#include "cli/collector/places.h"
#include "cli/base/command.h"
#include "cli/base/memory.h"
#include "cli/trace/kernels/kernel_totals.h"
#include "cli/database/query.h"
#include "cli/reason/reason.h"
#include "cli/base/message.h"
#include "cli/database/session/verdict.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"

/* Collectors in a row that may die before they have closed the session. */
#define COLLECTORS_MAX 10u
/* Interval between two checks whether a dead collector has a successor. */
#define START_STEP_MS  100
/*
 * Interval between two checks whether it is alive while our connection may still be in its queue.
 */
#define LIFE_STEP_MS   50
/* Result of greet_again(): the session is closed. */
#define DONE_ALREADY   1
/* Further processes that outlive the command are counted, not named. */
#define NAMED_MAX      8

static_assert(RUN_WHY_BYTES >= QUERY_ERROR_BYTES, "query_open() fills it");

enum outcome {
	OUTCOME_CLOSED,	    /* the session is closed and we are its last runner */
	OUTCOME_NOT_LAST,   /* others of the launch have it open and print the last line */
	OUTCOME_UNFINISHED, /* the collector is gone or silent, or the user interrupted the wait */
};

struct ending {
	struct run_collector *collector;
	const struct run_options *options;
	const struct run_child *child;
	uint64_t deadline_ns;	 /* CLOCK_MONOTONIC: for processes that outlive the command */
	pid_t orphan[NAMED_MAX]; /* processes that were still running then */
	size_t orphans;
	bool is_hurried;	 /* the user wanted to end while the collector was silent */
	bool has_log;		 /* there is a log with rows beside the database */
	char why[RUN_WHY_BYTES]; /* the reason for OUTCOME_UNFINISHED */
	bool has_said_trouble;
};

static uint64_t in_ms(uint64_t ms)
{
	return clock_monotonic_ns() + ms * 1000000u;
}

/*
 * Receives one frame before @deadline_ns. Returns like client_receive(); -EINTR if the user wants
 * to end; -ECONNRESET also if the collector died before it had accepted our connection.
 */
static int await(struct ending *e, uint64_t deadline_ns, Rtl__Frame **ret)
{
	struct run_collector *c = e->collector;

	for (;;) {
		struct pollfd entries[3] = {{.fd = c->client.fd, .events = POLLIN},
			{.fd = e->child->signal_fd, .events = POLLIN},
			{.fd = run_keeper_notify_fd(c), .events = POLLIN}};
		int r = client_receive(&c->client, 0, ret);
		uint64_t now_ns = clock_monotonic_ns();

		if (r != -ETIMEDOUT || now_ns >= deadline_ns)
			return r;
		if (!run_keeper_lives(c))
			return -ECONNRESET;
		(void)poll(entries, 3,
			deadline_ns - now_ns < LIFE_STEP_MS * 1000000ull ? 1 : LIFE_STEP_MS);
		/* Handled while the collector waits for its disk, rather than when it is done. */
		if (entries[2].revents)
			run_keeper_receive(c);
		if (run_child_is_end_wanted(e->child))
			return -EINTR;
	}
}

/*
 * Waits for the answer of the collector's loop, which waits for no disk. If we are asked to end
 * while the collector is silent, we wait once more, briefly, so that a collector that is only busy
 * can close the session.
 */
static int await_answer(struct ending *e, uint64_t deadline_ns, Rtl__Frame **ret)
{
	int r = await(e, e->is_hurried ? in_ms(RUN_HURRY_MS) : deadline_ns, ret);

	if (r != -EINTR || e->is_hurried)
		return r;
	e->is_hurried = true;
	e->deadline_ns = clock_monotonic_ns();
	return await(e, in_ms(RUN_HURRY_MS), ret);
}

/*
 * The answer is a status: whether the session was closed before (the connection ends then) or not.
 */
static int send_done(struct ending *e, bool now, Rtl__RunnerStatus **ret)
{
	Rtl__RunnerDone done = RTL__RUNNER_DONE__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT, *reply;
	int r, sent;

	/* The socket still exists, but no process would answer. */
	if (!run_keeper_is_up(e->collector))
		return -ENOTCONN;
	done.has_now = now;
	done.now = now;
	done.has_status = true;
	done.status = e->child->status;
	done.has_unseen = e->child->gpu_watch.unseen != 0;
	done.unseen = e->child->gpu_watch.unseen;
	frame.body_case = RTL__FRAME__BODY_RUNNER_DONE;
	frame.runner_done = &done;
	sent = client_send(&e->collector->client, &frame);
	r = await_answer(e, sent < 0 ? 0 : in_ms(CLIENT_REPLY_MS), &reply);
	/* A refusal that was sent before our message arrived explains the broken pipe. */
	if (sent < 0 && r != -ECONNABORTED)
		return sent;
	if (r < 0)
		return r;
	if (reply->body_case != RTL__FRAME__BODY_RUNNER_STATUS)
		return -EBADMSG;
	*ret = reply->runner_status;
	return 0;
}

/*
 * The service died after it had stored the end, and before it had told us: its successor would not
 * know the session and would begin another one for us. A file that cannot be read here counts as
 * not closed.
 */
static bool is_closed_in_file(const struct run_collector *c)
{
	CLEANUP(query_free_p) struct query *query = NULL;
	CLEANUP(verdict_free_p) struct verdict *verdict = NULL;
	char why[QUERY_ERROR_BYTES];

	return !c->is_private && query_open(c->database, why, &query) == 0 &&
	       verdict_new(query, NULL, &verdict) == 0 && !verdict->counts.live;
}

/* Returns 0, DONE_ALREADY if there is nothing left to do, or -errno. */
static int greet_again(struct ending *e)
{
	struct run_collector *c = e->collector;
	Rtl__Frame *reply;
	int r;

	client_close(&c->client);
	r = client_connect(&c->client, c->socket);
	if (r == 0 && is_closed_in_file(c))
		return DONE_ALREADY;
	if (r == 0)
		r = run_collector_say_hello(c, false);
	/* A collector that hung up may have sent the reason before that. */
	if (r == 0 || r == -EPIPE || r == -ECONNRESET)
		r = await_answer(e, in_ms(COLLECTOR_START_MS_MAX), &reply);
	return r < 0 ? r : run_collector_take(c, reply);
}

/*
 * The service manager or rtl run may have restarted the collector while the command ran; it still
 * has the session.
 */
static int send_done_again(struct ending *e, Rtl__RunnerStatus **ret)
{
	uint64_t deadline = clock_monotonic_ns() + COLLECTOR_START_MS_MAX * 1000000ull;
	struct run_collector *c = e->collector;
	struct pollfd entries[2] = {{.fd = e->child->signal_fd, .events = POLLIN},
		{.fd = run_keeper_fd(c), .events = POLLIN}};
	bool is_hopeless;
	int r;

	for (;;) {
		r = 0;
		/* A collector that is starting accepts us by itself. */
		if (!run_keeper_serve(c) && run_keeper_is_up(c))
			r = greet_again(e);
		if (r == 0)
			r = send_done(e, false, ret);
		/*
		 * The rtl run that started a private collector keeps its socket as long as the
		 * collector may be restarted.
		 */
		is_hopeless = c->is_private && (r == -ENOENT || r == -ECONNREFUSED);
		if (r >= 0 || is_hopeless || e->is_hurried || clock_monotonic_ns() >= deadline)
			return r;
		(void)poll(entries, 2, START_STEP_MS); /* its service manager may restart it */
		if (run_child_is_end_wanted(e->child))
			return -EINTR;
	}
}

/* Says it once, because the trouble may come and go. */
static void say_trouble(struct ending *e, const Rtl__RunnerStatus *status)
{
	CLEANUP(free_p)
	char *state = msg_string(status->has_state, &status->state, RUN_WHY_BYTES - 1);

	if (!state || !strcmp(state, "ok") || e->has_said_trouble)
		return;
	e->has_said_trouble = true;
	say("the end is not stored yet: %s; waiting for that", state);
}

/*
 * Returns 0 if closed; -ETIMEDOUT; -EINTR if the user wants to end; otherwise the connection broke.
 */
static int wait_closed(struct ending *e, uint64_t deadline)
{
	for (;;) {
		Rtl__Frame *frame;
		int r = await(e, deadline, &frame);

		if (r < 0)
			return r;
		if (frame->body_case != RTL__FRAME__BODY_RUNNER_STATUS)
			continue;
		if (frame->runner_status->closed)
			return 0;
		say_trouble(e, frame->runner_status);
	}
}

static void name_process(int64_t pid)
{
	char link[64], exe[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%" PRId64 "/exe", pid);
	n = readlink(link, exe, sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = '\0';
	say("still running after the command has ended: pid %" PRId64 "%s%s; what it does from now "
	    "on is not recorded",
		pid, n > 0 ? " " : "", exe);
}

static bool is_known(const Rtl__RunnerStatus *status, pid_t pid)
{
	for (size_t i = 0; i < status->n_live_pids; i++)
		if (status->live_pids[i] == pid)
			return true;
	return false;
}

/* Processes outlive the command: closes the session without waiting for them. */
static int close_now(struct ending *e)
{
	Rtl__RunnerStatus *status;
	int r = send_done(e, true, &status);

	if (r < 0)
		return r;
	for (size_t i = 0; i < status->n_live_pids && i < NAMED_MAX; i++)
		name_process(status->live_pids[i]);
	if (status->live_processes > NAMED_MAX)
		say("... and %u more", status->live_processes - NAMED_MAX);
	return status->closed ? 0 : wait_closed(e, in_ms(COLLECTOR_CLOSE_MS_MAX));
}

static bool is_broken(int error)
{
	return error == -ECONNRESET || error == -EPIPE;
}

/* After RunnerDone: waits until the session is closed or others are known to end it. */
static int wait_until_closed(struct ending *e, const Rtl__RunnerStatus *status, enum outcome *ret)
{
	bool is_waited_for = status->live_processes > 0;
	int r;

	say_trouble(e, status);
	/* Processes that the collector knows are named when it is asked not to wait for them. */
	for (size_t i = 0; i < e->orphans && i < NAMED_MAX; i++)
		if (!is_known(status, e->orphan[i]))
			name_process(e->orphan[i]);
	e->orphans = 0;
	*ret = status->runners > 1 ? OUTCOME_NOT_LAST : OUTCOME_CLOSED;
	if (status->runners > 1 || status->closed)
		return 0;
	r = wait_closed(e, is_waited_for ? e->deadline_ns : in_ms(COLLECTOR_CLOSE_MS_MAX));
	e->is_hurried |= r == -EINTR;
	if (r == -EINTR || (r == -ETIMEDOUT && is_waited_for))
		r = close_now(e);
	return r;
}

/* A command may end before the file has been opened. */
static void wait_until_open(struct ending *e)
{
	struct run_collector *c = e->collector;
	uint64_t deadline_ns = in_ms(COLLECTOR_START_MS_MAX);
	Rtl__Frame *reply;
	int r = 0;

	while (r == 0 && c->is_opening) {
		r = await_answer(e, deadline_ns, &reply);
		if (r == 0)
			r = run_collector_take(c, reply);
	}
	c->is_opening = false;
	/* Other errors occur again in send_done(), which handles them. */
	if (r == -ECONNABORTED || r == -EBADMSG)
		run_collector_refused(c, r);
}

static enum outcome finish(struct ending *e)
{
	enum outcome outcome = OUTCOME_UNFINISHED;
	Rtl__RunnerStatus *status;
	int r;

	e->deadline_ns = in_ms(OUTLIVE_MS_MAX);
	if (e->child->pid > 0) /* otherwise nothing was started, and other processes are not ours */
		e->orphans = run_orphans_wait(
			e->child, e->collector, e->deadline_ns, e->orphan, NAMED_MAX);
	/* Time is up, or the user wants to end: do not wait a second time. */
	if (e->orphans)
		e->deadline_ns = clock_monotonic_ns();
	r = send_done(e, false, &status);
	for (unsigned i = 0; i < COLLECTORS_MAX; i++) {
		if (r < 0 && !e->is_hurried)
			r = send_done_again(e, &status);
		if (r == DONE_ALREADY)
			return OUTCOME_CLOSED;
		if (r == 0)
			r = wait_until_closed(e, status, &outcome);
		if (!is_broken(r))
			break;
	}
	if (r == 0)
		return outcome;
	if (r == -ENOTCONN && run_keeper_lives(e->collector))
		r = -ETIMEDOUT; /* it was restarted and does not answer */
	run_why(e->why, "%s",
		r == -EINTR || e->is_hurried ? "interrupted"
		: r == -ENOTCONN	     ? "it is dead and does not start again"
					     : client_error(&e->collector->client, r));
	return OUTCOME_UNFINISHED;
}

/*
 * Returns what the file tells about why the job took so long; NULL if it tells nothing or must not
 * be asked.
 */
static char *read_reason(
	struct query *query, const struct verdict *verdict, const struct run_options *options)
{
	CLEANUP(trace_free_p) struct trace *trace = NULL;
	CLEANUP(reason_free_p) struct reason *reason = NULL;
	char error[QUERY_ERROR_BYTES];

	if (options->is_quiet || verdict->is_empty || trace_open(query, NULL, error, &trace) ||
		reason_new(trace, verdict, error, &reason))
		return NULL;
	return reason_line(reason);
}

/* The file may have been replaced by another. Returns 0 if it is still ours. */
static int check_ours(
	const struct run_collector *c, struct query *query, bool is_closed, char why[RUN_WHY_BYTES])
{
	int r = 0;
	bool is_other = is_closed; /* otherwise its first row may not be written yet */

	QUERY_EACH (r, query, "sessions", rows) {
		const char *name = query_text(rows, 0);

		if (name && !strcmp(name, c->session))
			return 0;
		is_other = true;
	}
	if (r < 0)
		run_why(why, "%s", query_error(query));
	else if (is_other)
		run_why(why,
			"%s: it was replaced while it was written; what is there is not of "
			"this job",
			c->database);
	return r < 0 ? r : is_other ? -ESTALE : 0;
}

/* Reads the verdict from the file itself, which is all that a later reader has. */
static int read_verdict(struct ending *e, bool is_closed, struct verdict **ret, char **ret_reason,
	char why[RUN_WHY_BYTES])
{
	const char *path = e->collector->database;
	CLEANUP(query_free_p) struct query *query = NULL;
	CLEANUP(trace_free_p) struct trace *trace = NULL;
	CLEANUP(measure_free_p) struct measure *measure = NULL;
	CLEANUP(verdict_free_p) struct verdict *verdict = NULL;
	int r = path[0] ? query_open(path, why, &query) : -ENODATA;

	/* The file belongs to a service outside of this container, or the user may not read it. */
	if (r < 0 && !e->collector->is_private && run_told_verdict(e->collector, ret) == 0)
		return 0;
	if (r == -ENODATA)
		run_why(why, "no collector lived until its database was open");
	if (r == -ENOENT)
		run_why(why, "%s: it was removed or renamed while it was written", path);
	/* In its own folder only the service writes. */
	if (r == 0 && e->collector->is_private)
		r = check_ours(e->collector, query, is_closed, why);
	if (r < 0)
		return r;
	e->has_log = query_is_live(query);
	r = verdict_new(query, NULL, &verdict);
	/*
	 * Finding out why times are missing takes a pass over all rows, so it is done only if some
	 * are.
	 */
	if (r == 0 && verdict->counts.untimed) {
		verdict_free_p(&verdict);
		r = trace_new(query, &trace);
		if (r == 0)
			r = measure_new(trace, &(struct measure_options){0}, &measure);
		if (r == 0)
			r = verdict_new(query, &measure->rows, &verdict);
	}
	if (r < 0) {
		run_why(why, "%s", query_error(query));
		return r;
	}
	*ret_reason = read_reason(query, verdict, e->options);
	if (!e->options->is_quiet)
		run_say_unfollowed(query, verdict);
	*ret = TAKE(verdict);
	return 0;
}

/*
 * While a reader has the database open, the log cannot be removed. The file alone is then only the
 * first part of the record.
 */
static void say_split(const struct ending *e)
{
	const char *path = e->collector->database;

	say("%s was being read when it was closed: %s-wal is a part of it, so keep both together, "
	    "or have sqlite3 make them one (PRAGMA journal_mode=DELETE)",
		path, path);
}

static void say_unseen(const struct gpu_watch *watch)
{
	for (uint32_t i = 0; i < watch->unseen && i < GPU_WATCH_NAMED_MAX; i++)
		say("pid %d %s used a GPU and is not recorded: %s", (int)watch->named[i].pid,
			watch->named[i].exe, watch->named[i].why);
	if (watch->unseen > GPU_WATCH_NAMED_MAX)
		say("... and %u more", (unsigned)(watch->unseen - GPU_WATCH_NAMED_MAX));
}

/* As rtl ls shows it: the service makes no path of a user's words, and finds it by them. */
static const char *session_name(const struct run_collector *collector)
{
	return !collector->is_private && collector->job && places_is_session_name(collector->job)
		       ? collector->job
		       : collector->session;
}

static void print_line(
	const struct ending *e, const struct verdict *v, const char *reason, bool is_good)
{
	/* Otherwise there may have been kernels, and another line tells why they are missing. */
	bool was_there = !e->why[0] && !completeness_is_missing(&v->counts);

	if (e->options->is_quiet && is_good)
		return;
	if (!e->options->is_quiet)
		say("session %s in %s", session_name(e->collector), e->collector->database);
	if (!e->options->is_quiet)
		say_unseen(&e->child->gpu_watch);
	if (v->is_empty && was_there && !e->options->is_quiet)
		say("no kernel was seen; if there should be some, see rtl doctor");
	if (!e->options->is_quiet &&
		(v->counts.unwrapped_roctx || v->counts.unwrapped_rccl || v->counts.unwrapped_hip))
		say("a process has no librtl-shim.so in LD_PRELOAD, or such a library in itself; a "
		    "script that sets LD_PRELOAD should keep what is in it");
	if (reason)
		say("%s", reason);
	/* The exact words of the contract: scripts look for them at the start of the last line. */
	color_put_verdict(stderr, v->line);
}

/* What is left to do if memory is short while the record is judged: the job has ended, and its
 * status counts. */
static struct {
	struct run_collector *collector;
	bool is_closed;
	int status;
} unjudged;

static void end_unjudged(void)
{
	say("the record cannot be judged: out of memory");
	if (unjudged.is_closed)
		(void)run_publish(unjudged.collector); /* it reports its errors itself */
	_exit(unjudged.status);
}

int run_verdict(struct run_collector *collector, const struct run_options *options,
	const struct run_child *child, int status)
{
	struct ending e = {.collector = collector, .options = options, .child = child};
	CLEANUP(verdict_free_p) struct verdict *verdict = NULL;
	CLEANUP(free_p) char *reason = NULL;
	char why[RUN_WHY_BYTES] = "";
	enum outcome outcome;
	bool is_good, is_published;

	wait_until_open(&e);
	if (collector->is_refused && options->is_strict && status == 0)
		return CMD_LOSSY;
	if (!collector->session[0])
		return status; /* there was no session */
	outcome = finish(&e);
	if (outcome == OUTCOME_NOT_LAST)
		return status;
	if (outcome == OUTCOME_CLOSED && collector->is_private)
		run_private_forget(collector);
	if (outcome == OUTCOME_UNFINISHED)
		say("collector: %s; the end of the record may be missing", e.why);
	unjudged.collector = collector;
	unjudged.is_closed = outcome == OUTCOME_CLOSED;
	unjudged.status = options->is_strict && status == 0 ? CMD_LOSSY : status;
	memory_on_failure(end_unjudged);
	if (read_verdict(&e, outcome == OUTCOME_CLOSED, &verdict, &reason, why) < 0)
		say("the record cannot be judged: %s", why);
	if (outcome == OUTCOME_CLOSED && collector->is_private && e.has_log)
		say_split(&e);
	is_published = outcome == OUTCOME_CLOSED && run_publish(collector);
	unjudged.is_closed = false; /* it need not be published again */
	is_good = verdict && is_published && verdict->is_complete;
	if (verdict && is_published)
		run_exports_write(&options->exports, options->is_forced || options->is_aside,
			collector->database);
	/* A service's database lies where it keeps them. */
	if (verdict && is_published && options->is_aside && collector->is_private)
		run_exports_write_beside(&options->exports, collector->database);
	if (verdict)
		print_line(&e, verdict, reason, is_good);
	if (options->is_strict && status == 0 && (!is_good || verdict->is_empty))
		return CMD_LOSSY;
	return status;
}

bool run_verdict_unstarted(struct run_collector *collector, struct run_child *child, int status)
{
	struct ending e = {
		.collector = collector, .child = child, .is_hurried = run_hold_pending() != 0};
	bool is_closed;

	child->status = status << 8; /* as if it had exited with it */
	wait_until_open(&e);
	is_closed = !collector->session[0] || finish(&e) == OUTCOME_CLOSED;
	if (collector->session[0] && is_closed && collector->is_private) {
		run_private_forget(collector);
		(void)run_publish(collector); /* it reports its errors itself */
	}
	return is_closed;
}
