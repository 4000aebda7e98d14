// SPDX-License-Identifier: MIT
#include "cli/run/collector/collector.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/run/collector/private_collector.h"
#include "cli/run/job/launcher.h"
#include "cli/run/job/options.h"
#include "cli/run/job/signals.h"
#include "cli/run/job/why.h"
#include "cli/run/output/output.h"
#include "cli/collector/ask_all.h"
#include "cli/base/command.h"
#include "cli/run/collector/supervisor.h"
#include "cli/base/message.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"

/* Interval between two checks whether the collector that we started is alive. */
#define LIFE_STEP_MS	50
/* A service that died is back by then, or there is none: systemd restarts it after 100 ms. */
#define SERVICE_BACK_MS 2000u

/* Makes the command line for display: separated by spaces, and cut off if it is too long. */
static void join_command(char **command, char *ret, size_t bytes)
{
	size_t at = 0;

	ret[0] = '\0';
	for (; *command && at < bytes - 1; command++) {
		int n = snprintf(ret + at, bytes - at, "%s%s", at ? " " : "", *command);

		at += n > 0 ? (size_t)n : 0;
	}
}

static void copy_bytes(char *to, size_t room, int has, const ProtobufCBinaryData *from)
{
	CLEANUP(free_p) char *text = msg_string(has, from, room - 1);

	snprintf(to, room, "%s", text ? text : "");
}

int run_collector_say_hello(struct run_collector *collector, bool is_early)
{
	Rtl__RunnerHello hello = RTL__RUNNER_HELLO__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;
	/* The size of a connection's first frame is limited; leave room for its other fields. */
	char command[COMMAND_BYTES_MAX];

	join_command(collector->options->command, command, sizeof(command));
	hello.has_version_min = hello.has_version_max = 1;
	hello.version_min = PROTO_VERSION_MIN;
	hello.version_max = PROTO_VERSION_MAX;
	msg_set_bytes(&hello.has_job, &hello.job, collector->job);
	msg_set_bytes(&hello.has_command, &hello.command, command);
	msg_set_bytes(&hello.has_output, &hello.output, collector->display);
	msg_set_bytes(&hello.has_categories, &hello.categories, collector->options->categories);
	hello.has_early = is_early;
	hello.early = is_early;
	/*
	 * An earlier collector had this session, and may have died before any of our data was in
	 * its file.
	 */
	hello.has_again = true;
	hello.again = collector->session[0] != 0;
	frame.body_case = RTL__FRAME__BODY_RUNNER_HELLO;
	frame.runner_hello = &hello;
	return client_send(&collector->client, &frame);
}

int run_collector_take(struct run_collector *collector, const Rtl__Frame *reply)
{
	const Rtl__RunnerStatus *status;

	if (reply->body_case != RTL__FRAME__BODY_RUNNER_STATUS)
		return -EBADMSG;
	status = reply->runner_status;
	copy_bytes(collector->session, sizeof(collector->session), status->has_session,
		&status->session);
	copy_bytes(collector->database, sizeof(collector->database), status->has_database,
		&status->database);
	collector->is_opening = status->opening;
	run_list_private(collector);
	return 0;
}

void run_collector_refused(struct run_collector *collector, int error)
{
	say("collector: %s; the job goes on unrecorded", client_error(&collector->client, error));
	if (collector->keeper)
		(void)unlink(collector->socket);
	/* Otherwise it would be restarted. */
	collector->keeper = run_keeper_free(collector->keeper);
	client_close(&collector->client);
	collector->session[0] = '\0';
	collector->is_opening = false;
	collector->is_refused = true;
}

void run_collector_hear(struct run_collector *collector)
{
	Rtl__Frame *reply;
	int r = client_receive(&collector->client, 0, &reply);

	if (r == 0)
		r = run_collector_take(collector, reply);
	if (r == 0 || r == -ETIMEDOUT)
		return;
	collector->is_opening = false;
	if (r == -ECONNABORTED || r == -EBADMSG)
		run_collector_refused(collector, r);
}

/*
 * A connection that the collector has not accepted stays open when the collector dies, because we
 * hold its listening socket.
 */
static int receive_while_it_lives(struct run_collector *collector, Rtl__Frame **ret)
{
	unsigned hurried_ms = 0;
	int r = -ETIMEDOUT;

	for (unsigned ms = 0; r == -ETIMEDOUT && ms < COLLECTOR_START_MS_MAX; ms += LIFE_STEP_MS) {
		r = client_receive(&collector->client, LIFE_STEP_MS, ret);
		if (r == -ETIMEDOUT && !run_keeper_lives(collector))
			return -ECONNRESET;
		if (r == -ETIMEDOUT && run_hold_pending() && hurried_ms >= RUN_HURRY_MS)
			return -EINTR;
		hurried_ms += run_hold_pending() ? LIFE_STEP_MS : 0;
	}
	return r;
}

int run_collector_greet(struct run_collector *collector, const struct run_options *options,
	const char *job, const char *output, bool is_early)
{
	Rtl__Frame *reply;
	int r;

	collector->options = options;
	collector->job = job;
	collector->display = output;
	/* With --verbose the whole plan is printed, so wait for all of it. */
	r = run_collector_say_hello(collector, is_early && !options->is_verbose);
	/* A collector that hung up may have sent the reason before that. */
	if (r == 0 || r == -EPIPE || r == -ECONNRESET)
		r = receive_while_it_lives(collector, &reply);
	return r < 0 ? r : run_collector_take(collector, reply);
}

/* The job goes unrecorded, or is not started. */
static int give_up(const struct run_options *options, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int give_up(const struct run_options *options, const char *format, ...)
{
	CLEANUP(free_p) char *why = NULL;
	va_list args;

	/* A signal asks us to end, so no job is started. */
	if (run_hold_pending())
		return CMD_RUN_FAILED;
	va_start(args, format);
	if (vasprintf(&why, format, args) < 0)
		why = NULL;
	va_end(args);
	say("%s; %s", why ? why : "out of memory",
		options->is_strict ? "not started (--strict)" : "the job runs unrecorded");
	return options->is_strict ? CMD_RUN_FAILED : 0;
}

static int try_once(struct run_collector *collector, const struct run_options *options,
	const char *path, const char *job)
{
	int r = client_connect(&collector->client, path);

	if (r == 0)
		r = run_collector_greet(collector, options, job, NULL, true);
	if (r < 0)
		client_close(&collector->client);
	return r;
}

static bool is_gone(int error)
{
	return error == -ECONNRESET || error == -EPIPE;
}

/*
 * Connects to a service and opens the session there. Returns 0, or -errno with the connection
 * closed. A service that hangs up without an answer has died and is restarted by its service
 * manager: a job must not go unrecorded because of that.
 */
static int try_service(struct run_collector *collector, const struct run_options *options,
	const char *path, const char *job)
{
	int r = try_once(collector, options, path, job);

	if (is_gone(r)) {
		for (unsigned ms = 0; ms < SERVICE_BACK_MS; ms += LIFE_STEP_MS) {
			(void)poll(NULL, 0, LIFE_STEP_MS);
			r = try_once(collector, options, path, job);
			if (!is_gone(r) && !ask_is_absent(r))
				break;
		}
	}
	if (r < 0)
		return r;
	snprintf(collector->socket, sizeof(collector->socket), "%s", path);
	return 0;
}

static int attach_named(struct run_collector *collector, const struct run_options *options,
	const char *path, const char *job)
{
	char real[PATH_MAX];
	int r;

	/* The job may change its directory. */
	if (*path != '/' && realpath(path, real) && strlen(real) < PLACES_SOCKET_BYTES)
		path = real;
	r = try_service(collector, options, path, job);
	if (r == 0)
		return 0;
	return give_up(options, "collector at %s: %s", path, client_error(&collector->client, r));
}

/*
 * Tries the collectors at default places: the user's own, then that of the node. Returns 0, or an
 * error if none of them accepts us. @why: of a service that is there and does not take the job.
 */
static int attach_kept(struct run_collector *collector, const struct run_options *options,
	const char *job, char why[RUN_WHY_BYTES])
{
	const char *service = places_system_socket();
	char own[PLACES_SOCKET_BYTES];
	int r = -ENOENT;

	if (places_own_socket(own))
		r = try_service(collector, options, own, job);
	if (r == 0)
		return 0;
	if (!ask_is_absent(r))
		say("collector at %s: %s; another one is used", own,
			client_error(&collector->client, r));
	r = try_service(collector, options, service, job);
	if (r < 0 && r != -ENOENT)
		run_why(why, "collector at %s: %s; a private one is used", service,
			client_error(&collector->client, r));
	return r;
}

static int attach_private(struct run_collector *collector, const struct run_options *options,
	const struct run_launch *launch, struct run_output *output)
{
	char why[RUN_WHY_BYTES] = "";
	int r = run_private_attach(collector, options, launch, output, why);

	if (r >= 0)
		return r;
	return give_up(options, "collector: %s", *why ? why : strerror(-r));
}

int run_collector_attach(struct run_collector *collector, const struct run_options *options,
	const struct run_launch *launch)
{
	const char *variable = getenv("RTL_SOCKET");
	bool is_private = options->output || options->is_private;
	char why[RUN_WHY_BYTES] = "";
	struct run_output output;
	int r;

	if (options->socket)
		return attach_named(collector, options, options->socket, launch->service_job);
	if (!is_private && variable && *variable)
		return attach_named(collector, options, variable, launch->service_job);
	r = run_output_name(&output, options, launch);
	if (r)
		return r;
	if (is_private)
		return attach_private(collector, options, launch, &output);
	if (run_private_join(collector, options, launch, &output) == 0)
		return 0;
	if (attach_kept(collector, options, launch->service_job, why) == 0)
		return 0;
	r = attach_private(collector, options, launch, &output);
	/* Of several rtl run of one launch that one says it which has made the private collector.
	 */
	if (*why && (r || collector->keeper))
		say("%s", why);
	return r;
}

void run_collector_done(struct run_collector *collector)
{
	client_close(&collector->client);
	if (collector->log_fd >= 0)
		close(collector->log_fd);
	collector->log_fd = -1;
	collector->keeper = run_keeper_free(collector->keeper);
}
