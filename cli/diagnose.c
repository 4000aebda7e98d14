// SPDX-License-Identifier: MIT
#include "cli/diagnose.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "proto/cleanup.h"

/* A process, all its GPUs together. */
struct share {
	const struct summary_rank *first;
	uint64_t kernels, busy_ns;
};

struct shares {
	struct share *at;
	size_t count;
	uint64_t most;
};

static void shares_done(struct shares *shares)
{
	free(shares->at);
}

void diagnose_free_p(struct diagnose **diagnose)
{
	if (!*diagnose)
		return;
	for (size_t i = 0; i < (*diagnose)->count; i++)
		free((*diagnose)->findings[i].text);
	free((*diagnose)->findings);
	free(*diagnose);
	*diagnose = NULL;
}

const char *diagnose_level_name(enum diagnose_level level)
{
	static const char *const names[] = {"NOTE", "LOW", "MISSING"};

	return names[level];
}

__attribute__((format(printf, 4, 5))) static int add(struct diagnose *d, enum diagnose_level level,
	const struct share *share, const char *format, ...)
{
	struct diagnose_finding *grown =
		reallocarray(d->findings, d->count + 1, sizeof(*d->findings));
	struct diagnose_finding finding = {.level = level};
	va_list args;
	int n;

	if (!grown)
		return -ENOMEM;
	d->findings = grown;
	if (share) {
		finding.has_process = true;
		finding.has_rank = share->first->has_rank;
		finding.rank = share->first->rank;
		finding.pid = share->first->pid;
		finding.process_id = share->first->process_id;
		finding.kernels = share->kernels;
	}
	va_start(args, format);
	n = vasprintf(&finding.text, format, args);
	va_end(args);
	if (n < 0)
		return -ENOMEM;
	grown[d->count++] = finding;
	return 0;
}

/* The rows of a process lie together. */
static int collect(const struct summary *s, struct shares *ret)
{
	ret->at = calloc(s->rank_count + 1, sizeof(*ret->at));
	if (!ret->at)
		return -ENOMEM;
	for (size_t i = 0; i < s->rank_count; i++) {
		const struct summary_rank *rank = s->ranks + i;
		struct share *last = ret->at + ret->count - 1;

		if (!ret->count || last->first->process_id != rank->process_id) {
			last = ret->at + ret->count++;
			last->first = rank;
		}
		last->kernels += rank->dispatched;
		last->busy_ns += rank->has_measure ? rank->lane.busy_ns : 0;
		if (last->kernels > ret->most)
			ret->most = last->kernels;
	}
	return 0;
}

/* A launcher or a data loader dispatches nothing and has no rank: no reason to worry. */
static int judge_silence(struct diagnose *d, const struct share *share)
{
	const char *note = share->first->note ? share->first->note : "dispatched nothing";

	if (!share->first->has_rank)
		return add(
			d, DIAGNOSE_NOTE, share, "no kernels: %s; a launcher or a helper?", note);
	return add(d, DIAGNOSE_MISSING, share,
		"no kernels: %s; did it work on the CPU, die early, or use another runtime?", note);
}

static int judge(struct diagnose *d, const struct share *share, uint64_t most)
{
	uint64_t percent = most ? (uint64_t)((double)share->kernels * 100 / (double)most) : 0;

	if (!share->kernels)
		return judge_silence(d, share);
	if (!share->first->has_rank || percent >= DIAGNOSE_NOTE_PCT)
		return 0;
	return add(d, percent < DIAGNOSE_LOW_PCT ? DIAGNOSE_LOW : DIAGNOSE_NOTE, share,
		"%" PRIu64 " kernels, %" PRIu64 " %% of the rank with most (%" PRIu64
		"); state: %s",
		share->kernels, percent, most, share->first->state);
}

/* Did about as many kernels as any. */
static bool is_comparable(const struct share *share, uint64_t most)
{
	return share->first->has_rank && share->kernels &&
	       (double)share->kernels * 100 >= (double)most * DIAGNOSE_NOTE_PCT;
}

static int compare_busy(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* As many kernels, but longer at work than the rank in the middle: the others wait for it. */
static int find_stragglers(struct diagnose *d, const struct shares *shares)
{
	CLEANUP(free_p) uint64_t *busy = calloc(shares->count + 1, sizeof(*busy));
	size_t count = 0;
	uint64_t middle;
	int r = 0;

	if (!busy)
		return -ENOMEM;
	for (size_t i = 0; i < shares->count; i++)
		if (is_comparable(shares->at + i, shares->most))
			busy[count++] = shares->at[i].busy_ns;
	if (count < 2)
		return 0;
	qsort(busy, count, sizeof(*busy), compare_busy);
	middle = busy[(count - 1) / 2];
	for (size_t i = 0; i < shares->count && !r; i++) {
		const struct share *share = shares->at + i;
		double percent = middle ? (double)share->busy_ns * 100 / (double)middle - 100 : 0;

		if (is_comparable(share, shares->most) && percent >= DIAGNOSE_SLOW_PCT)
			r = add(d, DIAGNOSE_NOTE, share,
				"straggler? its GPU was busy %.0f %% longer than that of the rank "
				"in "
				"the middle",
				percent);
	}
	return r;
}

/* Ranks between those that are here: a shim that was not loaded leaves exactly such a hole. */
static int find_holes(struct diagnose *d, const struct shares *shares)
{
	int64_t expected = -1;
	int r = 0;

	for (size_t i = 0; i < shares->count && !r; i++) {
		const struct summary_rank *rank = shares->at[i].first;

		if (!rank->has_rank)
			continue;
		if (expected >= 0 && rank->rank > expected)
			r = add(d, DIAGNOSE_MISSING, NULL,
				"%" PRId64 " ranks from %" PRId64
				" on never said hello, though rank %" PRId64
				" did; is HSA_TOOLS_LIB inherited there?",
				rank->rank - expected, expected, rank->rank);
		expected = rank->rank + 1;
	}
	return r;
}

static int judge_all(struct diagnose *d, const struct summary *s, const struct shares *shares)
{
	int r = 0;

	if (!shares->count)
		return add(d, DIAGNOSE_MISSING, NULL,
			"no process said hello: HSA_TOOLS_LIB not inherited, no HSA used, or a "
			"static "
			"runtime; see rtl doctor");
	if (!shares->most)
		r = add(d, DIAGNOSE_MISSING, NULL,
			"no process dispatched anything; see rtl doctor");
	for (size_t i = 0; i < shares->count && !r; i++)
		r = judge(d, shares->at + i, shares->most);
	if (!r)
		r = find_stragglers(d, shares);
	if (!r)
		r = find_holes(d, shares);
	if (!r && !s->verdict->is_complete && !s->verdict->counts.live)
		r = add(d, DIAGNOSE_NOTE, NULL,
			"something is missing; rtl summary says what and why");
	return r;
}

int diagnose_new(const struct summary *summary, struct diagnose **ret)
{
	CLEANUP(diagnose_free_p) struct diagnose *d = calloc(1, sizeof(*d));
	CLEANUP(shares_done) struct shares shares = {0};
	int r = d ? collect(summary, &shares) : -ENOMEM;

	if (!r)
		r = judge_all(d, summary, &shares);
	if (r)
		return r;
	*ret = TAKE(d);
	return 0;
}
