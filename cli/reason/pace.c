// SPDX-License-Identifier: MIT
#include "cli/reason/pace.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/trace/id_map.h"
#include "proto/base/cleanup.h"

/* With fewer runs a kernel has no meaningful fastest tenth. */
#define RUNS_LEAST 3

struct shape {
	uint32_t lane, work; /* lane: UINT32_MAX if not requested */
};

struct work {
	int64_t kernel_id, words[TRACE_SIZES];
};

struct run {
	uint32_t work, lane;
	int64_t ns;
};

/* The runs of one work on one lane. */
struct sample {
	uint32_t lane;
	double fastest_ns, all_ns;
};

struct ratio {
	uint32_t lane;
	int64_t kernel_id;
	double ratio, weight;
};

struct finding {
	const struct trace *trace;
	struct pace_lane *lanes;
	size_t lane_count;
	const struct straggler_span *spans;
	size_t span_count;
	struct shape *shapes; /* as those of the trace */
	struct work *works;
	size_t work_count, work_capacity;
	struct idmap work_of_hash;
	struct run *runs;
	size_t run_count, run_capacity;
	struct ratio *ratios;
	size_t ratio_count, ratio_capacity;
};

static void finding_done(struct finding *f)
{
	idmap_done(&f->work_of_hash);
	free(f->shapes);
	free(f->works);
	free(f->runs);
	free(f->ratios);
}

static uint32_t find_lane(const struct finding *f, int64_t process_id, int64_t gpu_id)
{
	for (size_t i = 0; i < f->lane_count; i++)
		if (f->lanes[i].process_id == process_id && f->lanes[i].gpu_id == gpu_id)
			return (uint32_t)i;
	return UINT32_MAX;
}

/* Finds the index of @work. If the hashes of two works collide, the next hash is tried. */
static int find_work(struct finding *f, const struct work *work, uint32_t *ret)
{
	uint64_t hash = 0xcbf29ce484222325u ^ (uint64_t)work->kernel_id;

	for (size_t i = 0; i < TRACE_SIZES; i++)
		hash = (hash ^ (uint64_t)work->words[i]) * 0x100000001b3u;
	for (;; hash += 2) {
		uint32_t *at = idmap_at(&f->work_of_hash, (int64_t)(hash >> 1));

		if (!at)
			return -ENOMEM;
		if (*at == IDMAP_NONE) {
			if (GROW(f->works, f->work_count, f->work_capacity))
				return -ENOMEM;
			f->works[f->work_count] = *work;
			*at = (uint32_t)f->work_count++;
		}
		*ret = *at;
		if (!memcmp(f->works + *at, work, sizeof(*work)))
			return 0;
	}
}

static int set_shapes(struct finding *f)
{
	const struct trace *trace = f->trace;
	int r = 0;

	f->shapes = calloc(trace->shape_count + 1, sizeof(*f->shapes));
	if (!f->shapes)
		return -ENOMEM;
	for (size_t i = 0; i < trace->shape_count && !r; i++) {
		const struct trace_shape *from = trace->shapes + i;
		struct work work = {.kernel_id = from->kernel_id};

		memcpy(work.words, from->size, sizeof(work.words));
		f->shapes[i].lane = from->category->class == CATEGORY_COMPUTATION
					    ? find_lane(f, from->process_id, from->gpu_id)
					    : UINT32_MAX;
		r = find_work(f, &work, &f->shapes[i].work);
	}
	return r;
}

static bool is_within_span(const struct finding *f, int64_t start_ns)
{
	size_t from = 0, to = f->span_count;

	/* The first span that ends after it. */
	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (f->spans[middle].to_ns <= start_ns)
			from = middle + 1;
		else
			to = middle;
	}
	return from < f->span_count && f->spans[from].from_ns <= start_ns;
}

static int load_runs(struct finding *f)
{
	int r = 0;

	QUERY_EACH (r, f->trace->query, "lane_rows", rows) {
		size_t at = trace_shape(f->trace, query_integer(rows, 0));

		if (at == f->trace->shape_count || f->shapes[at].lane == UINT32_MAX ||
			query_is_null(rows, 1) || !is_within_span(f, query_integer(rows, 1)))
			continue;
		if (GROW(f->runs, f->run_count, f->run_capacity))
			return -ENOMEM;
		f->runs[f->run_count++] = (struct run){
			f->shapes[at].work, f->shapes[at].lane, query_integer(rows, 2)};
	}
	return r;
}

static int compare_runs(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	if (x->work != y->work)
		return x->work < y->work ? -1 : 1;
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

static int compare_reals(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Returns the lower one of two middle values. */
static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare_reals);
	return values[(count - 1) / 2];
}

static int add_ratios(struct finding *f, const struct sample *samples, size_t count,
	int64_t kernel_id, double *values)
{
	double middle;

	if (count < 2)
		return 0;
	for (size_t i = 0; i < count; i++)
		values[i] = samples[i].fastest_ns;
	middle = median(values, count);
	for (size_t i = 0; i < count && middle > 0; i++) {
		if (GROW(f->ratios, f->ratio_count, f->ratio_capacity))
			return -ENOMEM;
		f->ratios[f->ratio_count++] = (struct ratio){samples[i].lane, kernel_id,
			samples[i].fastest_ns / middle, samples[i].all_ns};
	}
	return 0;
}

/* Returns the mean of the fastest tenth, at least one, of @count runs sorted by time. */
static double fastest(const struct run *runs, size_t count)
{
	size_t tenth = (count + 9) / 10;
	double sum = 0;

	for (size_t i = 0; i < tenth; i++)
		sum += (double)runs[i].ns;
	return sum / (double)tenth;
}

static int compare_works(struct finding *f)
{
	CLEANUP(free_p) struct sample *samples = calloc(f->lane_count + 1, sizeof(*samples));
	CLEANUP(free_p) double *values = calloc(f->lane_count + 1, sizeof(*values));
	size_t i = 0;
	int r = 0;

	if (!samples || !values)
		return -ENOMEM;
	if (f->run_count)
		qsort(f->runs, f->run_count, sizeof(*f->runs), compare_runs);
	while (i < f->run_count && !r) {
		uint32_t work = f->runs[i].work;
		size_t count = 0;

		while (i < f->run_count && f->runs[i].work == work) {
			size_t first = i;
			double all = 0;

			for (; i < f->run_count && f->runs[i].work == work &&
				f->runs[i].lane == f->runs[first].lane;
				i++)
				all += (double)f->runs[i].ns;
			if (i - first >= RUNS_LEAST)
				samples[count++] = (struct sample){f->runs[first].lane,
					fastest(f->runs + first, i - first), all};
		}
		r = add_ratios(f, samples, count, f->works[work].kernel_id, values);
	}
	return r;
}

static int compare_ratios(const void *a, const void *b)
{
	const struct ratio *x = a, *y = b;

	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	return (x->kernel_id > y->kernel_id) - (x->kernel_id < y->kernel_id);
}

static int compare_by_ratio(const void *a, const void *b)
{
	const struct ratio *x = a, *y = b;

	return (x->ratio > y->ratio) - (x->ratio < y->ratio);
}

static double weighted_median(const struct ratio *ratios, size_t count)
{
	double all = 0, sum = 0;

	for (size_t i = 0; i < count; i++)
		all += ratios[i].weight;
	for (size_t i = 0; i < count; i++) {
		sum += ratios[i].weight;
		if (sum * 2 >= all)
			return ratios[i].ratio;
	}
	return 0;
}

/* Returns the weight of all ratios of one name, which are adjacent. *@ret_next is the index after
 * the last. */
static double weight_of_name(
	const struct ratio *ratios, size_t first, size_t count, size_t *ret_next)
{
	double weight = 0;
	size_t next = first;

	for (; next < count && ratios[next].kernel_id == ratios[first].kernel_id; next++)
		weight += ratios[next].weight;
	*ret_next = next;
	return weight;
}

/*
 * Returns the weight at which a name is capped so that it weighs at most a fifth of all, or, with
 * fewer than five names, no more than any other. Capping one name raises the share of the others,
 * so this takes a few rounds.
 */
static double find_limit(const struct ratio *ratios, size_t count, uint64_t names)
{
	double limit = INFINITY, parts = names < 5 ? (double)names : 5;

	for (int round = 0; round < 32; round++) {
		double all = 0;

		for (size_t i = 0, next; i < count; i = next) {
			double own = weight_of_name(ratios, i, count, &next);

			all += own < limit ? own : limit;
		}
		if (all / parts >= limit * 0.999)
			break;
		limit = all / parts;
	}
	return limit;
}

/* Computes the pace of one lane from its ratios, sorted by name. */
static void find_pace(struct pace_lane *lane, struct ratio *ratios, size_t count)
{
	double most = 0, limit;
	size_t next;

	for (size_t i = 0; i < count; i = next) {
		weight_of_name(ratios, i, count, &next);
		lane->names++;
	}
	limit = find_limit(ratios, count, lane->names);
	for (size_t i = 0; i < count; i = next) {
		double own = weight_of_name(ratios, i, count, &next);

		if (own > most) {
			most = own;
			lane->kernel_id = ratios[i].kernel_id;
			qsort(ratios + i, next - i, sizeof(*ratios), compare_by_ratio);
			lane->kernel_ratio = weighted_median(ratios + i, next - i);
		}
		for (size_t k = i; k < next && own > limit; k++)
			ratios[k].weight *= limit / own;
	}
	qsort(ratios, count, sizeof(*ratios), compare_by_ratio);
	lane->ratio = weighted_median(ratios, count);
}

/* Finds slow GPUs: those beyond the median of all by four standard deviations, estimated from the
 * median deviation as for a normal distribution. */
static int judge(struct finding *f)
{
	CLEANUP(free_p) double *values = calloc(f->lane_count + 1, sizeof(*values));
	double middle, apart, limit;
	size_t count = 0;

	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < f->lane_count; i++)
		if (f->lanes[i].ratio > 0)
			values[count++] = f->lanes[i].ratio;
	if (count < 2)
		return 0;
	middle = median(values, count);
	for (size_t i = 0; i < count; i++)
		values[i] = fabs(values[i] - middle);
	apart = median(values, count);
	limit = count < PACE_FEW ? PACE_SLOW_FEW / 1e3 : PACE_SLOW / 1e3;
	if (count >= PACE_FEW && middle + 4 * 1.48 * apart > limit)
		limit = middle + 4 * 1.48 * apart;
	for (size_t i = 0; i < f->lane_count; i++)
		f->lanes[i].is_slow = f->lanes[i].ratio >= limit;
	return 0;
}

int pace_find(const struct trace *trace, const struct straggler_span *spans, size_t span_count,
	struct pace_lane *lanes, size_t count)
{
	CLEANUP(finding_done)
	struct finding f = {.trace = trace,
		.spans = spans,
		.span_count = span_count,
		.lanes = lanes,
		.lane_count = count};
	int r = set_shapes(&f);

	if (!r)
		r = load_runs(&f);
	if (!r)
		r = compare_works(&f);
	if (r)
		return r;
	if (f.ratio_count)
		qsort(f.ratios, f.ratio_count, sizeof(*f.ratios), compare_ratios);
	for (size_t i = 0, next; i < f.ratio_count; i = next) {
		for (next = i; next < f.ratio_count && f.ratios[next].lane == f.ratios[i].lane;)
			next++;
		find_pace(lanes + f.ratios[i].lane, f.ratios + i, next - i);
	}
	return judge(&f);
}
