/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What the verbs that ask one database have in common: its name and the format among the options,
 * opening it, and what is said where that fails or something is missing. Talks to stderr for its
 * verb (command.h). One thread.
 */
#include "cli/base/options.h"
#include "cli/database/query.h"
#include "cli/output/table.h"
#include "cli/database/verdict.h"

struct verb {
	const char *name; /* FILE or SESSION; NULL: the newest */
	enum render_format format;
	bool is_strict;
};

/* Rows of a verb's table of options. */
#define VERB_JSON                                                                                  \
	{                                                                                          \
		"json", 'j', NULL, 0, "one document with everything", 0                            \
	}
#define VERB_CSV(text)                                                                             \
	{                                                                                          \
		"csv", 'c', NULL, 0, text, 0                                                       \
	}
/* One of several tables; the verb takes 'c' itself, as it has a table to choose. */
#define VERB_CSV_TABLE(text)                                                                       \
	{                                                                                          \
		"csv", 'c', "TABLE", OPTION_ARG_OPTIONAL, text, 0                                  \
	}
#define VERB_STRICT                                                                                \
	{                                                                                          \
		"strict", 's', NULL, 0, VERB_STRICT_HELP, 0                                        \
	}
#define VERB_STRICT_HELP "exit 3 when anything is missing, or nothing was dispatched"

/* For a parser, to return for keys that it does not know: those above, and the name. */
error_t verb_parse(int key, char *arg, struct verb *ret);

/* One of --json and --csv, which do not go together; exits as opts_error() does. */
void verb_take_format(enum render_format *format, enum render_format wanted);

/* Where no FILE is named: the newest database, after a line that names it, malloc'ed; NULL after a
 * line that there is none. */
char *verb_newest(void);

/* CMD_OK; CMD_BAD_INPUT after a line that says why. */
int verb_open(const struct verb *verb, struct query **ret);
/* Says why something failed: @error, else what the query tells, else that there was no memory;
 * CMD_BAD_INPUT. @error may be NULL. */
int verb_fail(const struct query *query, const char *error);
/* CMD_LOSSY after a line, where --strict was asked for and something is missing; else CMD_OK. */
int verb_check(const struct verb *verb, const struct verdict *verdict);
