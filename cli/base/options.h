/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Options, in one style for every verb: argp parses them and prints the help; a check before it
 * reports every error in one clear line with a suggestion. A verb passes its argp (without --help,
 * which is added) and a parser, which calls opts_error() for bad values. These functions exit: with
 * 0 after --help, with CMD_USAGE (or 125, see OPTS_RUN) after an error.
 */
#include <argp.h>
#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/settings/config_file.h"
#include "proto/settings/selection.h"

/* Options end at the first argument, and errors exit with 125, as documented for `rtl run`. */
#define OPTS_RUN     1u
/* Options end at the first argument, which begins a command. */
#define OPTS_COMMAND 2u

/* The verb shows tables, so it also takes --wide and --color (render_be_wide(), color_choose()). */
#define OPTS_TABLE  4u
/* The verb takes its settings from rtl.conf (proto/settings/config_file.h); trace has those of run.
 */
#define OPTS_CONFIG 8u

/* Parses @argv (argv[0] is the verb) with @argp, whose parser gets @input. */
void opts_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);

/* For a parser: whether the current option comes from rtl.conf and not from the command line. */
bool opts_is_configured(void);

/*
 * Checks what rtl.conf has in @section for the verb of @argp and @flags, keys and values. Returns
 * false after a line with file and line of the first that is wrong, or if there is no process for
 * it.
 */
bool opts_check_settings(const struct argp *argp, const char *section, unsigned flags, void *input);

/* Prints "rtl VERB: <text>" and exits. For a parser, and for a verb after opts_parse(). */
_Noreturn void opts_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * The parser of a verb with one FILE|SESSION returns this for keys that it does not know: it stores
 * the argument in *@ret, and refuses a second one.
 */
error_t opts_file(int key, char *arg, const char **ret);

/* Checks the value of --socket: an empty one, as from a variable that is not set, is an error. */
const char *opts_socket(const char *path);

/*
 * Parses strictly: the whole text, no sign, no spaces; an error calls opts_error("--@name: ...").
 */
uint64_t opts_u64(const char *name, const char *text, uint64_t min, uint64_t max);
/* Returns the index of one of @count names (at least two); the error message lists all of them. */
size_t opts_choice(const char *name, const char *text, const char *const *names, size_t count);
/* Parses numbers like 0,3-5. */
void opts_list(const char *name, const char *text, struct choice_list *ret);
/*
 * Compiles a POSIX extended expression. The caller frees it if *@has is set, which is also how a
 * second one is detected.
 */
void opts_regex(const char *name, const char *text, bool *has, regex_t *ret);
/* Parses seconds with a fraction, returns ns. */
uint64_t opts_seconds(const char *name, const char *text, uint64_t min_ns, uint64_t max_ns);
/* Parses --device: true for the software GPU, false for real ones. */
bool opts_is_soft(const char *text);
/* Parses a name of proto/names/mode.h, for RTL_MODE. */
const char *opts_mode(const char *text);
/*
 * Checks the variables that a job would inherit (proto/settings/environment.h), while an error can
 * still be reported. @mode is that of --mode, which has priority over RTL_MODE; NULL if it was not
 * given.
 */
void opts_check_variables(const char *mode);
#define OPTS_MODE_HELP                                                                             \
	"what to record: lite, standard (default), full, hip, barriers, all, off; see RTL_MODE "   \
	"in "                                                                                      \
	"docs/commands.md"
