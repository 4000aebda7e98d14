// SPDX-License-Identifier: MIT
#include "cli/trace/steps/step_kinds.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "proto/base/cleanup.h"

#define CLASSES	   STEP_KINDS_CLASSES
#define COPY_CLASS 0x636f7079u

/* Counts by name and grid, and by name alone. */
struct sketch {
	uint32_t by_work[CLASSES], by_name[CLASSES];
};

struct shape {
	uint32_t work, name;
};

struct place {
	size_t process, step;
	int64_t start_ns, end_ns;
};

struct finding {
	const struct trace *trace;
	const struct steps *steps;
	struct step_kinds *kinds;
	struct sketch *sketches; /* of all steps, by process */
	size_t *first;		 /* index of the first step of each process */
	struct place *places;	 /* all steps in the order of time */
	struct shape *shapes;	 /* as those of the trace */
	bool is_by_name;	 /* grids are of no use */
};

static void finding_done(struct finding *f)
{
	free(f->sketches);
	free(f->first);
	free(f->places);
	free(f->shapes);
}

void step_kinds_free_p(struct step_kinds **kinds)
{
	struct step_kinds *k = *kinds;

	if (!k)
		return;
	for (size_t i = 0; k->of_process && i < k->processes; i++)
		free(k->of_process[i]);
	free(k->of_process);
	free(k->at);
	free(k);
	*kinds = NULL;
}

/* splitmix64's finalizer, of Sebastiano Vigna's public domain code. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* ---- what steps launch ----------------------------------------------------------------- */

/* Names are compared by their hashes, because ids differ between files. */
static void hash_shapes(struct finding *f)
{
	f->shapes = xcalloc(f->trace->shape_count + 1, sizeof(*f->shapes));
	for (size_t i = 0; i < f->trace->shape_count; i++) {
		const struct trace_shape *shape = f->trace->shapes + i;
		uint64_t name = shape->kernel ? mix(shape->kernel->hash) : 0, work = name;

		for (int k = 0; k < TRACE_SIZES; k++)
			work = mix(work ^ (uint64_t)shape->size[k]);
		f->shapes[i] =
			(struct shape){(uint32_t)(work % CLASSES), (uint32_t)(name % CLASSES)};
	}
}

static void count_launch(
	struct finding *f, int64_t process_id, int64_t at_ns, uint32_t work, uint32_t name)
{
	const struct steps_process *process = steps_of(f->steps, process_id);
	const struct step *step = process ? steps_find(process, at_ns) : NULL;
	struct sketch *sketch;

	if (!step)
		return;
	sketch = f->sketches + f->first[process - f->steps->processes] + (step - process->at);
	sketch->by_work[work]++;
	sketch->by_name[name]++;
}

static int count_launches(struct finding *f)
{
	CLEANUP(query_rows_free_p) struct query_rows *copies = NULL;
	uint32_t copy = (uint32_t)(mix(COPY_CLASS) % CLASSES);
	int r = 0;

	QUERY_EACH (r, f->trace->query, "lane_rows", rows) {
		size_t at = trace_shape(f->trace, query_integer(rows, 0));

		if (at == f->trace->shape_count || query_is_null(rows, 1))
			continue;
		count_launch(f, f->trace->shapes[at].process_id, query_integer(rows, 1),
			f->shapes[at].work, f->shapes[at].name);
	}
	if (!r)
		r = query_ask(f->trace->query, "copy_times", &copies);
	while (!r && (r = query_next(copies)) > 0) {
		r = 0;
		count_launch(f, query_integer(copies, 0), query_integer(copies, 1), copy, copy);
	}
	return r;
}

/* ---- similar steps --------------------------------------------------------------------- */

static const uint32_t *counts_of(const struct sketch *sketch, bool by_name)
{
	return by_name ? sketch->by_name : sketch->by_work;
}

/*
 * Compares the share of launches that two steps have in common (Ruzicka's similarity); without
 * launches it is 1.
 */
static bool are_alike(const uint32_t *a, const uint32_t *b)
{
	uint64_t both = 0, all = 0;

	for (size_t i = 0; i < CLASSES; i++) {
		both += a[i] < b[i] ? a[i] : b[i];
		all += a[i] < b[i] ? b[i] : a[i];
	}
	return both * 100 >= all * STEP_KINDS_ALIKE_PCT;
}

/*
 * Each step belongs to the first kind whose first step is like it. Returns the number of kinds, or
 * STEP_KINDS_MAX + 1 if there are too many.
 */
static size_t sort_steps(struct finding *f, bool by_name)
{
	const struct sketch *firsts[STEP_KINDS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < f->steps->step_count; i++) {
		const struct place *place = f->places + i;
		const struct sketch *own = f->sketches + f->first[place->process] + place->step;
		size_t k = 0;

		while (k < count &&
			!are_alike(counts_of(own, by_name), counts_of(firsts[k], by_name)))
			k++;
		if (k == STEP_KINDS_MAX)
			return STEP_KINDS_MAX + 1;
		if (k == count)
			firsts[count++] = own;
		f->kinds->of_process[place->process][place->step] = (uint8_t)k;
	}
	return count;
}

double step_kinds_similarity(const struct step_kind *a, const struct step_kind *b)
{
	bool is_by_name = a->is_by_name || b->is_by_name;
	double both = 0, all = 0;

	if (!a->steps || !b->steps)
		return 0;
	for (size_t i = 0; i < CLASSES; i++) {
		double x = (double)(is_by_name ? a->by_name : a->by_work)[i] / (double)a->steps;
		double y = (double)(is_by_name ? b->by_name : b->by_work)[i] / (double)b->steps;

		both += x < y ? x : y;
		all += x < y ? y : x;
	}
	return all > 0 ? 100 * both / all : 100;
}

static bool is_too_many(const struct finding *f, size_t count)
{
	return count > STEP_KINDS_MAX ||
	       (count > 2 && count * STEP_KINDS_STEPS_LEAST > f->steps->step_count);
}

/* If every batch has another size, grids are of no use: then names decide, or nothing does. */
static size_t find_kinds(struct finding *f)
{
	size_t count = sort_steps(f, false);

	if (is_too_many(f, count)) {
		f->is_by_name = true;
		count = sort_steps(f, true);
	}
	if (!is_too_many(f, count))
		return count;
	for (size_t p = 0; p < f->steps->count; p++)
		memset(f->kinds->of_process[p], 0, f->steps->processes[p].count);
	return 1;
}

/* ---- figures of kinds ------------------------------------------------------------------ */

static int compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void name_kind(struct step_kind *kind, const char *text)
{
	size_t n = 0;

	for (; text && *text && n + 1 < sizeof(kind->name); text++)
		if (!isdigit((unsigned char)*text))
			kind->name[n++] = *text;
	while (n && strchr(" #:-_.", kind->name[n - 1]))
		n--;
	kind->name[n] = '\0';
}

static bool has_name(const struct step_kind *kind, const char *text)
{
	struct step_kind other;

	name_kind(&other, text);
	return !strcmp(kind->name, other.name);
}

static void add_step(struct finding *f, size_t p, size_t i)
{
	const struct step *step = f->steps->processes[p].at + i;
	const struct sketch *sketch = f->sketches + f->first[p] + i;
	struct step_kind *kind = f->kinds->at + f->kinds->of_process[p][i];
	int64_t length;

	if (__builtin_sub_overflow(step->end_ns, step->start_ns, &length) || length < 0)
		length = 0;
	if (!kind->steps++)
		name_kind(kind, step->text);
	else if (kind->name[0] && !has_name(kind, step->text))
		kind->name[0] = '\0';
	kind->total_ns += (uint64_t)length;
	if (length > kind->longest_ns)
		kind->longest_ns = length;
	kind->is_by_name = f->is_by_name;
	for (size_t k = 0; k < CLASSES; k++) {
		kind->launches += sketch->by_name[k];
		kind->by_name[k] += sketch->by_name[k];
		kind->by_work[k] += sketch->by_work[k];
	}
}

/* A name that two kinds share does not identify either. */
static void keep_own_names(struct step_kinds *kinds)
{
	bool is_shared[STEP_KINDS_MAX] = {0};

	for (size_t i = 0; i < kinds->count; i++)
		for (size_t k = 0; k < kinds->count; k++)
			is_shared[i] |= i != k && !strcmp(kinds->at[i].name, kinds->at[k].name);
	for (size_t i = 0; i < kinds->count; i++)
		if (is_shared[i])
			kinds->at[i].name[0] = '\0';
}

static void find_medians(struct finding *f)
{
	const struct steps *steps = f->steps;
	CLEANUP(free_p) int64_t *lengths = xcalloc(steps->step_count + 1, sizeof(*lengths));

	for (size_t k = 0; k < f->kinds->count; k++) {
		size_t n = 0;

		for (size_t p = 0; p < steps->count; p++)
			for (size_t i = 0; i < steps->processes[p].count; i++) {
				const struct step *step = steps->processes[p].at + i;

				if (f->kinds->of_process[p][i] == k &&
					!__builtin_sub_overflow(
						step->end_ns, step->start_ns, lengths + n))
					n++;
			}
		qsort(lengths, n, sizeof(*lengths), compare_times);
		f->kinds->at[k].median_ns = n ? lengths[n / 2] : 0;
	}
}

/* Sorts the kinds by total time, the longest first. */
static void sort_kinds(struct finding *f)
{
	struct step_kinds *kinds = f->kinds;
	struct step_kind sorted[STEP_KINDS_MAX];
	uint8_t place[STEP_KINDS_MAX];

	for (size_t i = 0; i < kinds->count; i++) {
		size_t before = 0;

		for (size_t k = 0; k < kinds->count; k++)
			before += kinds->at[k].total_ns > kinds->at[i].total_ns ||
				  (kinds->at[k].total_ns == kinds->at[i].total_ns && k < i);
		place[i] = (uint8_t)before;
		sorted[before] = kinds->at[i];
	}
	memcpy(kinds->at, sorted, kinds->count * sizeof(*sorted));
	for (size_t p = 0; p < f->steps->count; p++)
		for (size_t i = 0; i < f->steps->processes[p].count; i++)
			kinds->of_process[p][i] = place[kinds->of_process[p][i]];
}

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static void sort_places(struct finding *f)
{
	size_t count = 0;

	f->places = xcalloc(f->steps->step_count + 1, sizeof(*f->places));
	for (size_t p = 0; p < f->steps->count; p++)
		for (size_t i = 0; i < f->steps->processes[p].count; i++) {
			const struct step *step = f->steps->processes[p].at + i;

			f->places[count++] = (struct place){p, i, step->start_ns, step->end_ns};
		}
	qsort(f->places, count, sizeof(*f->places), compare_places);
}

static int fill(struct finding *f)
{
	const struct steps *steps = f->steps;
	struct step_kinds *kinds = f->kinds;
	size_t count = 0;
	int r;

	kinds->of_process = xcalloc(steps->count + 1, sizeof(*kinds->of_process));
	kinds->at = xcalloc(STEP_KINDS_MAX, sizeof(*kinds->at));
	f->first = xcalloc(steps->count + 1, sizeof(*f->first));
	kinds->processes = steps->count;
	for (size_t p = 0; p < steps->count; p++) {
		f->first[p] = count;
		count += steps->processes[p].count;
		kinds->of_process[p] = xcalloc(steps->processes[p].count + 1, 1);
	}
	if (steps->source == STEPS_WHOLE || count > STEP_KINDS_STEPS_MAX)
		return 0;
	f->sketches = xcalloc(count + 1, sizeof(*f->sketches));
	hash_shapes(f);
	r = count_launches(f);
	if (r)
		return r;
	sort_places(f);
	kinds->count = find_kinds(f);
	for (size_t p = 0; p < steps->count; p++)
		for (size_t i = 0; i < steps->processes[p].count; i++)
			if (!steps->processes[p].at[i].is_unrecorded)
				add_step(f, p, i);
	sort_kinds(f);
	keep_own_names(kinds);
	find_medians(f);
	return 0;
}

int step_kinds_new(const struct trace *trace, const struct steps *steps, struct step_kinds **ret)
{
	CLEANUP(step_kinds_free_p) struct step_kinds *kinds = xcalloc(1, sizeof(*kinds));
	CLEANUP(finding_done)
	struct finding f = {.trace = trace, .steps = steps, .kinds = kinds};
	int r = fill(&f);

	if (!r)
		*ret = TAKE(kinds);
	return r;
}
