/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Shared by the verbs that read one database: its name and the format among the options, opening
 * it, and the messages for errors and missing data. Writes to stderr for its verb (command.h). One
 * thread.
 */
#include "cli/base/options.h"
#include "cli/database/query.h"
#include "cli/output/table.h"
#include "cli/database/session/verdict.h"
#include "proto/settings/selection.h"

struct verb {
	const char *name; /* FILE or SESSION; NULL for the newest */
	enum render_format format;
	bool is_strict;
};

/* Rows for a verb's table of options. */
#define VERB_JSON                                                                                  \
	{                                                                                          \
		"json", 'j', NULL, 0, "one document with everything", 0                            \
	}
#define VERB_CSV(text)                                                                             \
	{                                                                                          \
		"csv", 'c', NULL, 0, text, 0                                                       \
	}
/* CSV of one of several tables; the verb handles 'c' itself, because the user chooses a table. */
#define VERB_CSV_TABLE(text)                                                                       \
	{                                                                                          \
		"csv", 'c', "TABLE", OPTION_ARG_OPTIONAL, text, 0                                  \
	}
#define VERB_STRICT                                                                                \
	{                                                                                          \
		"strict", 's', NULL, 0, VERB_STRICT_HELP, 0                                        \
	}
#define VERB_STRICT_HELP "exit 3 when anything is missing, or nothing was dispatched"

/* A parser returns this for keys that it does not know: it handles those above, and the name. */
error_t verb_parse(int key, char *arg, struct verb *ret);

/* Accepts only one of --json and --csv; exits like opts_error(). */
void verb_take_format(enum render_format *format, enum render_format wanted);

/*
 * For verbs without FILE: returns the newest database, allocated, after a line that names it; NULL
 * after a line that there is none.
 */
char *verb_newest(void);

/* Returns CMD_OK; CMD_BAD_INPUT after a line with the reason. */
int verb_open(const struct verb *verb, struct query **ret);
/*
 * For verbs that take ranks: returns CMD_OK if the file has all of @ranks, the value of --@option;
 * CMD_BAD_INPUT after a line that names those that it has not, and those that it has.
 */
int verb_check_ranks(struct query *query, const char *option, const struct choice_list *ranks);
/*
 * Reports why something failed: @error (may be NULL), otherwise the error of the query, otherwise
 * that memory is short. Returns CMD_BAD_INPUT.
 */
int verb_fail(const struct query *query, const char *error);
/*
 * Returns CMD_LOSSY after a line if --strict was given and something is missing; otherwise CMD_OK.
 */
int verb_check(const struct verb *verb, const struct verdict *verdict);
