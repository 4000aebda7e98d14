// SPDX-License-Identifier: MIT
#include "cli/run/collector/hello.h"

#include <errno.h>
#include <stdio.h>

#include "cli/run/collector/supervisor.h"
#include "cli/run/job/signals.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"

/* Interval between two checks whether the collector that we started is alive. */
#define LIFE_STEP_MS	50

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
