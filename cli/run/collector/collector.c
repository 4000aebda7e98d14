// SPDX-License-Identifier: MIT
#include "cli/run/collector/collector.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/run/collector/hello.h"
#include "cli/run/collector/private_collector.h"
#include "cli/run/collector/told_once.h"
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

/* A service that died is back by then, or there is none: systemd restarts it after 100 ms. */
#define SERVICE_BACK_MS 2000u
/* Interval between two attempts to reach it. */
#define BACK_STEP_MS	50

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
		for (unsigned ms = 0; ms < SERVICE_BACK_MS; ms += BACK_STEP_MS) {
			(void)poll(NULL, 0, BACK_STEP_MS);
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
	const char *path, const struct run_launch *launch)
{
	char real[PATH_MAX];
	int r;

	/* The job may change its directory. */
	if (*path != '/' && realpath(path, real) && strlen(real) < PLACES_SOCKET_BYTES)
		path = real;
	r = try_service(collector, options, path, launch->service_job);
	if (r == 0)
		return 0;
	/* One rank says it for all. With --strict each says why it does not start. */
	if (!options->is_strict && !run_hold_pending() &&
		!run_tells_launch(launch, ask_is_absent(r)))
		return 0;
	return give_up(options, "collector at %s: %s", path, client_error(&collector->client, r));
}

/*
 * Tries the collectors at default places: the user's own, then that of the node. Returns 0, or an
 * error if none of them accepts us. @why: of a service that is there and does not take the job.
 */
static int attach_kept(struct run_collector *collector, const struct run_options *options,
	const struct run_launch *launch, char why[RUN_WHY_BYTES])
{
	const char *service = places_system_socket();
	char own[PLACES_SOCKET_BYTES];
	int r = -ENOENT;

	if (places_own_socket(own))
		r = try_service(collector, options, own, launch->service_job);
	if (r == 0)
		return 0;
	if (!ask_is_absent(r) && rank_is_first(&launch->rank))
		say("collector at %s: %s; another one is used", own,
			client_error(&collector->client, r));
	r = try_service(collector, options, service, launch->service_job);
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
		return attach_named(collector, options, options->socket, launch);
	if (!is_private && variable && *variable)
		return attach_named(collector, options, variable, launch);
	r = run_output_name(&output, options, launch);
	if (r)
		return r;
	if (is_private)
		return attach_private(collector, options, launch, &output);
	if (run_private_join(collector, options, launch, &output) == 0)
		return 0;
	if (attach_kept(collector, options, launch, why) == 0)
		return 0;
	r = attach_private(collector, options, launch, &output);
	/* Of several rtl run of one launch that one says it which has made the private collector,
	 * and not one that comes when that has ended. */
	if (*why && (r || collector->keeper) && run_tells_launch(launch, false))
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
