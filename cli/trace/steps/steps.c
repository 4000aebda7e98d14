// SPDX-License-Identifier: MIT
#include "cli/trace/steps/steps.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/base/array.h"
#include "cli/trace/steps/steps_internal.h"
#include "proto/base/cleanup.h"
#include "proto/settings/regex_cost.h"
#include "proto/settings/selection.h"

/* With this many steps the first one is not typical. */
#define STEPS_WARM 3

void steps_clear(struct steps *steps)
{
	for (size_t i = 0; i < steps->count; i++) {
		struct steps_process *process = steps->processes + i;

		for (size_t n = 0; n < process->count; n++)
			free(process->at[n].text);
		free(process->at);
		process->at = NULL;
		process->count = 0;
	}
	steps->step_count = 0;
}

void steps_free_p(struct steps **steps)
{
	struct steps *s = *steps;

	if (!s)
		return;
	steps_clear(s);
	free(s->processes);
	free(s);
	*steps = NULL;
}

static void work_done(struct steps_work *work)
{
	free(work->shapes);
}

/* Returns the first process that is not before @process_id. */
static size_t find_process(const struct steps *steps, int64_t process_id)
{
	return PARTITION_POINT(steps->count, i, steps->processes[i].process_id < process_id);
}

const struct steps_process *steps_of(const struct steps *steps, int64_t process_id)
{
	size_t at = find_process(steps, process_id);

	return at < steps->count && steps->processes[at].process_id == process_id
		       ? steps->processes + at
		       : NULL;
}

const struct step *steps_begun(const struct steps_process *process, int64_t time_ns)
{
	size_t after = PARTITION_POINT(process->count, i, process->at[i].start_ns <= time_ns);

	return after ? process->at + after - 1 : NULL;
}

const struct step *steps_find(const struct steps_process *process, int64_t time_ns)
{
	const struct step *step = steps_begun(process, time_ns);

	return step && time_ns < step->end_ns ? step : NULL;
}

struct steps_process *steps_process(struct steps *steps, int64_t process_id)
{
	size_t at = find_process(steps, process_id);

	if (at < steps->count && steps->processes[at].process_id == process_id)
		return steps->processes + at;
	steps->processes = grow_by_one(steps->processes, steps->count, sizeof(*steps->processes));
	memmove(steps->processes + at + 1, steps->processes + at,
		(steps->count - at) * sizeof(*steps->processes));
	steps->count++;
	steps->processes[at] = (struct steps_process){.process_id = process_id};
	return steps->processes + at;
}

int steps_add(struct steps *steps, struct steps_process *process, struct step step)
{
	if (steps->step_count == STEPS_MAX)
		return -E2BIG;
	process->at = grow_by_one(process->at, process->count, sizeof(*process->at));
	process->at[process->count++] = step;
	steps->step_count++;
	return 0;
}

static void add_shapes(struct steps_work *work)
{
	const struct trace *trace = work->trace;

	work->shapes = xcalloc(trace->shape_count + 1, sizeof(*work->shapes));
	for (size_t i = 0; i < trace->lane_count; i++)
		steps_process(work->steps, trace->lanes[i].process_id);
}

/* Adds processes that copied and dispatched nothing. */
static int load_copiers(struct steps_work *work)
{
	int r = 0;

	QUERY_EACH (r, work->trace->query, "copy_processes", rows)
		steps_process(work->steps, query_integer(rows, 0));
	return r;
}

static void name_processes(struct steps_work *work)
{
	for (size_t i = 0; i < work->trace->shape_count; i++)
		work->shapes[i].process =
			find_process(work->steps, work->trace->shapes[i].process_id);
}

static void count_steps(struct steps *steps)
{
	steps->step_count = 0;
	for (size_t i = 0; i < steps->count; i++)
		steps->step_count += steps->processes[i].count;
}

/* Limits a window to the run of the process; false, with *ret unchanged, if they do not overlap. */
static bool limit(
	const struct steps_process *process, int64_t start_ns, int64_t end_ns, struct step *ret)
{
	if (start_ns < process->first_ns)
		start_ns = process->first_ns;
	if (end_ns > process->last_ns)
		end_ns = process->last_ns;
	if (end_ns <= start_ns)
		return false;
	ret->start_ns = start_ns;
	ret->end_ns = end_ns;
	return true;
}

/*
 * The first of several steps warms up, and waits for processes that start later. Steps in which its
 * GPUs did nothing are ignored for that.
 */
static void join(struct steps_process *process)
{
	struct step *first = process->at;
	int64_t warm_ns, end_ns;

	if (!process->count)
		return;
	warm_ns = first[process->count >= STEPS_WARM ? 1 : 0].start_ns;
	end_ns = first[process->count - 1].end_ns;
	for (size_t i = 1; i < process->count; i++)
		free(process->at[i].text);
	process->count = 1;
	if (!process->has_events) {
		first->start_ns = warm_ns;
		first->end_ns = end_ns;
	} else if (!limit(process, warm_ns, end_ns, first) &&
		   !limit(process, first->start_ns, end_ns, first)) {
		first->start_ns = process->first_ns;
		first->end_ns = process->last_ns;
	}
}

void steps_join(struct steps *steps)
{
	for (size_t i = 0; i < steps->count; i++)
		join(steps->processes + i);
	count_steps(steps);
}

/* Keeps the parts of the one step of @process that are within its recordings. */
static int keep_recorded(struct steps *steps, struct steps_process *process, const int64_t *from,
	const int64_t *to, size_t count)
{
	struct step whole;
	int r = 0;

	if (process->count != 1 || !count)
		return 0;
	whole = process->at[0];
	if (count == 1 && from[0] <= whole.start_ns && to[0] >= whole.end_ns)
		return 0;
	steps->has_unrecorded = true;
	process->count = 0;
	steps->step_count--;
	for (size_t i = 0; i < count && !r; i++) {
		struct step part = {.number = whole.number,
			.start_ns = from[i] > whole.start_ns ? from[i] : whole.start_ns,
			.end_ns = to[i] < whole.end_ns ? to[i] : whole.end_ns};

		if (part.end_ns > part.start_ns)
			r = steps_add(steps, process, part);
	}
	free(whole.text);
	return r;
}

int steps_keep_recorded(struct query *query, struct steps *steps)
{
	CLEANUP(free_p) int64_t *from = NULL;
	CLEANUP(free_p) int64_t *to = NULL;
	size_t count = 0, from_capacity = 0, to_capacity = 0;
	int64_t last = 0;
	int r = 0;

	QUERY_EACH (r, query, "recordings", rows) {
		int64_t process_id = query_integer(rows, 0);
		size_t at = find_process(steps, last);

		if (count && process_id != last) {
			if (at < steps->count && steps->processes[at].process_id == last)
				r = keep_recorded(steps, steps->processes + at, from, to, count);
			count = 0;
		}
		last = process_id;
		if (r || query_is_null(rows, 3))
			continue;
		GROW(from, count, from_capacity);
		GROW(to, count, to_capacity);
		from[count] = query_integer(rows, 3);
		to[count++] = query_is_null(rows, 4) ? INT64_MAX : query_integer(rows, 4);
	}
	if (!r && count) {
		size_t at = find_process(steps, last);

		if (at < steps->count && steps->processes[at].process_id == last)
			r = keep_recorded(steps, steps->processes + at, from, to, count);
	}
	return r;
}

int steps_take_whole(struct steps *steps, const char *why)
{
	int r = 0;

	steps_clear(steps);
	steps->source = STEPS_WHOLE;
	snprintf(steps->line, sizeof(steps->line),
		"steps: %s: the run of each rank is taken for one", why);
	for (size_t i = 0; i < steps->count && !r; i++) {
		struct steps_process *process = steps->processes + i;

		if (process->has_events)
			r = steps_add(steps, process,
				(struct step){
					.start_ns = process->first_ns, .end_ns = process->last_ns});
	}
	return r;
}

/* ---- steps of markers ------------------------------------------------------------------ */

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

	if (is_inside(process, step.start_ns))
		return 0;
	if (step.is_open || step.end_ns < step.start_ns)
		step.end_ns = step.start_ns;
	/* If its end is not known, a step lasts until the next one. */
	if (process->count && process->at[process->count - 1].is_open)
		process->at[process->count - 1].end_ns = step.start_ns;
	step.text = xstrdup(query_text(rows, 2));
	r = steps_add(steps, process, step);
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

/*
 * Returns 0; -EINVAL with @error; or the errors of query_open(). Leaves steps->step_count 0 if none
 * matches.
 */
static int from_markers(
	struct query *query, struct steps *steps, const char *regex, char error[QUERY_ERROR_BYTES])
{
	CLEANUP(pattern_done) struct pattern pattern = {0};
	int r = compile(regex ? regex : CHOICE_STEP_MARKER_DEFAULT, &pattern, error);

	QUERY_EACH (r, query, "step_markers", rows) {
		const char *text = query_text(rows, 2);

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

/* ---- steps that were not recorded ------------------------------------------------------ */

/* Returns true if less than a hundredth of a step lies within the recording: its marker is read a
 * little before the recording begins. */
static bool is_outside(const struct step *step, int64_t from_ns, int64_t to_ns)
{
	int64_t from = step->start_ns > from_ns ? step->start_ns : from_ns;
	int64_t to = step->end_ns < to_ns ? step->end_ns : to_ns;

	return to < from || to - from < (step->end_ns - step->start_ns) / 100;
}

/* Marks the steps outside of all recordings; both are times of the host. *@ret is how many. */
static int mark_unrecorded(struct steps_work *work, size_t *ret)
{
	struct steps *steps = work->steps;
	size_t at = steps->count;
	int r = 0;

	*ret = 0;
	QUERY_EACH (r, work->trace->query, "recordings", rows) {
		int64_t process_id = query_integer(rows, 0);
		bool is_first = at == steps->count || steps->processes[at].process_id != process_id;

		at = find_process(steps, process_id);
		if (at == steps->count || steps->processes[at].process_id != process_id)
			continue;
		for (size_t i = 0; i < steps->processes[at].count; i++) {
			struct step *step = steps->processes[at].at + i;
			int64_t to_ns = query_is_null(rows, 4) ? INT64_MAX : query_integer(rows, 4);
			bool is_out = query_is_null(rows, 3) ||
				      is_outside(step, query_integer(rows, 3), to_ns);

			step->is_unrecorded = is_out && (is_first || step->is_unrecorded);
		}
	}
	for (size_t i = 0; i < steps->count && !r; i++)
		for (size_t n = 0; n < steps->processes[i].count; n++)
			*ret += steps->processes[i].at[n].is_unrecorded;
	return r;
}

/* ---- all steps ------------------------------------------------------------------------- */

static int fill(struct steps_work *work, const char *regex, char error[QUERY_ERROR_BYTES])
{
	struct steps *steps = work->steps;
	char why[32], unrecorded[64] = "";
	size_t left_out = 0;
	int r;

	add_shapes(work);
	r = load_copiers(work);
	if (!r)
		r = from_markers(work->trace->query, steps, regex, error);
	if (!r)
		r = mark_unrecorded(work, &left_out);
	if (r)
		return r;
	name_processes(work);
	if (steps->is_too_many) {
		steps->source = STEPS_WHOLE;
	} else if (steps->step_count) {
		steps->source = STEPS_MARKERS;
		if (left_out)
			snprintf(unrecorded, sizeof(unrecorded), "; %zu more were not recorded",
				left_out);
		snprintf(steps->line, sizeof(steps->line), "steps: %zu from roctx markers%s",
			steps->step_count - left_out, unrecorded);
	} else {
		r = steps_find_period(work);
	}
	if (!r)
		r = steps_place(work);
	if (!r && steps->is_too_many) {
		snprintf(why, sizeof(why), "more than %d", STEPS_MAX);
		r = steps_take_whole(steps, why);
	}
	return r;
}

int steps_new(const struct trace *trace, const char *regex, char error[QUERY_ERROR_BYTES],
	struct steps **ret)
{
	CLEANUP(steps_free_p) struct steps *steps = xcalloc(1, sizeof(*steps));
	CLEANUP(work_done) struct steps_work work = {.trace = trace, .steps = steps};
	int r;

	error[0] = '\0';
	r = fill(&work, regex, error);
	if (r)
		return r;
	*ret = TAKE(steps);
	return 0;
}

int steps_new_marked(
	struct query *query, const char *regex, char error[QUERY_ERROR_BYTES], struct steps **ret)
{
	CLEANUP(steps_free_p) struct steps *steps = xcalloc(1, sizeof(*steps));
	int r;

	error[0] = '\0';
	r = from_markers(query, steps, regex, error);
	if (r)
		return r;
	steps->source = steps->step_count ? STEPS_MARKERS : STEPS_WHOLE;
	*ret = TAKE(steps);
	return 0;
}
