/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Options, in one style for every verb: argp for the table and the help, and in front of it a
 * scan that turns every mistake into one clear line with a suggestion. A verb gives its argp
 * (without --help, which is added) and a parser; the parser calls opts_error() for bad values.
 * These functions exit: 0 after --help, CMD_USAGE (or 125, see OPTS_RUN) after a mistake.
 */
#include <argp.h>
#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/settings/selection.h"

/* Options end at the first argument, and mistakes exit with 125: what `rtl run` promises. */
#define OPTS_RUN     1u
/* Options end at the first argument, which begins a command. */
#define OPTS_COMMAND 2u

/* The verb shows tables: it takes --wide, too, which is render_be_wide(). */
#define OPTS_TABLE   4u

/* Parse @argv (its [0] is the verb) with @argp; its parser gets @input. */
void opts_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);

/* "rtl VERB: <text>", then exit. For a parser, and for a verb after opts_parse(). */
_Noreturn void opts_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * For the parser of a verb of one FILE|SESSION, to return for keys that it does not know: takes the
 * argument into *@ret, of which there may be one.
 */
error_t opts_file(int key, char *arg, const char **ret);

/* The value of --socket: an empty one, as of a variable that is not set, is a mistake. */
const char *opts_socket(const char *path);

/* Strict values: the whole text, no sign, no spaces; a mistake is opts_error("--@name: ..."). */
uint64_t opts_u64(const char *name, const char *text, uint64_t min, uint64_t max);
/* The index of one of @count names (at least two); a mistake names them all. */
size_t opts_choice(const char *name, const char *text, const char *const *names, size_t count);
/* Of ranks, as in 0,3-5. */
void opts_ranks(const char *text, struct choice_list *ret);
/* POSIX extended; to be freed where *@has is set, which is also how a second one finds the first.
 */
void opts_regex(const char *name, const char *text, bool *has, regex_t *ret);
/* Seconds with a fraction, in ns. */
uint64_t opts_seconds(const char *name, const char *text, uint64_t min_ns, uint64_t max_ns);
/* Of --device: the software GPU, or real ones? */
bool opts_is_soft(const char *text);
/* A name of proto/names/mode.h, for RTL_MODE. */
const char *opts_mode(const char *text);
/* The variables that a job would inherit (proto/settings/environment.h), where a mistake can still
 * be said.
 * @mode: that of --mode, which stands over RTL_MODE; NULL: not given. */
void opts_check_variables(const char *mode);
#define OPTS_MODE_HELP                                                                             \
	"what to record: lite, standard (default), full, hip, off; see RTL_MODE in the README"
