// SPDX-License-Identifier: MIT
#include "cli/trace/steps_private.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/settings/selection.h"
#include "proto/base/cleanup.h"
#include "proto/settings/regex_cost.h"

struct pattern {
	regex_t regex;
	bool is_compiled;
};

static void pattern_done(struct pattern *pattern)
{
	if (pattern->is_compiled)
		regfree(&pattern->regex);
}

static int compile(const char *text, struct pattern *ret, char error[QUERY_ERROR_BYTES])
{
	const char *trouble = pattern_trouble(text);
	char why[128];
	int r;

	if (trouble) {
		snprintf(error, QUERY_ERROR_BYTES, "--steps %.300s: %s", text, trouble);
		return -EINVAL;
	}
	r = regcomp(&ret->regex, text, REG_EXTENDED | REG_NOSUB);
	ret->is_compiled = !r;
	if (!r)
		return 0;
	regerror(r, &ret->regex, why, sizeof(why));
	snprintf(error, QUERY_ERROR_BYTES, "--steps %.300s: %s", text, why);
	return -EINVAL;
}

/* Reads the first number of a text; false if there is none that fits. */
static bool read_number(const char *text, int64_t *ret)
{
	char *end;
	long long value;

	text += strcspn(text, "0123456789");
	errno = 0;
	value = strtoll(text, &end, 10);
	if (end == text || errno)
		return false;
	*ret = value;
	return true;
}

/* A marker within a step belongs to it, such as "step 3" within "iteration 3" on another thread. */
static bool is_inside(const struct steps_process *process, int64_t start_ns)
{
	const struct step *last = process->count ? process->at + process->count - 1 : NULL;

	return last && !last->is_open && start_ns < last->end_ns;
}

static int add_marker(struct steps *steps, const struct query_rows *rows)
{
	struct steps_process *process = steps_process(steps, query_integer(rows, 0));
	bool is_mark = query_text(rows, 1) && !strcmp(query_text(rows, 1), "mark");
	struct step step = {
		.start_ns = query_integer(rows, 3),
		.is_open = is_mark || query_is_null(rows, 4),
		.end_ns = query_integer(rows, 4),
	};
	int r;

	if (!process)
		return -ENOMEM;
	if (is_inside(process, step.start_ns))
		return 0;
	if (step.is_open || step.end_ns < step.start_ns)
		step.end_ns = step.start_ns;
	/* If its end is not known, a step lasts until the next one. */
	if (process->count && process->at[process->count - 1].is_open)
		process->at[process->count - 1].end_ns = step.start_ns;
	step.text = strdup(query_text(rows, 2));
	r = step.text ? steps_add(steps, process, step) : -ENOMEM;
	if (r)
		free(step.text);
	return r;
}

/* A step that the next one ended is no longer open; numbers are used only if they increase. */
static void finish(struct steps_process *process)
{
	bool counts_up = true;
	int64_t number = 0, before = INT64_MIN;

	for (size_t i = 0; i < process->count; i++) {
		struct step *step = process->at + i;

		step->is_open = step->is_open && i + 1 == process->count;
		counts_up = counts_up && read_number(step->text, &number) && number > before;
		before = step->number = number;
	}
	for (size_t i = 0; i < process->count && !counts_up; i++)
		process->at[i].number = (int64_t)i;
}

int steps_from_markers(struct steps_work *work, const char *regex, char error[QUERY_ERROR_BYTES])
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	CLEANUP(pattern_done) struct pattern pattern = {0};
	struct steps *steps = work->steps;
	int r = compile(regex ? regex : CHOICE_STEP_MARKER_DEFAULT, &pattern, error);

	if (!r)
		r = query_ask(work->query, "step_markers", &rows);
	while (!r && (r = query_next(rows)) > 0) {
		const char *text = query_text(rows, 2);

		r = 0;
		if (text && !regexec(&pattern.regex, text, 0, NULL, 0))
			r = add_marker(steps, rows);
	}
	steps->is_too_many = r == -E2BIG;
	if (steps->is_too_many && regex)
		snprintf(error, QUERY_ERROR_BYTES,
			"--steps %.300s: more than %d match; name longer ones", regex, STEPS_MAX);
	if (steps->is_too_many)
		steps_clear(steps);
	if (r)
		return !steps->is_too_many ? r : regex ? -EINVAL : 0;
	for (size_t i = 0; i < steps->count; i++)
		finish(steps->processes + i);
	if (regex && !steps->step_count) {
		snprintf(error, QUERY_ERROR_BYTES,
			"--steps %.300s: no roctx range or mark matches; rtl query FILE 'SELECT "
			"DISTINCT text FROM rtl_marker' lists them",
			regex);
		return -EINVAL;
	}
	return 0;
}
