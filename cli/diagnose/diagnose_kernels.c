// SPDX-License-Identifier: MIT
/* Kernels, by name, that one rank has and others do not have, or that it has less often. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/diagnose/diagnose_private.h"
#include "cli/trace/id_map.h"
#include "proto/base/cleanup.h"

/* Number of names in a finding, and their maximum length. */
#define NAMES_MAX  3
#define NAME_BYTES 60

enum kind { KIND_LACKS, KIND_FEW, KIND_ALONE, KINDS };

/* What is reported about one process. */
struct sentence {
	char names[NAMES_MAX * (NAME_BYTES + 40)];
	size_t count;
};

struct comparing {
	const struct measure *measure;
	const struct diagnose_shares *shares;
	uint64_t *counts; /* of each process: number of the current kernel */
	uint64_t *sorted; /* the counts that are compared, sorted */
	/* Processes whose rows contain as many kernels as those of any other. */
	size_t *of_interest;
	size_t interest;
	struct sentence *sentences;	   /* KINDS for each process */
	const struct measure_cell **cells; /* sorted by kernel */
	size_t cell_count;
	struct idmap share_of; /* keyed by process id */
};

static void comparing_done(struct comparing *c)
{
	free(c->counts);
	free(c->sorted);
	free(c->of_interest);
	free(c->sentences);
	free(c->cells);
	idmap_done(&c->share_of);
}

static int compare_cells(const void *a, const void *b)
{
	const struct measure_cell *x = *(const struct measure_cell *const *)a;
	const struct measure_cell *y = *(const struct measure_cell *const *)b;

	return (x->kernel > y->kernel) - (x->kernel < y->kernel);
}

static int compare_counts(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void prepare(struct comparing *c)
{
	size_t n = c->shares->count + 1;
	const struct measure *m = c->measure;

	c->counts = xcalloc(n, sizeof(*c->counts));
	c->sorted = xcalloc(n, sizeof(*c->sorted));
	c->of_interest = xcalloc(n, sizeof(*c->of_interest));
	c->sentences = xcalloc(n * KINDS, sizeof(*c->sentences));
	c->cells = xcalloc(m->cell_count + 1, sizeof(*c->cells));
	for (size_t i = 0; i < c->shares->count; i++) {
		uint32_t *at = idmap_at(&c->share_of, c->shares->at[i].first->process_id);

		*at = (uint32_t)i;
		/*
		 * A process that has few kernels in total, or few rows, was reported for that
		 * already.
		 */
		if (diagnose_has_rows(c->shares->at + i, c->shares->most))
			c->of_interest[c->interest++] = i;
	}
	for (size_t i = 0; i < m->cell_count; i++)
		if (m->cells[i].kernel != MEASURE_NO_KERNEL)
			c->cells[c->cell_count++] = m->cells + i;
	if (c->cell_count)
		qsort(c->cells, c->cell_count, sizeof(*c->cells), compare_cells);
}

__attribute__((format(printf, 4, 5))) static void note(
	struct comparing *c, size_t share, enum kind kind, const char *format, ...)
{
	struct sentence *s = c->sentences + share * KINDS + kind;
	size_t length = strlen(s->names);
	va_list args;

	if (s->count++ >= NAMES_MAX)
		return;
	if (length)
		length += (size_t)snprintf(s->names + length, sizeof(s->names) - length, ", ");
	va_start(args, format);
	(void)vsnprintf(s->names + length, sizeof(s->names) - length, format, args);
	va_end(args);
}

/* Kernels that its rows lack may have been any kernel. */
static double may_have(const struct comparing *c, size_t share)
{
	const struct diagnose_share *of = c->shares->at + share;

	return (double)c->counts[share] + fmax(of->expected - (double)of->stored, 0);
}

/* True if only @share has any, whatever the others lost. */
static bool is_alone(const struct comparing *c, size_t share)
{
	for (size_t i = 0; i < c->interest; i++)
		if (c->of_interest[i] != share &&
			may_have(c, c->of_interest[i]) >= (double)c->counts[share])
			return false;
	return true;
}

/*
 * Compares with the median of the others, the lower one of two; of two ranks, each is compared with
 * the other.
 */
static void judge_kernel(struct comparing *c, uint32_t kernel)
{
	const char *name = c->measure->kernels[kernel].name;
	size_t having = 0, last = 0;
	uint64_t middle;

	for (size_t i = 0; i < c->interest; i++) {
		c->sorted[i] = c->counts[c->of_interest[i]];
		having += c->sorted[i] > 0;
		if (c->sorted[i])
			last = c->of_interest[i];
	}
	qsort(c->sorted, c->interest, sizeof(*c->sorted), compare_counts);
	middle = c->sorted[c->interest == 2 ? 1 : (c->interest - 1) / 2];
	if (having == 1 && c->interest > 2 && is_alone(c, last))
		note(c, last, KIND_ALONE, "%" PRIu64 " x %.*s", c->counts[last], NAME_BYTES, name);
	for (size_t i = 0; i < c->interest && middle; i++) {
		uint64_t count = c->counts[c->of_interest[i]];

		if (may_have(c, c->of_interest[i]) * 100 >= (double)middle * DIAGNOSE_LOW_PCT)
			continue;
		if (!count && having + 1 == c->interest)
			note(c, c->of_interest[i], KIND_LACKS, "%.*s", NAME_BYTES, name);
		else
			note(c, c->of_interest[i], KIND_FEW, "%" PRIu64 " of %" PRIu64 " x %.*s",
				count, middle, NAME_BYTES, name);
	}
}

static void judge_kernels(struct comparing *c)
{
	size_t end;

	for (size_t i = 0; i < c->cell_count; i = end) {
		memset(c->counts, 0, c->shares->count * sizeof(*c->counts));
		for (end = i; end < c->cell_count && c->cells[end]->kernel == c->cells[i]->kernel;
			end++) {
			uint32_t at = idmap_find(&c->share_of, c->cells[end]->process_id);

			if (at != IDMAP_NONE)
				c->counts[at] += c->cells[end]->sums.calls;
		}
		judge_kernel(c, c->cells[i]->kernel);
	}
}

static void tell(struct comparing *c, struct diagnose *d, size_t share)
{
	static const struct {
		enum diagnose_level level;
		const char *before, *of_two, *after;
	} words[KINDS] = {
		[KIND_LACKS] = {DIAGNOSE_MISSING, "has none of what all other ranks have",
			"has none of what the other rank has",
			"; does it do other work, or was its queue not followed?"},
		[KIND_FEW] = {DIAGNOSE_LOW, "less than half of what the rank in the middle has",
			"less than half of what the other rank has", ""},
		[KIND_ALONE] = {DIAGNOSE_NOTE, "is the only one with", "is the only one with",
			"; another library, shape or tuning there?"},
	};

	for (int kind = 0; kind < KINDS; kind++) {
		const struct sentence *s = c->sentences + share * KINDS + kind;
		char more[48] = "";

		if (!s->count)
			continue;
		if (s->count > NAMES_MAX)
			snprintf(more, sizeof(more), " and %zu more kernels", s->count - NAMES_MAX);
		diagnose_add(d, words[kind].level, c->shares->at + share, "%s: %s%s%s",
			c->interest == 2 ? words[kind].of_two : words[kind].before, s->names, more,
			words[kind].after);
		d->findings[d->count - 1].is_of_kernels = true;
	}
}

void diagnose_kernels(
	struct diagnose *d, const struct summary *s, const struct diagnose_shares *shares)
{
	CLEANUP(comparing_done) struct comparing c = {.measure = s->measure, .shares = shares};

	prepare(&c);
	if (c.interest < 2)
		return;
	judge_kernels(&c);
	for (size_t i = 0; i < c.interest; i++)
		tell(&c, d, c.of_interest[i]);
}
