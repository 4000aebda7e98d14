// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/collector/client.h"
#include "cli/base/command.h"
#include "cli/run/job/job_environment.h"
#include "cli/base/options.h"
#include "cli/collector/places.h"
#include "cli/base/message.h"
#include "proto/base/cleanup.h"
#include "proto/settings/rank.h"

enum env_key {
	KEY_DEVICE = 0x100,
	KEY_JOB,
};

struct env_options {
	const char *socket;
	const char *job;
	const char *mode;
	struct choices choices;
	bool is_soft;
};

static const struct argp_option env_option[] = {
	{"socket", 'S', "PATH", 0,
		"the collector to use (default: RTL_SOCKET, your own where it answers, else the "
		"job looks for the node's)",
		0},
	{"job", KEY_JOB, "KEY", 0, "RTL_JOB_ID: the key that one session's processes share", 0},
	{"mode", 'm', "MODE", 0, OPTS_MODE_HELP, 0},
	{"device", KEY_DEVICE, "real|soft", 0,
		"the job's own GPU stack (default), or a software GPU: SIMULATED", 0},
	CHOICES_ARGP{0},
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct env_options *options = state->input;

	if (choices_take(&options->choices, key, value))
		return 0;
	switch (key) {
	case 'S':
		options->socket = opts_socket(value);
		return 0;
	case KEY_JOB:
		options->job = value;
		return 0;
	case 'm':
		options->mode = opts_mode(value);
		return 0;
	case KEY_DEVICE:
		options->is_soft = opts_is_soft(value);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp env_argp = {
	.options = env_option,
	.parser = parse_option,
	.doc = "Print what a job must export to be recorded without rtl run: eval \"$(rtl env)\".",
};

static int print(const struct jobenv *env)
{
	for (size_t i = 0; i < env->count; i++) {
		const struct jobenv_setting *setting = &env->at[i];
		CLEANUP(free_p) char *quoted = NULL;

		/* RTL_OUTPUT concerns rtl run; here the user may keep it. */
		if (!setting->value && !strcmp(setting->name, "RTL_OUTPUT"))
			continue;
		if (!setting->value) {
			printf("unset %s\n", setting->name);
			continue;
		}
		quoted = jobenv_quote(setting->value);
		if (!quoted)
			return -1;
		printf("export %s=%s\n", setting->name, quoted);
	}
	return 0;
}

/* The job may change its directory, and a collector may be started at that path later. */
static const char *make_absolute(const char *path, char room[PATH_MAX])
{
	char folder[PATH_MAX];

	if (realpath(path, room))
		return room;
	if (*path != '/' && getcwd(folder, sizeof(folder)) &&
		snprintf(room, PATH_MAX, "%s/%s", folder, path) < PATH_MAX)
		return room;
	return path;
}

/*
 * The socket for the job, because the shim alone looks only for the node's. NULL if there is
 * nothing to set.
 */
static const char *choose_socket(const struct env_options *options, char room[PATH_MAX])
{
	const char *path = options->socket ? options->socket : getenv("RTL_SOCKET");
	char own[PLACES_SOCKET_BYTES];
	struct client client;

	if (path && *path)
		return make_absolute(path, room);
	if (!places_own_socket(own) || client_connect(&client, own) < 0)
		return path;
	client_close(&client);
	return strcpy(room, own);
}

/*
 * A job that finds no collector goes unrecorded, silently until its end. The first rank of a launch
 * says it for all.
 */
static void check_collector(const char *socket)
{
	struct client client = CLIENT_NONE;
	struct rank_info rank;
	int r;

	rank_detect((const char *const *)environ, &rank);
	if (rank.rank.is_known && rank.rank.value)
		return;
	if (!socket || !*socket)
		socket = places_system_socket();
	r = client_connect(&client, socket);
	client_close(&client);
	if (r < 0)
		say("collector at %s: %s; until one listens there, what the job does is not "
		    "recorded (rtl run starts one)",
			socket, client_error(&client, r));
}

int cmd_env(int argc, char **argv)
{
	char shim[PATH_MAX], calls[PATH_MAX], softgpu[PATH_MAX], socket[PATH_MAX];
	struct env_options options = {0};
	struct jobenv_params params = {.shim = shim};
	struct jobenv env;
	int r;

	opts_parse(&env_argp, argc, argv, 0, &options);
	opts_check_variables(options.mode);
	choices_check(&options.choices);
	r = places_find(PLACE_SHIM, shim);
	if (r < 0) {
		say("shim: %s: %s; set RTL_LIBDIR to the folder of librtl-shim.so", shim,
			strerror(-r));
		return CMD_BAD_INPUT;
	}
	r = jobenv_find_calls(shim, options.mode, calls);
	if (r < 0) {
		say(JOBENV_NO_CALLS, calls, strerror(-r));
		return CMD_BAD_INPUT;
	}
	if (options.is_soft && places_find(PLACE_SOFTGPU, softgpu) < 0) {
		say("software GPU: %s: not found; " PLACES_SOFTGPU_TODO, softgpu);
		return CMD_BAD_INPUT;
	}
	params.socket = choose_socket(&options, socket);
	check_collector(params.socket);
	params.job = options.job;
	params.mode = options.mode;
	params.choices = &options.choices;
	params.softgpu = options.is_soft ? softgpu : NULL;
	r = jobenv_init(&env, &params);
	if (r == 0 && env.is_without_preload)
		say("%s; install it elsewhere", jobenv_without_preload);
	if (r == 0)
		r = print(&env);
	jobenv_done(&env);
	if (r < 0)
		say("out of memory");
	return r < 0 ? CMD_BAD_INPUT : CMD_OK;
}
