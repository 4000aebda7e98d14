// SPDX-License-Identifier: MIT
/* rtl config: checks rtl.conf, and prints its settings and where each one stands. */
#include <stdio.h>
#include <string.h>

#include "cli/base/command.h"
#include "cli/base/escape.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/live/stat.h"
#include "cli/run/job/options.h"
#include "proto/base/cleanup.h"

struct config_cmd {
	bool has_origin;
};

enum { KEY_ORIGIN = 0x500 };

static const struct argp_option options[] = {
	{"show-origin", KEY_ORIGIN, NULL, 0,
		"print where each setting comes from: FILE:LINE or a variable", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct config_cmd *o = state->input;

	switch (key) {
	case KEY_ORIGIN:
		o->has_origin = true;
		return 0;
	case ARGP_KEY_ARG:
		opts_error("takes no argument: %s", arg);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {options, parse, NULL,
	"Check and print the settings of " CONFIG_FILE_SYSTEM
	" and, over it, $XDG_CONFIG_HOME/rtl/rtl.conf: sections "
	"run and stat, with the long options of these verbs for keys. An option on the command "
	"line "
	"stands over the environment, and that over both files.",
	NULL, NULL, NULL};

/* Escapes the texts, because a file that another user wrote must not be able to control the
 * terminal. */
static int show(const struct config_setting *setting, bool has_origin)
{
	char variable[64];
	const char *value = config_setting_variable(setting, variable);
	const char *shown = value ? value : setting->value;
	CLEANUP(free_p) char *safe = render_escape(shown, strlen(shown));
	CLEANUP(free_p) char *path = render_escape(setting->path, strlen(setting->path));

	if (!safe || !path)
		return -1;
	if (has_origin && value)
		printf("%s\t", variable);
	else if (has_origin)
		printf("%s:%u\t", path, setting->line);
	printf("%s.%s=%s\n", setting->section, setting->key, safe);
	return 0;
}

int cmd_config(int argc, char **argv)
{
	CLEANUP(config_file_done) struct config_file file = {0};
	struct config_cmd o = {0};
	char why[CONFIG_FILE_WHY_BYTES];

	opts_parse(&parser, argc, argv, 0, &o);
	if (config_file_read(&file, why)) {
		say("config: %s", why);
		return CMD_BAD_INPUT;
	}
	/* The collector checks the other sections. */
	if (!run_check_settings() || !stat_check_settings())
		return CMD_BAD_INPUT;
	for (size_t i = 0; i < file.count; i++)
		if (!config_file_is_overridden(&file, file.settings + i) &&
			show(file.settings + i, o.has_origin)) {
			say("out of memory");
			return CMD_BAD_INPUT;
		}
	if (!file.count)
		say("no settings in " CONFIG_FILE_SYSTEM
		    " and $XDG_CONFIG_HOME/rtl/rtl.conf (~/.config/rtl/rtl.conf)");
	return CMD_OK;
}
