// SPDX-License-Identifier: MIT
#include "cli/report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/base/progress.h"
#include "cli/database/session/find_session.h"
#include "proto/base/cleanup.h"

/* Readings of one file: summary, time line, collectives, stragglers, detail. */
#define READINGS 5

void report_file_free_p(struct report_file **file)
{
	struct report_file *f = *file;

	if (!f)
		return;
	report_detail_done(&f->detail);
	collectives_report_free_p(&f->stragglers);
	collectives_free_p(&f->collectives);
	timeline_free_p(&f->timeline);
	report_bins_done(&f->bins);
	summary_free_p(&f->summary);
	trace_free_p(&f->trace);
	query_free_p(&f->query);
	free(f->label);
	free(f->reading);
	free(f);
	*file = NULL;
}

static uint64_t count_events(const struct report_file *f)
{
	uint64_t events = f->summary->verdict->counts.stored;

	/* A copy between two GPUs is drawn on both. */
	for (size_t i = 0; i < f->summary->copy_count; i++)
		events += f->summary->copies[i].timed *
			  (strcmp(f->summary->copies[i].direction, "p2p") ? 1 : 2);
	return events;
}

static int read_timeline(
	struct report_file *f, const struct report_options *o, char error[QUERY_ERROR_BYTES])
{
	bool has_all = count_events(f) <= REPORT_EVENTS_MAX / f->share;

	f->timeline_options = (struct timeline_options){.steps = o->steps,
		.micro_idle_ns = BREAKDOWN_MICRO_IDLE_NS,
		.taker = &f->bins.taker};
	report_bins_init(&f->bins,
		(has_all ? REPORT_BINS_LANE_FEW : REPORT_BINS_LANE_MAX) / f->share,
		REPORT_BINS_MAX / f->share);
	return timeline_new(f->trace, &f->timeline_options, error, &f->timeline);
}

static int find_stragglers(struct report_file *f)
{
	CLEANUP(waiting_free_p) struct waiting *waiting = NULL;
	CLEANUP(stragglers_done) struct stragglers found = {0};
	int r = waiting_new(f->trace, f->collectives, f->timeline->steps, &waiting);

	if (!r)
		r = stragglers_find(waiting, &found);
	if (!r)
		collectives_report_new(f->collectives, &found, &f->stragglers);
	return r;
}

/* One reading of the file after another. */
static int read_file(
	struct report_file *f, const struct report_options *o, char error[QUERY_ERROR_BYTES])
{
	const struct collectives_filter all = {0};
	const struct summary_wishes wishes = {
		.measure = {.wants_percentiles = true, .wants_calls = true},
		.categories = true,
		.reason = true};
	int r;

	f->share = o->files ? o->files : 1;
	r = trace_open(f->query, o->categories, error, &f->trace);
	if (!r)
		r = summary_new(f->trace, &wishes, &f->summary);
	progress_set(1, READINGS);
	if (!r)
		r = read_timeline(f, o, error);
	progress_set(2, READINGS);
	if (!r)
		r = collectives_new(f->trace, &all, &f->collectives);
	progress_set(3, READINGS);
	if (!r)
		r = find_stragglers(f);
	progress_set(4, READINGS);
	if (!r)
		r = report_detail_read(f->trace, f->timeline, f->collectives, f->stragglers,
			REPORT_EVENTS_MAX / f->share, count_events(f), &f->detail);
	progress_set(READINGS, READINGS);
	if (!r)
		f->reading = timeline_reading(f->timeline);
	return r;
}

int report_file_new(const char *name, const char *label, const struct report_options *options,
	char error[QUERY_ERROR_BYTES], struct report_file **ret)
{
	CLEANUP(report_file_free_p) struct report_file *f = xcalloc(1, sizeof(*f));
	int r;

	error[0] = '\0';
	r = find_open(name, error, &f->query);
	if (r)
		return r;
	progress_begin("report");
	r = read_file(f, options, error);
	progress_end();
	if (r && !error[0])
		snprintf(error, QUERY_ERROR_BYTES, "%s", query_error(f->query));
	if (r)
		return r;
	if (!label)
		label = f->summary->name ? f->summary->name : name;
	f->label = xstrdup(label);
	*ret = TAKE(f);
	return 0;
}

void report_name_lane(const struct timeline_lane *lane, char ret[REPORT_LANE_BYTES])
{
	char name[REPLICA_NAME_BYTES];

	timeline_name_lane(lane, name);
	snprintf(ret, REPORT_LANE_BYTES, "%s, GPU %" PRId64, name, lane->gpu_id);
}

static void put_file(const struct report_file *f, size_t at, FILE *to)
{

	fprintf(to, "<article class=file id=f%zu>\n", at);
	report_put_verdict(f, to);
	report_put_breakdown(f, at, to);
	report_put_stragglers(f, at, to);
	report_put_tables(f, at, to);
	report_put_data(f, at, to);
	fputs("</article>\n", to);
}

/* ---- results that are kept ------------------------------------------------------------- */

void report_part_done(struct report_part *part)
{
	free(part->html);
	free(part->figures.label);
	free(part->figures.line);
	free(part->figures.reason);
	free(part->figures.straggler);
	for (size_t i = 0; i < part->figures.kernel_count; i++)
		free(part->figures.kernels_by_time[i].name);
	*part = (struct report_part){0};
}

/*
 * One rank may have several processes, one after the other; processes of unknown rank are separate.
 */
static bool is_same_rank(const struct timeline_lane *a, const struct timeline_lane *b)
{
	return a->has_rank && b->has_rank ? a->rank == b->rank : a->process_id == b->process_id;
}

static void keep_lanes(const struct timeline *t, struct report_figures *ret)
{
	for (size_t i = 0; i < t->lane_count; i++) {
		ret->ranks += !i || !is_same_rank(t->lanes + i, t->lanes + i - 1);
		ret->lane_steps += t->lanes[i].shown;
		if (t->lanes[i].shown > ret->steps)
			ret->steps = t->lanes[i].shown;
	}
	ret->has_steps = t->steps->source != STEPS_WHOLE;
	ret->total = t->total;
	ret->lacks_copies = timeline_lacks_copies(t, &t->total);
}

static void keep_kernels(const struct measure *measure, struct report_figures *ret)
{
	for (size_t i = 0; i < measure->kernel_count && i < REPORT_TOP_KERNELS; i++) {
		struct report_kernel *kernel = ret->kernels_by_time + ret->kernel_count;

		kernel->name = xstrdup(measure->kernels[i].name);
		kernel->calls = measure->kernels[i].sums.calls;
		kernel->total_ns = measure->kernels[i].sums.total_ns;
		ret->kernel_count++;
	}
}

static void keep_figures(struct report_file *f, struct report_figures *ret)
{
	const struct collectives_report *s = f->stragglers;
	char name[48];

	ret->label = TAKE(f->label);
	ret->reason =
		xstrdup(f->summary->reason ? f->summary->reason->text : f->summary->no_reason);
	ret->line = xstrdup(f->summary->verdict->line);
	ret->is_complete = f->summary->verdict->is_complete;
	ret->is_unknown = f->summary->verdict->is_unknown;
	ret->is_simulated = f->summary->verdict->is_simulated;
	ret->kernels = f->summary->verdict->counts.stored;
	ret->kernel_ns = f->summary->measure->total_ns;
	keep_lanes(f->timeline, ret);
	ret->collectives = s->ranked;
	ret->skew_ns = s->ranked ? s->skew_ns / (int64_t)s->ranked : 0;
	if (s->straggler != COLLECTIVES_NONE) {
		collectives_name_lane(f->collectives, s->straggler, name, sizeof(name));
		ret->straggler = xstrdup(name);
	}
	keep_kernels(f->summary->measure, ret);
}

int report_part_make(const char *name, const char *label, const struct report_options *options,
	size_t at, char error[QUERY_ERROR_BYTES], struct report_part *ret)
{
	CLEANUP(report_file_free_p) struct report_file *f = NULL;
	int r = report_file_new(name, label, options, error, &f);
	FILE *to;

	if (r)
		return r;
	to = xmemstream(&ret->html);
	put_file(f, at, to);
	xfclose(to);
	keep_figures(f, &ret->figures);
	return 0;
}

void report_put(const struct report_part *parts, size_t count, FILE *to)
{
	report_put_head(parts, count, to);
	if (count > 1)
		report_put_comparison(parts, count, to);
	for (size_t i = 0; i < count; i++)
		fputs(parts[i].html, to);
	report_put_scripts(to);
}
