/* SPDX-License-Identifier: MIT */
#include "collectord/service/configured.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/service/limit_options.h"
#include "collectord/service/log.h"
#include "proto/base/cleanup.h"

/* What is being parsed, for configured_refuse(). */
static const struct configured *parsing;

static const struct argp_option *find(const struct argp_option *options, const char *key)
{
	for (; options->name || options->doc; options++)
		if (options->name && !strcmp(options->name, key))
			return options;
	return NULL;
}

static bool begins(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Returns the section that an option belongs to, by its name. */
static const char *section_of(const char *key)
{
	return begins(key, "quota-") ? "quota" : begins(key, "keep-") ? "retention" : "service";
}

static bool is_ours(const struct config_setting *setting)
{
	return !strcmp(setting->section, "service") || !strcmp(setting->section, "quota") ||
	       !strcmp(setting->section, "retention");
}

/* Makes the option a command line word; NULL for a flag that is off. Returns 0, -EINVAL or -ENOMEM.
 */
static int make_word(const struct argp_option *options, const struct config_setting *setting,
	char **ret, char why[CONFIG_FILE_WHY_BYTES])
{
	const struct argp_option *option = find(options, setting->key);
	bool is_set = true;
	int n;

	*ret = NULL;
	if (!option)
		option = find(limit_options.options, setting->key);
	if (!option || strcmp(section_of(setting->key), setting->section) != 0) {
		snprintf(why, CONFIG_FILE_WHY_BYTES,
			"%s:%u: [%s] has no key %s; they are the long options of collectord --help",
			setting->path, setting->line, setting->section, setting->key);
		return -EINVAL;
	}
	if (!option->arg && config_setting_flag(setting, &is_set, why))
		return -EINVAL;
	if (!is_set)
		return 0;
	n = option->arg ? asprintf(ret, "--%s=%s", setting->key, setting->value)
			: asprintf(ret, "--%s", setting->key);
	if (n >= 0)
		return 0;
	*ret = NULL;
	snprintf(why, CONFIG_FILE_WHY_BYTES, "out of memory");
	return -ENOMEM;
}

static bool is_of_job(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (begins(argv[i], "--private-session"))
			return true;
	return false;
}

static int add_settings(const struct argp_option *options, struct configured *configured,
	char why[CONFIG_FILE_WHY_BYTES])
{
	const struct config_file *file = &configured->file;
	int r;

	for (size_t i = 0; i < file->count; i++) {
		const struct config_setting *s = file->settings + i;
		CLEANUP(free_p) char *word = NULL;

		if (!is_ours(s))
			continue;
		r = make_word(options, s, &word, why);
		if (r < 0)
			return r;
		if (!word || config_file_is_overridden(file, s))
			continue;
		configured->settings[configured->n_settings++] = s;
		configured->words[configured->n_settings] = TAKE(word);
	}
	return 0;
}

int configured_read(const struct argp_option *options, int argc, char **argv,
	struct configured *ret, char why[CONFIG_FILE_WHY_BYTES])
{
	CLEANUP(configured_done) struct configured configured = {0};
	struct config_file *file = &configured.file;
	int r = is_of_job(argc, argv) ? 0 : config_file_read(file, why);

	if (r < 0)
		return r;
	configured.words = calloc((size_t)argc + file->count + 1, sizeof(*configured.words));
	configured.settings = calloc(file->count + 1, sizeof(*configured.settings));
	if (!configured.words || !configured.settings) {
		snprintf(why, CONFIG_FILE_WHY_BYTES, "out of memory");
		return -ENOMEM;
	}
	r = add_settings(options, &configured, why);
	if (r < 0)
		return r;
	configured.words[0] = argv[0];
	memcpy(configured.words + 1 + configured.n_settings, argv + 1,
		(size_t)(argc - 1) * sizeof(*configured.words));
	configured.n_words = argc + configured.n_settings;
	*ret = configured;
	configured = (struct configured){0};
	return 0;
}

void configured_done(struct configured *configured)
{
	for (int i = 0; i < configured->n_settings; i++)
		free(configured->words[1 + i]);
	free(configured->words);
	free(configured->settings);
	config_file_done(&configured->file);
	*configured = (struct configured){0};
}

error_t configured_parse(
	const struct configured *configured, const struct argp *argp, unsigned flags, void *input)
{
	error_t r;

	parsing = configured;
	r = argp_parse(argp, configured->n_words, configured->words, flags, NULL, input);
	parsing = NULL;
	return r;
}

/* The setting of a file that is being parsed; NULL: a word of the command line is. */
static const struct config_setting *setting_of(const struct argp_state *state)
{
	int word = state->next - 1;

	return word >= 1 && word <= parsing->n_settings ? parsing->settings[word - 1] : NULL;
}

error_t configured_refuse(
	const struct argp_state *state, const char *option, const char *format, ...)
{
	const struct config_setting *setting = option ? setting_of(state) : NULL;
	CLEANUP(free_p) char *what = NULL, *line = NULL;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&what, format, arguments) < 0)
		what = NULL;
	va_end(arguments);
	if (!what || state->flags & ARGP_NO_ERRS)
		return EINVAL;
	if (setting ? asprintf(&line, "%s:%u: %s: %s", setting->path, setting->line, option, what) <
				0
		    : asprintf(&line, "%s%s%s%s", option ? "--" : "", option ? option : "",
			      option ? ": " : "", what) < 0) {
		line = NULL;
		return EINVAL;
	}
	if (state->flags & ARGP_NO_EXIT) {
		log_error("%s", line);
	} else if (setting) {
		fprintf(stderr, "collectord: %s\n", line);
		exit(argp_err_exit_status);
	} else {
		argp_error(state, "%s", line);
	}
	return EINVAL;
}
