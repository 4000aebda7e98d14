// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "cli/base/command.h"
#include "cli/collector/places.h"
#include "cli/run/child/child.h"
#include "cli/run/collector/collector.h"
#include "cli/run/collector/supervisor.h"
#include "cli/run/job/job_environment.h"
#include "cli/run/job/launcher.h"
#include "cli/run/job/options.h"
#include "cli/run/job/run_export.h"
#include "cli/run/job/signals.h"
#include "cli/run/output/output.h"
#include "cli/run/run.h"
#include "cli/base/message.h"

/*
 * Finds the library that a mode named by the user needs. Returns 0, or an exit status after a
 * message.
 */
static int find_calls(const struct run_options *options, const char *shim)
{
	char calls[PATH_MAX];
	int r = jobenv_find_calls(shim, options->mode, calls);

	if (r == 0)
		return 0;
	say(JOBENV_NO_CALLS, calls, strerror(-r));
	return CMD_RUN_FAILED;
}

/*
 * Finds the libraries that the job is to load. Returns 0, or an exit status after a message;
 * *ret_is_found is false if the job goes unrecorded.
 */
static int find_libraries(const struct run_options *options, char shim[PATH_MAX],
	char softgpu[PATH_MAX], bool *ret_is_found)
{
	int r;

	/* Without it the job would run on another device than the user wants. */
	if (options->is_soft && places_find(PLACE_SOFTGPU, softgpu) < 0) {
		say("software GPU: %s: not found; " PLACES_SOFTGPU_TODO, softgpu);
		return CMD_RUN_FAILED;
	}
	r = places_find(PLACE_SHIM, shim);
	*ret_is_found = r == 0;
	if (r == 0)
		return find_calls(options, shim);
	say("shim: %s: %s; %s", shim, strerror(-r),
		options->is_strict ? "not started (--strict)" : "the job runs unrecorded");
	return options->is_strict ? CMD_RUN_FAILED : 0;
}

static void tell_plan(const struct run_options *options, const struct run_collector *collector,
	const struct jobenv *env)
{
	if (env->is_without_preload)
		say("%s; install it elsewhere", jobenv_without_preload);
	if (!options->is_verbose)
		return;
	if (collector->client.fd >= 0)
		say("%s at %s, session %s, database %s",
			collector->is_private ? "private collector" : "collector",
			collector->socket, collector->session, collector->database);
	for (size_t i = 0; i < env->count; i++)
		if (env->at[i].value)
			say("%s=%s", env->at[i].name, env->at[i].value);
	if (options->is_soft)
		say("software GPU: everything recorded is SIMULATED");
}

/*
 * Also for a job that is not recorded, because the software GPU does not depend on the collector.
 */
static int make_env(struct jobenv *env, const struct run_options *options,
	const struct run_collector *collector, const struct run_launch *launch, const char *shim,
	const char *softgpu)
{
	struct jobenv_params params = {
		.socket = collector->socket,
		.job = collector->job ? collector->job : launch->job,
		.shim = collector->client.fd >= 0 ? shim : NULL,
		.softgpu = options->is_soft ? softgpu : NULL,
		.mode = options->mode,
		.choices = &options->choices,
	};

	return jobenv_init(env, &params);
}

/* A wrong -o is an error whether or not the job can be recorded. */
static int check_output(const struct run_options *options, const struct run_launch *launch)
{
	struct run_output output;
	int r = options->output ? run_output_name(&output, options, launch) : 0;

	/* The first rank of a launch may just have created it. */
	if (r || !options->output || launch->is_shared)
		return r;
	return run_output_check(&output, options);
}

/* Returns 0, or an exit status after a message. @ret_env is valid in both cases. */
static int prepare(const struct run_options *options, const struct run_launch *launch,
	struct run_collector *collector, struct jobenv *ret_env)
{
	char shim[PATH_MAX] = "", softgpu[PATH_MAX] = "";
	bool has_shim = false;
	int r;

	*ret_env = (struct jobenv){0};
	r = find_libraries(options, shim, softgpu, &has_shim);
	if (r == 0 && has_shim)
		run_say_known(options, launch, shim, softgpu);
	if (r == 0)
		r = has_shim ? run_collector_attach(collector, options, launch)
			     : check_output(options, launch);
	if (r)
		return r;
	run_hold(); /* also for a session at a service */
	r = make_env(ret_env, options, collector, launch, shim, softgpu);
	if (r < 0) {
		say("%s", strerror(-r));
		return CMD_RUN_FAILED;
	}
	tell_plan(options, collector, ret_env);
	return 0;
}

/* Does not return if a signal kept the command from being started. */
static int leave_unstarted(struct run_collector *collector, const struct run_launch *launch,
	struct run_child *child, int status)
{
	/* Other ranks of a launch may be recorded by the collector. */
	if (!run_verdict_unstarted(collector, child, status) && !launch->is_shared)
		run_keeper_kill(collector);
	run_hold_release();
	return status;
}

static int run_recorded(const struct run_options *options, const struct run_launch *launch,
	struct run_collector *collector)
{
	struct run_child child;
	struct jobenv env;
	int r;

	run_child_init(&child);
	r = prepare(options, launch, collector, &env);
	child.is_recorded = collector->client.fd >= 0;
	if (r == 0)
		r = run_child_start(&child, options->command, &env);
	jobenv_done(&env);
	if (r)
		return leave_unstarted(collector, launch, &child, r);
	r = run_child_wait(&child, collector);
	return run_verdict(collector, options, &child, r);
}

/* A name that would be another one in the list of sessions is refused. */
static int check_name(const char *name)
{
	if (!name || places_is_session_name(name))
		return 0;
	say("run: --name %s: not letters, digits, . _ and -, the first no . or -, of at most %u",
		name, PLACES_NAME_BYTES - 1);
	return CMD_RUN_FAILED;
}

int cmd_run(int argc, char **argv)
{
	struct run_collector collector = RUN_COLLECTOR_NONE;
	struct run_options options;
	struct run_launch launch;
	int r;

	run_options_parse(&options, argc, argv);
	r = check_name(options.name);
	if (r)
		return r;
	/* A typing mistake should leave no database behind. */
	r = run_child_find(options.command[0]);
	if (r)
		return r;
	r = run_exports_check(&options.exports, options.is_forced || options.is_aside);
	if (r)
		return r;
	run_launch_detect(&launch, options.command[0], options.name);
	r = run_recorded(&options, &launch, &collector);
	run_collector_done(&collector);
	free(options.categories);
	return r;
}
