/* SPDX-License-Identifier: MIT */
#include "collectord/service/configured.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/service/limit_options.h"
#include "proto/settings/config_file.h"

/* The status with which argp reports a mistake on the command line. */
#define STATUS_USAGE 2

__attribute__((format(printf, 1, 2))) static _Noreturn void refuse(const char *format, ...)
{
	va_list arguments;

	fputs("collectord: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(STATUS_USAGE);
}

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

/* Returns the option as a command line word, or NULL for a flag that is off. */
static char *make_word(const struct argp_option *options, const struct config_setting *setting)
{
	const struct argp_option *option = find(options, setting->key);
	char why[CONFIG_FILE_WHY_BYTES];
	bool is_set = true;
	char *word;
	int n;

	if (!option)
		option = find(limit_options.options, setting->key);
	if (!option || strcmp(section_of(setting->key), setting->section) != 0)
		refuse("%s:%u: [%s] has no key %s; they are the long options of collectord --help",
			setting->path, setting->line, setting->section, setting->key);
	if (!option->arg && config_setting_flag(setting, &is_set, why))
		refuse("%s", why);
	if (!is_set)
		return NULL;
	n = option->arg ? asprintf(&word, "--%s=%s", setting->key, setting->value)
			: asprintf(&word, "--%s", setting->key);
	if (n < 0)
		refuse("out of memory");
	return word;
}

static bool is_of_job(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (begins(argv[i], "--private-session"))
			return true;
	return false;
}

char **configured_arguments(const struct argp_option *options, int *argc, char **argv)
{
	static struct config_file file;
	char why[CONFIG_FILE_WHY_BYTES];
	char **words;
	int count = 0;

	if (is_of_job(*argc, argv))
		return argv;
	if (config_file_read(&file, why))
		refuse("%s", why);
	if (!file.count)
		return argv;
	words = calloc((size_t)*argc + file.count + 1, sizeof(*words));
	if (!words)
		refuse("out of memory");
	words[0] = argv[0];
	for (size_t i = 0; i < file.count; i++) {
		char *word =
			is_ours(file.settings + i) ? make_word(options, file.settings + i) : NULL;

		if (word && !config_file_is_overridden(&file, file.settings + i))
			words[++count] = word;
	}
	memcpy(words + 1 + count, argv + 1, (size_t)(*argc - 1) * sizeof(*words));
	*argc += count;
	return words;
}
