// SPDX-License-Identifier: MIT
#include "cli/run/job/options.h"

#include <stdlib.h>
#include <string.h>

#include "cli/run/job/run_export.h"
#include "cli/run/job/selection_options.h"
#include "cli/trace/category_file.h"
#include "cli/base/options.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"
#include "proto/names/mode.h"

enum run_key {
	KEY_PRIVATE = 0x100,
	KEY_DEVICE,
	KEY_EXPORT,
	KEY_NAME,
};

static const struct argp_option run_option[] = {
	{"output", 'o', "FILE", 0,
		"write this database, by a collector of this job alone (default: RTL_OUTPUT); in "
		"its "
		"name %p is the pid of rtl run, %h the host, %j the job, %r the rank, %q{VARIABLE} "
		"an "
		"environment variable, %% a percent sign",
		0},
	{"force", 'f', NULL, 0, "overwrite FILE", 0},
	{"name", KEY_NAME, "NAME", 0,
		"the name of the session, by which all verbs find it (default: the launcher's key, "
		"or the command and the pid)",
		0},
	{"private", KEY_PRIVATE, NULL, 0,
		"a collector of this job alone, even where the node has one", 0},
	{"device", KEY_DEVICE, "real|soft", 0,
		"the job's own GPU stack, untouched (default), or a software GPU: SIMULATED", 0},
	{"mode", 'm', "MODE", 0, OPTS_MODE_HELP, 0},
	{"socket", 'S', "PATH", 0,
		"the collector to use (default: RTL_SOCKET, your own where it answers, the node's)",
		0},
	{"categories", 'C', "FILE", 0,
		"rules that say what kind of work a kernel is, stored with the session (default: "
		"RTL_CATEGORIES)",
		0},
	{"export", KEY_EXPORT, "FORMAT=OUT", 0, RUN_EXPORT_HELP, 0},
	{"strict", 's', NULL, 0,
		"exit 125 without a start if it cannot be recorded, 3 if the record is incomplete",
		0},
	{"quiet", 'q', NULL, 0, "print only errors", 0},
	{"verbose", 'v', NULL, 0, "print what is used", 0},
	CHOICES_ARGP{0},
};

/*
 * Reports errors before the job starts, because later the session would have the wrong categories.
 */
static void read_categories(struct run_options *options, const char *path)
{
	CLEANUP(category_rules_done) struct category_rules rules = {0};
	char error[QUERY_ERROR_BYTES];

	if (category_file_read(path, &rules, error))
		opts_error("%s", error[0] ? error : "out of memory");
	free(options->categories);
	options->categories = category_rules_text(&rules);
	if (!options->categories)
		opts_error("out of memory");
	if (strlen(options->categories) >= CATEGORIES_BYTES_MAX)
		opts_error("%s: more than %u bytes of rules do not fit into a session", path,
			CATEGORIES_BYTES_MAX);
}

/*
 * A socket and an output exclude each other, but one in rtl.conf only gives way to the other on the
 * command line or in the environment.
 */
static void choose_private(struct run_options *options, bool is_configured)
{
	if (options->is_socket_configured && !is_configured)
		options->socket = NULL;
	options->is_private_configured = is_configured;
}

static void choose_socket(struct run_options *options, bool is_configured)
{
	if (options->is_private_configured && !is_configured) {
		options->output = NULL;
		options->is_private = false;
	}
	options->is_socket_configured = is_configured;
}

static void choose_by_variables(struct run_options *options, const char *output)
{
	const char *socket = getenv("RTL_SOCKET");

	if (options->is_socket_configured && output && *output)
		options->socket = NULL;
	if (options->is_private_configured && socket && *socket) {
		options->output = NULL;
		options->is_private = false;
	}
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct run_options *options = state->input;

	if (choices_take(&options->choices, key, value))
		return 0;
	switch (key) {
	case 'o':
		if (!*value)
			opts_error("--output: the name is empty");
		choose_private(options, opts_is_configured());
		options->output = value;
		return 0;
	case 'f':
		options->is_forced = true;
		return 0;
	case 'm':
		options->mode = opts_mode(value);
		return 0;
	case 'q':
		options->is_quiet = true;
		return 0;
	case 'v':
		options->is_verbose = true;
		return 0;
	case KEY_NAME:
		options->name = value;
		return 0;
	case KEY_PRIVATE:
		choose_private(options, opts_is_configured());
		options->is_private = true;
		return 0;
	case KEY_DEVICE:
		options->is_soft = opts_is_soft(value);
		return 0;
	case 's':
		options->is_strict = true;
		return 0;
	case 'C':
		read_categories(options, value);
		return 0;
	case KEY_EXPORT:
		run_exports_take(&options->exports, value);
		return 0;
	case 'S':
		choose_socket(options, opts_is_configured());
		options->socket = opts_socket(value);
		return 0;
	case ARGP_KEY_ARGS:
		options->command = state->argv + state->next;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp run_argp = {
	.options = run_option,
	.parser = parse_option,
	.args_doc = "[--] COMMAND [ARGUMENT...]",
	.doc = "Run a command and record what it does on the GPU.\v"
	       "Exit status: that of the command, 128+N when signal N ended it; 3: --strict and "
	       "the record is not complete, or empty; 125: rtl failed before the command started; "
	       "126, 127: it cannot be executed, is not found. Where recording is impossible the "
	       "command runs all the same, unless --strict.",
};

#define RUN_FLAGS (OPTS_RUN | OPTS_CONFIG)

bool run_check_settings(void)
{
	struct run_options options = {0};

	return opts_check_settings(&run_argp, "run", RUN_FLAGS, &options);
}

void run_options_parse(struct run_options *options, int argc, char **argv)
{
	const char *output = getenv("RTL_OUTPUT"), *categories = getenv("RTL_CATEGORIES");

	*options = (struct run_options){
		.verb = argv[0],
		/*
		 * The predecessor overwrote existing files, and scripts of its users must keep
		 * working.
		 */
		.is_aside = !strcmp(argv[0], "trace"),
	};
	opts_parse(&run_argp, argc, argv, RUN_FLAGS, options);
	if (!options->command || !options->command[0])
		opts_error("no command to run; rtl %s [options] [--] COMMAND", argv[0]);
	choose_by_variables(options, output);
	opts_check_variables(options->mode);
	choices_check(&options->choices);
	if (!options->categories && categories && *categories)
		read_categories(options, categories);
	if (!options->output && !options->socket && output && *output)
		options->output = output;
	if (options->socket && (options->output || options->is_private))
		opts_error("--socket names a collector, -o and --private make one: choose");
}
