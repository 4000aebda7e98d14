// SPDX-License-Identifier: MIT
#include "cli/trace/steps/period.h"

#include <stdlib.h>

#include "cli/base/memory.h"
#include "proto/base/cleanup.h"

/* A kernel that occurs up to this many times in a period still votes for it. */
#define PERIOD_REPEATS	  4
#define PERIOD_CANDIDATES 24
/* Multiples of the period repeat as well as it does, and slightly better because of noise. */
#define PERIOD_TIE	  0.03
/* The kernel that begins a period occurs once in each, except for what was not recorded. */
#define PERIOD_ONCE_SLACK 0.05

struct occurrence {
	int64_t kernel_id;
	size_t at;
};

struct candidate {
	size_t lag, votes;
};

struct candidates {
	struct candidate at[PERIOD_CANDIDATES];
	size_t count;
};

struct search {
	const struct period_item *items;
	size_t count;
	struct occurrence *sorted; /* sorted by kernel and position */
	size_t *distances;	   /* room for one kernel's distances */
	uint64_t *gaps;		   /* room for one kernel's gaps */
	int64_t *reach;		   /* for each item: when all items before it had ended */
};

static void search_done(struct search *search)
{
	free(search->sorted);
	free(search->distances);
	free(search->gaps);
	free(search->reach);
}

static int compare_occurrences(const void *a, const void *b)
{
	const struct occurrence *x = a, *y = b;

	if (x->kernel_id != y->kernel_id)
		return x->kernel_id < y->kernel_id ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static int compare_sizes(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return (x > y) - (x < y);
}

static int compare_gaps(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Returns the end of the occurrences of the kernel at @from. */
static size_t find_end(const struct search *s, size_t from)
{
	size_t to = from;

	while (to < s->count && s->sorted[to].kernel_id == s->sorted[from].kernel_id)
		to++;
	return to;
}

/* Returns the most frequent distance; 0 if none occurs twice. */
static size_t find_mode(size_t *distances, size_t count)
{
	size_t best = 0, most = 1, run = 0;

	if (!count)
		return 0;
	qsort(distances, count, sizeof(*distances), compare_sizes);
	for (size_t i = 0; i < count; i++) {
		run = i && distances[i] == distances[i - 1] ? run + 1 : 1;
		if (run > most) {
			most = run;
			best = distances[i];
		}
	}
	return best;
}

/* The candidate with the fewest votes is replaced. */
static void vote(struct candidates *c, size_t lag)
{
	size_t least = 0;

	for (size_t i = 0; i < c->count; i++) {
		if (c->at[i].lag == lag) {
			c->at[i].votes++;
			return;
		}
		if (c->at[i].votes < c->at[least].votes)
			least = i;
	}
	if (c->count < PERIOD_CANDIDATES)
		c->at[c->count++] = (struct candidate){lag, 1};
	else if (c->at[least].votes == 1)
		c->at[least] = (struct candidate){lag, 1};
	else
		c->at[least].votes--; /* so that new candidates with many votes get in */
}

/* For each kernel, finds its distance from itself over 1 to PERIOD_REPEATS occurrences. */
static void find_candidates(struct search *s, struct candidates *ret)
{
	for (size_t from = 0, to; from < s->count; from = to) {
		to = find_end(s, from);
		for (size_t repeat = 1; repeat <= PERIOD_REPEATS; repeat++) {
			size_t n = 0, lag;

			for (size_t i = from; i + repeat < to; i++)
				s->distances[n++] = s->sorted[i + repeat].at - s->sorted[i].at;
			lag = find_mode(s->distances, n);
			if (lag >= PERIOD_KERNELS_MIN && s->count / lag >= PERIOD_COUNT_MIN)
				vote(ret, lag);
		}
	}
}

/*
 * Each kernel has the same weight: one that a step runs once is as good a sign of it as one that it
 * runs a thousand times, and so the loop over the layers in a step is not mistaken for a step.
 */
static double measure(const struct search *s, size_t lag)
{
	double sum = 0;
	size_t kernels = 0;

	for (size_t from = 0, to; from < s->count; from = to) {
		size_t same = 0, seen = 0;

		to = find_end(s, from);
		for (size_t i = from; i < to; i++) {
			size_t at = s->sorted[i].at;

			if (at + lag >= s->count)
				continue;
			seen++;
			same += s->items[at + lag].kernel_id == s->items[at].kernel_id;
		}
		/* A kernel that occurred once or twice is not part of a period. */
		if (!seen || to - from < PERIOD_COUNT_MIN)
			continue;
		sum += (double)same / (double)seen;
		kernels++;
	}
	return kernels ? sum / (double)kernels : 0;
}

static size_t choose(const struct search *s, const struct candidates *c, double *ret_confidence)
{
	double scores[PERIOD_CANDIDATES], best = 0;
	size_t chosen = 0;

	for (size_t i = 0; i < c->count; i++) {
		scores[i] = measure(s, c->at[i].lag);
		if (scores[i] > best)
			best = scores[i];
	}
	*ret_confidence = best;
	for (size_t i = 0; i < c->count; i++)
		if (scores[i] >= best - PERIOD_TIE && (!chosen || c->at[i].lag < chosen)) {
			chosen = c->at[i].lag;
			*ret_confidence = scores[i];
		}
	return chosen;
}

/* Returns the median of the times for which the queue was idle before this kernel. */
static uint64_t middle_gap(struct search *s, size_t from, size_t to)
{
	size_t n = 0;

	for (size_t i = from; i < to; i++) {
		size_t at = s->sorted[i].at;
		const struct period_item *item = s->items + at;

		if (!at || item->start_ns > item->end_ns)
			continue;
		s->gaps[n++] = item->start_ns > s->reach[at]
				       ? (uint64_t)item->start_ns - (uint64_t)s->reach[at]
				       : 0;
	}
	if (!n)
		return 0;
	qsort(s->gaps, n, sizeof(*s->gaps), compare_gaps);
	return s->gaps[(n - 1) / 2];
}

/*
 * Of the kernels that occur once per period, chooses the one before which the queue is idle
 * longest.
 */
static bool find_first(struct search *s, size_t lag, int64_t *ret_kernel_id)
{
	double wanted = (double)s->count / (double)lag;
	uint64_t longest = 0;
	size_t first = SIZE_MAX;

	for (size_t from = 0, to; from < s->count; from = to) {
		double n;
		uint64_t gap;

		to = find_end(s, from);
		n = (double)(to - from);
		if (n > wanted * (1 + PERIOD_ONCE_SLACK) + 1 ||
			n < wanted * (1 - PERIOD_ONCE_SLACK) - 1)
			continue;
		gap = middle_gap(s, from, to);
		if (first != SIZE_MAX &&
			(gap < longest || (gap == longest && s->sorted[from].at > first)))
			continue;
		longest = gap;
		first = s->sorted[from].at;
		*ret_kernel_id = s->sorted[from].kernel_id;
	}
	return first != SIZE_MAX;
}

static void prepare(struct search *s)
{
	int64_t reach = INT64_MIN;

	s->sorted = xcalloc(s->count + 1, sizeof(*s->sorted));
	s->distances = xcalloc(s->count + 1, sizeof(*s->distances));
	s->gaps = xcalloc(s->count + 1, sizeof(*s->gaps));
	s->reach = xcalloc(s->count + 1, sizeof(*s->reach));
	for (size_t i = 0; i < s->count; i++) {
		s->sorted[i] = (struct occurrence){s->items[i].kernel_id, i};
		s->reach[i] = reach;
		if (s->items[i].start_ns <= s->items[i].end_ns && s->items[i].end_ns > reach)
			reach = s->items[i].end_ns;
	}
	if (s->count)
		qsort(s->sorted, s->count, sizeof(*s->sorted), compare_occurrences);
}

void period_find(const struct period_item *items, size_t count, struct period *ret)
{
	CLEANUP(search_done) struct search s = {.items = items, .count = count};
	struct candidates candidates = {0};
	struct period period = {0};
	size_t lag;

	prepare(&s);
	find_candidates(&s, &candidates);
	lag = choose(&s, &candidates, &period.confidence);
	if (lag && period.confidence >= PERIOD_CONFIDENCE_MIN &&
		find_first(&s, lag, &period.first_kernel_id))
		period.kernels = lag;
	*ret = period;
}
