// SPDX-License-Identifier: MIT
#include "cli/base/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/color.h"
#include "cli/base/command.h"
#include "cli/base/escape.h"
#include "cli/base/message.h"
#include "proto/base/cleanup.h"
#include "proto/names/mode.h"
#include "proto/settings/regex_cost.h"
#include "proto/settings/environment.h"

#define OPTS_NAMES_MAX 64
/* Beyond those of the verbs. */
#define KEY_COLOR      0x10000

static const char *opts_verb = "";
static int opts_exit = CMD_USAGE;
/* Of rtl.conf, while its value is parsed; NULL: a value of the command line is. */
static const struct config_setting *opts_setting;

static const struct argp_option help_option[] = {
	{"help", 'h', NULL, 0, "show this and exit", -1},
	{0},
};

_Noreturn void opts_error(const char *format, ...)
{
	CLEANUP(free_p) char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	if (text && opts_setting)
		say("%s: %s:%u: %s", opts_verb, opts_setting->path, opts_setting->line, text);
	else
		say("%s: %s", opts_verb, text ? text : "out of memory");
	exit(opts_exit);
}

static bool ends(const struct argp_option *option)
{
	return !option->name && !option->key && !option->doc && !option->group;
}

static const struct argp_option *find_short(const struct argp_option *option, int key)
{
	for (; option && !ends(option); option++)
		if (option->key == key)
			return option;
	return NULL;
}

/* Finds an exact name, or the only one that begins with it. */
static const struct argp_option *find_long(
	const struct argp_option *options, const char *name, size_t length, bool *ret_ambiguous)
{
	const struct argp_option *found = NULL;

	*ret_ambiguous = false;
	for (const struct argp_option *o = options; o && !ends(o); o++) {
		if (!o->name || strncmp(o->name, name, length))
			continue;
		if (!o->name[length])
			return o;
		if (found)
			*ret_ambiguous = true;
		found = o;
	}
	return found;
}

static _Noreturn void refuse_long(const struct argp_option *options, const char *text, int length)
{
	const char *names[OPTS_NAMES_MAX];
	char word[64];
	const char *nearest;
	size_t count = 0;

	for (; options && !ends(options) && count < OPTS_NAMES_MAX - 1; options++)
		if (options->name)
			names[count++] = options->name;
	names[count++] = "help";
	snprintf(word, sizeof(word), "%.*s", length, text);
	nearest = say_nearest(word, names, count);
	if (nearest)
		opts_error("unknown option --%.*s; did you mean --%s?", length, text, nearest);
	opts_error("unknown option --%.*s; see rtl %s --help", length, text, opts_verb);
}

static void show_help(const struct argp *argp)
{
	struct argp_child children[] = {{argp, 0, NULL, 0}, {0}};
	struct argp whole = {help_option, NULL, argp->args_doc, argp->doc, children, NULL, NULL};
	CLEANUP(free_p) char *name = NULL;

	/* The parent's texts are shown once; those of the child are different. */
	whole.args_doc = NULL;
	whole.doc = NULL;
	if (asprintf(&name, "rtl %s", opts_verb) < 0)
		name = NULL;
	argp_help(&whole, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC,
		name ? name : (char *)opts_verb);
	if (!fflush(stdout) && !ferror(stdout))
		exit(CMD_OK);
	say("cannot write to stdout: %m");
	exit(opts_exit == CMD_USAGE ? CMD_BAD_INPUT : opts_exit);
}

/* Checks one argument that begins with "--". Returns how many arguments it takes. */
static int scan_long(const struct argp *argp, const char *text, bool is_last)
{
	size_t length = strcspn(text, "=");
	const struct argp_option *option;
	bool is_ambiguous;

	option = find_long(argp->options, text, length, &is_ambiguous);
	if (!option && length && !strncmp("help", text, length))
		show_help(argp);
	if (!option)
		refuse_long(argp->options, text, (int)length);
	if (is_ambiguous)
		opts_error("option --%.*s is ambiguous", (int)length, text);
	if (text[length] && !option->arg)
		opts_error("option --%s takes no value", option->name);
	if (text[length] || !option->arg || option->flags & OPTION_ARG_OPTIONAL)
		return 1;
	if (is_last)
		opts_error("option --%s needs %s", option->name, option->arg);
	return 2;
}

/* Checks one argument of short options, after its "-". */
static int scan_short(const struct argp *argp, const char *text, bool is_last)
{
	for (; *text; text++) {
		const struct argp_option *option = find_short(argp->options, *text);

		if (!option && *text == 'h')
			show_help(argp);
		if (!option)
			opts_error("unknown option -%c; see rtl %s --help", *text, opts_verb);
		if (!option->arg)
			continue;
		if (text[1] || option->flags & OPTION_ARG_OPTIONAL)
			return 1;
		if (is_last)
			opts_error("option -%c needs %s", *text, option->arg);
		return 2;
	}
	return 1;
}

/*
 * argp's own messages take two lines and name no alternative, so errors are found before argp runs.
 */
static void scan(const struct argp *argp, int argc, char **argv, bool stop_at_argument)
{
	for (int i = 1; i < argc;) {
		const char *text = argv[i];
		bool is_last = i + 1 == argc;

		if (!strcmp(text, "--"))
			return;
		if (text[0] != '-' || !text[1]) {
			if (stop_at_argument)
				return;
			i++;
		} else if (text[1] == '-') {
			i += scan_long(argp, text + 2, is_last);
		} else {
			i += scan_short(argp, text + 1, is_last);
		}
	}
}

/* Further options of verbs that show tables. */
static const struct argp_option table_options[] = {
	{"wide", 'w', NULL, 0, "whole names and all columns, whatever the terminal's width", 0},
	{"color", KEY_COLOR, "auto|always|never", 0,
		"the verdict in colour; auto: on a terminal, unless NO_COLOR is set", 0},
	{0},
};
static argp_parser_t verb_parser;

static error_t parse_table_option(int key, char *arg, struct argp_state *state)
{
	static const char *const when[] = {
		[COLOR_AUTO] = "auto", [COLOR_ALWAYS] = "always", [COLOR_NEVER] = "never"};

	if (key == 'w')
		render_be_wide();
	else if (key == KEY_COLOR)
		color_choose((enum color_when)opts_choice("color", arg, when, 3));
	else
		return verb_parser(key, arg, state);
	return 0;
}

/* Adds table_options to those of @argp, in @options; false if there are too many. */
static bool add_table_options(
	const struct argp *argp, struct argp_option options[OPTS_NAMES_MAX], struct argp *ret)
{
	size_t count = 0;

	for (const struct argp_option *o = argp->options; o && !ends(o); o++)
		count++;
	if (count + sizeof(table_options) / sizeof(*table_options) > OPTS_NAMES_MAX)
		return false;
	if (count)
		memcpy(options, argp->options, count * sizeof(*options));
	memcpy(options + count, table_options, sizeof(table_options));
	verb_parser = argp->parser;
	*ret = *argp;
	ret->options = options;
	ret->parser = parse_table_option;
	return true;
}

/* ---- rtl.conf ------------------------------------------------------------------------------- */

/* Arguments that it adds, before those of the command line, and the settings that they are made of.
 */
static int configured;
static int parsed; /* options so far */
static const struct config_setting **settings;
static argp_parser_t configured_parser;

bool opts_is_configured(void)
{
	return opts_setting != NULL;
}

/* Finds the option of @argp that @setting names. Returns NULL with "PATH:LINE: why" in @why if
 * there is none, or if a flag is neither yes nor no. */
static const struct argp_option *find_setting(const struct argp *argp,
	const struct config_setting *setting, char why[CONFIG_FILE_WHY_BYTES])
{
	bool flag, is_ambiguous;
	const struct argp_option *option =
		find_long(argp->options, setting->key, strlen(setting->key), &is_ambiguous);

	/* A beginning of a name is for the fingers. */
	if (!option || strcmp(option->name, setting->key)) {
		snprintf(why, CONFIG_FILE_WHY_BYTES,
			"%s:%u: [%s] has no key %s; they are the long options of rtl %s --help",
			setting->path, setting->line, setting->section, setting->key,
			setting->section);
		return NULL;
	}
	if (!option->arg && config_setting_flag(setting, &flag, why))
		return NULL;
	return option;
}

/* --KEY=VALUE, or --KEY of a flag; NULL: something else stands over it. */
static char *make_word(const struct argp *argp, const struct config_file *file,
	const struct config_setting *setting)
{
	char why[CONFIG_FILE_WHY_BYTES], variable[64];
	const struct argp_option *option = find_setting(argp, setting, why);
	bool is_set = true;
	char *word;
	int n;

	if (!option)
		opts_error("%s", why);
	if (!option->arg)
		(void)config_setting_flag(setting, &is_set, why);
	if (!is_set || config_file_is_overridden(file, setting) ||
		config_setting_variable(setting, variable))
		return NULL;
	n = option->arg ? asprintf(&word, "--%s=%s", setting->key, setting->value)
			: asprintf(&word, "--%s", setting->key);
	if (n < 0)
		opts_error("out of memory");
	return word;
}

/* @argv with what rtl.conf has for the verb behind its name. Both stay to the end of the program,
 * as do other arguments. */
static char **add_configured(const struct argp *argp, int *argc, char **argv)
{
	static struct config_file file;
	static char **words;
	const char *section = strcmp(argv[0], "trace") ? argv[0] : "run";
	char why[CONFIG_FILE_WHY_BYTES];

	if (config_file_read(&file, why))
		opts_error("%s", why);
	words = calloc((size_t)*argc + file.count + 1, sizeof(*words));
	settings = calloc(file.count + 1, sizeof(*settings));
	if (!words || !settings)
		opts_error("out of memory");
	words[0] = argv[0];
	for (size_t i = 0; i < file.count; i++) {
		char *word = strcmp(file.settings[i].section, section)
				     ? NULL
				     : make_word(argp, &file, file.settings + i);

		if (!word)
			continue;
		settings[configured] = file.settings + i;
		words[++configured] = word;
	}
	memcpy(words + 1 + configured, argv + 1, (size_t)(*argc - 1) * sizeof(*words));
	*argc += configured;
	return words;
}

/* Options have keys up to the special ones of argp; that of an argument is 0. */
static error_t parse_configured(int key, char *arg, struct argp_state *state)
{
	bool is_option = key && key < ARGP_KEY_END;
	error_t r;

	/* Those of rtl.conf come first, one a word. state->next does not tell them from short
	 * options that share a word. */
	opts_setting = is_option && parsed < configured ? settings[parsed] : NULL;
	parsed += is_option;
	r = configured_parser(key, arg, state);
	opts_setting = NULL;
	return r;
}

static void parse_all(const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
	struct argp_option options[OPTS_NAMES_MAX];
	struct argp with_table, with_settings;
	error_t r;

	if (flags & OPTS_TABLE && add_table_options(argp, options, &with_table))
		argp = &with_table;
	argp_err_exit_status = opts_exit;
	scan(argp, argc, argv, flags & (OPTS_RUN | OPTS_COMMAND));
	if (flags & OPTS_CONFIG) {
		argv = add_configured(argp, &argc, argv);
		configured_parser = argp->parser;
		with_settings = *argp;
		with_settings.parser = parse_configured;
		argp = &with_settings;
	}
	r = argp_parse(argp, argc, argv,
		ARGP_NO_HELP | ARGP_NO_EXIT | ARGP_NO_ERRS |
			(flags & (OPTS_RUN | OPTS_COMMAND) ? ARGP_IN_ORDER : 0u),
		NULL, input);
	if (r)
		opts_error("%s; see rtl %s --help",
			r == EINVAL || r == ARGP_ERR_UNKNOWN ? "unexpected argument" : strerror(r),
			opts_verb);
}

void opts_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
	opts_verb = argv[0];
	opts_exit = flags & OPTS_RUN ? CMD_RUN_FAILED : CMD_USAGE;
	parse_all(argp, argc, argv, flags, input);
}

/* A bad value ends the process that parses it, so another process does. */
bool opts_check_settings(const struct argp *argp, const char *section, unsigned flags, void *input)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		char *argv[] = {strdup(section), NULL};

		opts_verb = "config";
		opts_exit = CMD_BAD_INPUT;
		parse_all(argp, 1, argv, flags, input);
		_exit(0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

error_t opts_file(int key, char *arg, const char **ret)
{
	if (key == ARGP_KEY_ARG && *ret)
		opts_error("one FILE or SESSION at a time");
	if (key == ARGP_KEY_ARG && !*arg)
		opts_error("the name of FILE or SESSION is empty");
	if (key == ARGP_KEY_ARG)
		*ret = arg;
	return key == ARGP_KEY_ARG || key == ARGP_KEY_END ? 0 : ARGP_ERR_UNKNOWN;
}

const char *opts_socket(const char *path)
{
	if (!*path)
		opts_error("--socket: the path is empty");
	return path;
}

uint64_t opts_u64(const char *name, const char *text, uint64_t min, uint64_t max)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || value < min || value > max)
		opts_error("--%s %s: not a number from %llu to %llu", name, text,
			(unsigned long long)min, (unsigned long long)max);
	return value;
}

size_t opts_choice(const char *name, const char *text, const char *const *names, size_t count)
{
	char list[256];
	size_t used = 0;

	for (size_t i = 0; i < count; i++)
		if (!strcmp(text, names[i]))
			return i;
	for (size_t i = 0; i < count && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
			!i		? ""
			: i + 1 < count ? ", "
					: " or ",
			names[i]);
	opts_error("--%s=%s: not %s", name, text, list);
}

void opts_list(const char *name, const char *text, struct choice_list *ret)
{
	if (choice_parse_list(text, ret))
		opts_error("--%s=%s: not a list of numbers, as in 0,3-5", name, text);
}

void opts_regex(const char *name, const char *text, bool *has, regex_t *ret)
{
	const char *trouble = pattern_trouble(text);
	char why[128];
	int r;

	if (*has)
		regfree(ret);
	if (trouble)
		opts_error("--%s=%s: %s", name, text, trouble);
	r = regcomp(ret, text, REG_EXTENDED);
	*has = !r;
	if (!r)
		return;
	regerror(r, ret, why, sizeof(why));
	opts_error("--%s=%s: %s", name, text, why);
}

uint64_t opts_seconds(const char *name, const char *text, uint64_t min_ns, uint64_t max_ns)
{
	double value;
	char *end;

	value = strtod(text, &end);
	if (strspn(text, "0123456789.") != strlen(text) || end == text || *end ||
		value * 1e9 < (double)min_ns || value * 1e9 > (double)max_ns)
		opts_error("--%s %s: not seconds from %g to %g", name, text, (double)min_ns / 1e9,
			(double)max_ns / 1e9);
	return (uint64_t)(value * 1e9 + 0.5);
}

bool opts_is_soft(const char *text)
{
	static const char *const names[] = {"real", "soft"};

	return opts_choice("device", text, names, 2);
}

const char *opts_mode(const char *text)
{
	char names[128] = "";
	size_t used = 0;

	if (*text && mode_find(text))
		return text;
	for (const struct mode *mode = modes; mode->name && used < sizeof(names); mode++)
		used += (size_t)snprintf(
			names + used, sizeof(names) - used, "%s%s", used ? ", " : "", mode->name);
	opts_error("--mode %s: none of %s", text, names);
}

void opts_check_variables(const char *mode)
{
	char why[VARIABLE_WHY_BYTES];

	for (const struct variable *v = variables; v->name; v++) {
		const char *text = getenv(v->name);

		if (!text || (mode && !strcmp(v->name, "RTL_MODE")))
			continue;
		if (variable_check(v->name, text, why))
			opts_error("%s; correct or unset it", why);
	}
}
