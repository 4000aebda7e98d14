// SPDX-License-Identifier: MIT
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/command.h"
#include "cli/diff/diff.h"
#include "cli/base/options.h"
#include "cli/output/table.h"
#include "cli/base/message.h"
#include "cli/base/progress.h"
#include "cli/database/session/verb.h"
#include "proto/base/cleanup.h"

#define DIFF_KERNELS 20

enum { KEY_LABEL = 0x500, KEY_REFERENCE, KEY_ALLOW, KEY_THRESHOLD, KEY_STEPS };

static const struct argp_option options[] = {
	{"label", KEY_LABEL, "TEXT", 0, "name of a FILE, in their order (default: its session)", 0},
	{"reference", KEY_REFERENCE, "LABEL", 0,
		"the FILE that the others are compared with (the first)", 0},
	{"allow", KEY_ALLOW, "WHAT", 0,
		"compare although these differ: ranks, coverage, steps, modes, losses, device, "
		"categories, kernels; or all",
		0},
	{"threshold", KEY_THRESHOLD, "PCT", 0,
		"exit 5 if a step takes PCT longer, and more than steps vary; kernel=PCT: if a "
		"kernel of 1 % or more does; rank=PCT: if a rank does, or its computation",
		0},
	{"steps", KEY_STEPS, "REGEX", 0, "ranges that begin a step, as in rtl timeline", 0},
	{"categories", 'C', "FILE", 0,
		"rules that say what kind of work a kernel is (RTL_CATEGORIES)", 0},
	{"top", 'n', "COUNT", 0,
		"number of kernels to list, most changed first (default 20; 0: all)", 0},
	{"json", 'j', NULL, 0, "one document with everything", 0},
	{"csv", 'c', "TABLE", OPTION_ARG_OPTIONAL,
		"one table: timeline (default), kinds, ranks, kernels, replaced, collectives, "
		"stragglers",
		0},
	{0},
};

struct diff_cmd {
	struct diff_options what;
	struct diff_thresholds thresholds;
	const char *names[DIFF_FILES_MAX], *labels[DIFF_FILES_MAX], *reference;
	size_t count, label_count;
	bool allowed[DIFF_OBSTACLES];
	enum render_format format;
	enum diff_table csv_table;
	uint64_t kernels;
};

static void allow(struct diff_cmd *o, char *list)
{
	char *rest = NULL;

	for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		bool is_known = false;

		for (int i = 0; i < DIFF_EMPTY; i++)
			if (!strcmp(word, "all") ||
				!strcmp(word, diff_obstacle_name((enum diff_obstacle)i)))
				is_known = o->allowed[i] = true;
		if (!is_known)
			opts_error("--allow %s: not ranks, coverage, steps, modes, losses, device, "
				   "categories, kernels or all",
				word);
	}
}

static void parse_threshold(struct diff_cmd *o, const char *arg)
{
	const char *is = strchr(arg, '='), *number = is ? is + 1 : arg;
	double *to = &o->thresholds.step_pct;
	char *end;
	double percent;

	if (is && !strncmp(arg, "kernel=", 7))
		to = &o->thresholds.kernel_pct;
	else if (is && !strncmp(arg, "rank=", 5))
		to = &o->thresholds.rank_pct;
	else if (is && strncmp(arg, "step=", 5) != 0)
		opts_error("--threshold %s: not PCT, step=PCT, kernel=PCT or rank=PCT", arg);
	errno = 0;
	percent = strtod(number, &end);
	if (end == number || *end || errno || !(percent >= 0 && percent <= 1e6))
		opts_error("--threshold %s: not a number of per cent", arg);
	*to = percent;
}

static enum diff_table parse_table(const char *text)
{
	const char *names[DIFF_TABLES];

	for (int i = 0; i < DIFF_TABLES; i++)
		names[i] = diff_tables[i].name;
	return text ? (enum diff_table)opts_choice("csv", text, names, DIFF_TABLES)
		    : DIFF_TIMELINE_TABLE;
}

static void add(const char **list, size_t *count, const char *text)
{
	if (*count == DIFF_FILES_MAX)
		opts_error("at most %d FILEs at a time", DIFF_FILES_MAX);
	list[(*count)++] = text;
}

static error_t parse_argument(struct diff_cmd *o, int key, char *arg)
{
	switch (key) {
	case ARGP_KEY_ARG:
		add(o->names, &o->count, arg);
		return 0;
	case ARGP_KEY_END:
		if (o->count < 2)
			opts_error("needs two FILEs or SESSIONs, or more");
		if (o->label_count > o->count)
			opts_error("more --label than FILEs");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct diff_cmd *o = state->input;

	switch (key) {
	case KEY_LABEL:
		add(o->labels, &o->label_count, arg);
		return 0;
	case KEY_REFERENCE:
		o->reference = arg;
		return 0;
	case KEY_ALLOW:
		allow(o, arg);
		return 0;
	case KEY_THRESHOLD:
		parse_threshold(o, arg);
		return 0;
	case KEY_STEPS:
		o->what.steps = arg;
		return 0;
	case 'C':
		o->what.categories = arg;
		return 0;
	case 'n':
		o->kernels = opts_u64("top", arg, 0, UINT32_MAX);
		return 0;
	case 'j':
		verb_take_format(&o->format, RENDER_JSON);
		return 0;
	case 'c':
		verb_take_format(&o->format, RENDER_CSV);
		o->csv_table = parse_table(arg);
		return 0;
	default:
		return parse_argument(o, key, arg);
	}
}

static const struct argp parser = {options, parse, "FILE|SESSION...",
	"What changed between two runs, or several: the time of a step and where it goes, kernels, "
	"collectives, of each rank. Runs that cannot be compared are refused, with why (exit 4)."
	"\vREF, NEW: of the reference, and of the other. DELTA: new - reference. RATIO: new / "
	"reference. OF RANKS: the least and the greatest ratio of a rank. +-: what the steps alone "
	"explain. CLEAR: the change is beyond that. WAITED: for the others; LATE: behind them.",
	NULL, NULL, NULL};

struct sides {
	struct diff_side *at[DIFF_FILES_MAX];
	struct diff *diffs[DIFF_FILES_MAX];
	size_t count, diff_count, reference;
};

static void sides_done(struct sides *sides)
{
	for (size_t i = 0; i < sides->diff_count; i++)
		diff_free_p(sides->diffs + i);
	for (size_t i = 0; i < sides->count; i++)
		diff_side_free_p(sides->at + i);
}

/* Replaces equal labels by the path of the file, and equal paths by the place on the command
 * line. */
static void tell_apart(struct sides *sides)
{
	for (size_t i = 0; i < sides->count; i++)
		for (size_t k = 0; k < i; k++) {
			char *label = sides->at[i]->label;

			if (!strcmp(label, sides->at[k]->label))
				snprintf(label, DIFF_LABEL_BYTES, "%s", sides->at[i]->path);
			if (!strcmp(label, sides->at[k]->label))
				snprintf(label, DIFF_LABEL_BYTES, "%zu", i + 1);
		}
}

static int find_reference(const struct diff_cmd *o, struct sides *sides)
{
	if (!o->reference)
		return 0;
	for (size_t i = 0; i < sides->count; i++)
		if (!strcmp(o->reference, sides->at[i]->label) ||
			!strcmp(o->reference, o->names[i])) {
			sides->reference = i;
			return 0;
		}
	say("diff: --reference %s: no FILE is called that", o->reference);
	return -ENOENT;
}

static int load(const struct diff_cmd *o, struct sides *sides)
{
	char error[QUERY_ERROR_BYTES];
	int r;

	for (size_t i = 0; i < o->count; i++) {
		r = diff_side_new(o->names[i], i < o->label_count ? o->labels[i] : NULL, &o->what,
			error, sides->at + i);
		if (r) {
			say("%s", error);
			return r;
		}
		sides->count++;
	}
	tell_apart(sides);
	r = find_reference(o, sides);
	for (size_t i = 0; i < sides->count && !r; i++) {
		if (i == sides->reference)
			continue;
		r = diff_new(sides->at[sides->reference], sides->at[i], &o->thresholds,
			sides->diffs + sides->diff_count);
		if (r)
			say("out of memory");
		else
			sides->diff_count++;
	}
	return r;
}

static bool is_refused(const struct diff *diff, const bool *allowed)
{
	for (size_t i = 0; i < diff->gate.count; i++)
		if (!allowed[diff->gate.at[i].what])
			return true;
	return false;
}

/* Names the words of --allow that would let the comparison pass; writes "" if an empty side rules
 * that out. */
static void put_cure(const struct diff *diff, const bool *allowed, char *ret, size_t bytes)
{
	size_t at = 0;

	*ret = '\0';
	for (size_t i = 0; i < diff->gate.count; i++) {
		enum diff_obstacle what = diff->gate.at[i].what;

		if (what == DIFF_EMPTY)
			return;
		if (!allowed[what])
			at += (size_t)snprintf(ret + at, at < bytes ? bytes - at : 0, "%s%s",
				at ? "," : "; compare all the same: --allow ",
				diff_obstacle_name(what));
	}
}

/* Prints the reason why the first incomparable pair is refused. Returns true if there is one. */
static bool refuse(const struct sides *sides, const bool *allowed)
{
	for (size_t i = 0; i < sides->diff_count; i++) {
		const struct diff *diff = sides->diffs[i];
		CLEANUP(free_p) char *why = NULL;
		char cure[128];

		if (!is_refused(diff, allowed))
			continue;
		why = diff_refusals(diff, allowed);
		put_cure(diff, allowed, cure, sizeof(cure));
		say("diff: %s cannot be compared with %s: %s%s", diff->side->label,
			diff->reference->label, why, cure);
		return true;
	}
	return false;
}

static void show(const struct diff_cmd *o, const struct diff_view *view)
{
	if (o->format == RENDER_JSON)
		diff_show_json(view, stdout);
	else if (!view->is_refused && o->format == RENDER_CSV)
		diff_show_csv(view, o->csv_table, stdout);
	else if (!view->is_refused)
		diff_show(view, stdout);
}

int cmd_diff(int argc, char **argv)
{
	struct diff_cmd o = {.format = RENDER_TABLE,
		.kernels = DIFF_KERNELS,
		.thresholds = {.step_pct = NAN, .kernel_pct = NAN, .rank_pct = NAN}};
	CLEANUP(sides_done) struct sides sides = {0};
	struct diff_view view;

	opts_parse(&parser, argc, argv, OPTS_TABLE, &o);
	if (load(&o, &sides))
		return CMD_BAD_INPUT;
	progress_end();
	view = (struct diff_view){.sides = sides.at,
		.side_count = sides.count,
		.reference = sides.reference,
		.diffs = sides.diffs,
		.diff_count = sides.diff_count,
		.is_refused = refuse(&sides, o.allowed),
		.thresholds = o.thresholds,
		.rows = o.kernels,
		.width = render_terminal_width(STDOUT_FILENO, 200)};
	show(&o, &view);
	if (view.is_refused)
		return CMD_NOT_COMPARABLE;
	for (size_t i = 0; i < sides.diff_count; i++)
		if (diff_is_regression(sides.diffs[i]))
			return CMD_REGRESSION;
	return CMD_OK;
}
