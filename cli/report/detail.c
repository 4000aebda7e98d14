// SPDX-License-Identifier: MIT
#include "cli/report/detail.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/base/array.h"
#include "cli/trace/id_map.h"
#include "proto/base/cleanup.h"

struct reading {
	const struct trace *trace;
	const struct timeline *timeline;
	struct report_detail *detail;
	uint32_t *lane_of; /* lanes of the timeline, as those of the trace; IDMAP_NONE: not there */
	struct idmap name_of;
	size_t events_max; /* of a window */
};

static void reading_done(struct reading *reading)
{
	idmap_done(&reading->name_of);
	free(reading->lane_of);
}

void report_detail_done(struct report_detail *detail)
{
	for (size_t i = 0; i < detail->window_count; i++)
		free(detail->windows[i].events);
	for (size_t i = 0; i < detail->name_count; i++)
		free(detail->names[i].own_text);
	free(detail->names);
	*detail = (struct report_detail){0};
}

/* Searches the timeline's lanes, which are sorted by rank. */
static uint32_t find_lane(const struct timeline *t, int64_t process_id, int64_t gpu_id)
{
	for (size_t i = 0; i < t->lane_count; i++)
		if (t->lanes[i].process_id == process_id && t->lanes[i].gpu_id == gpu_id)
			return (uint32_t)i;
	return IDMAP_NONE;
}

static void find_lanes(struct reading *r)
{
	const struct trace *trace = r->trace;

	r->lane_of = xcalloc(trace->lane_count + 1, sizeof(*r->lane_of));
	for (size_t i = 0; i < trace->lane_count && r->lane_of; i++)
		r->lane_of[i] =
			find_lane(r->timeline, trace->lanes[i].process_id, trace->lanes[i].gpu_id);
}

/* ---- names ----------------------------------------------------------------------------- */

static void add_name(struct reading *r, const struct report_name *name, uint32_t *ret)
{
	struct report_detail *d = r->detail;

	GROW(d->names, d->name_count, d->name_capacity);
	*ret = (uint32_t)d->name_count;
	d->names[d->name_count++] = *name;
}

static void name_kernel(struct reading *r, const struct trace_shape *shape, uint32_t *ret)
{
	uint32_t *at = idmap_at(&r->name_of, shape->kernel_id);

	if (*at == IDMAP_NONE)
		add_name(r,
			&(struct report_name){.kernel_id = shape->kernel_id,
				.text = shape->kernel ? shape->kernel->name : NULL,
				.category = shape->category->name,
				.class = shape->category->class},
			at);
	*ret = *at;
}

static void name_copy(struct reading *r, const char *direction, uint32_t *ret)
{
	struct report_detail *d = r->detail;
	struct report_name name = {.category = "copy", .class = CATEGORY_COPY};

	for (size_t i = 0; i < d->name_count; i++)
		if (!d->names[i].kernel_id && d->names[i].text &&
			!strcmp(d->names[i].text + strlen("copy "), direction)) {
			*ret = (uint32_t)i;
			return;
		}
	name.own_text = xasprintf("copy %s", direction);
	name.text = name.own_text;
	add_name(r, &name, ret);
}

/* ---- events ---------------------------------------------------------------------------- */

static int compare_starts(const void *a, const void *b)
{
	const struct report_event *x = a, *y = b;

	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Ends the window after the first half of its events, and drops at least one of them. */
static void shrink(struct report_window *window)
{
	size_t kept = window->count / 2;

	qsort(window->events, window->count, sizeof(*window->events), compare_starts);
	window->to_ns = window->events[kept].start_ns;
	while (kept && window->events[kept - 1].start_ns >= window->to_ns)
		kept--;
	window->count = kept;
	window->is_cut = true;
}

static bool is_within(const struct report_window *window, int64_t start_ns, int64_t end_ns)
{
	return !window->is_place && start_ns < window->to_ns &&
	       (end_ns > window->from_ns || start_ns >= window->from_ns);
}

static void add_event(
	struct reading *r, struct report_window *window, const struct report_event *event)
{
	if (window->count >= r->events_max)
		shrink(window);
	if (event->start_ns >= window->to_ns)
		return;
	GROW(window->events, window->count, window->capacity);
	window->events[window->count++] = *event;
}

static void add_kernel(struct reading *r, struct report_window *window, int64_t shape_id,
	struct report_event *event)
{
	size_t at = trace_shape(r->trace, shape_id);
	const struct trace_shape *shape = r->trace->shapes + at;

	if (at == r->trace->shape_count || r->lane_of[shape->lane] == IDMAP_NONE)
		return;
	event->lane = r->lane_of[shape->lane];
	name_kernel(r, shape, &event->name);
	add_event(r, window, event);
}

/* Columns of the query dispatches: shape, start, duration. */
static int take_kernel(void *context, const int64_t *row, unsigned nulls)
{
	struct reading *r = context;
	struct report_detail *d = r->detail;
	struct report_event event = {.start_ns = row[1], .length_ns = row[2]};
	int64_t end_ns;

	if (nulls & 1u << 1 || event.length_ns < 0 ||
		__builtin_add_overflow(event.start_ns, event.length_ns, &end_ns))
		return 0;
	for (size_t i = 0; i < d->window_count; i++)
		if (is_within(d->windows + i, event.start_ns, end_ns))
			add_kernel(r, d->windows + i, row[0], &event);
	return 0;
}

/* Adds it on each of its GPUs. */
static void add_copy(struct reading *r, struct report_window *window, const struct query_rows *rows,
	struct report_event *event)
{
	int64_t process_id = query_integer(rows, 0), gpus[2];
	size_t count = trace_copy_gpus(r->trace, process_id, rows, 3, 4, gpus);

	for (size_t i = 0; i < count; i++) {
		event->lane = find_lane(r->timeline, process_id, gpus[i]);
		if (event->lane != IDMAP_NONE)
			add_event(r, window, event);
	}
}

static int read_copies(struct reading *r)
{
	struct report_detail *d = r->detail;
	int err = 0;

	QUERY_EACH (err, r->trace->query, "report_copies", rows) {
		struct report_event event = {.start_ns = query_integer(rows, 1)};
		int64_t end_ns = query_integer(rows, 2);
		const char *direction = query_text(rows, 5);
		bool is_wanted = false;

		if (end_ns < event.start_ns ||
			__builtin_sub_overflow(end_ns, event.start_ns, &event.length_ns))
			continue;
		for (size_t i = 0; i < d->window_count; i++)
			is_wanted |= is_within(d->windows + i, event.start_ns, end_ns);
		if (!is_wanted)
			continue;
		name_copy(r, direction ? direction : "", &event.name);
		for (size_t i = 0; i < d->window_count; i++)
			if (is_within(d->windows + i, event.start_ns, end_ns))
				add_copy(r, d->windows + i, rows, &event);
	}
	return err;
}

static int compare_places(const void *a, const void *b)
{
	const struct report_event *x = a, *y = b;

	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	/* The shorter one is drawn above the longer one. */
	return (x->length_ns < y->length_ns) - (x->length_ns > y->length_ns);
}

/* Drops events beyond the end of a window that was shrunk after they came. */
static void finish(struct report_window *window)
{
	size_t kept = 0;

	for (size_t i = 0; i < window->count; i++)
		if (window->events[i].start_ns < window->to_ns)
			window->events[kept++] = window->events[i];
	window->count = kept;
	if (kept)
		qsort(window->events, kept, sizeof(*window->events), compare_places);
}

/* ---- windows --------------------------------------------------------------------------- */

/*
 * Chooses intervals of a long run in which every kernel is shown: the longest step, a usual one,
 * the longest wait.
 */

static struct report_window *add(struct report_detail *detail, int64_t from_ns, int64_t to_ns)
{
	struct report_window *window = detail->windows + detail->window_count++;

	*window = (struct report_window){.from_ns = from_ns, .to_ns = to_ns};
	return window;
}

/* The first of several steps warms up, and waits for other ranks to start. */
static size_t first_step(const struct timeline_lane *lane)
{
	return lane->process->count >= 3 ? 1 : 0;
}

static const struct timeline_lane *find_longest(const struct timeline *t, size_t *ret)
{
	const struct timeline_lane *longest = NULL;

	for (size_t i = 0; i < t->lane_count; i++)
		for (size_t n = first_step(t->lanes + i); n < t->lanes[i].process->count; n++)
			if (!longest || t->lanes[i].rows[n].wall_ns > longest->rows[*ret].wall_ns) {
				longest = t->lanes + i;
				*ret = n;
			}
	return longest;
}

static int compare_walls(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Returns the step of that lane with the median length. */
static size_t find_usual(const struct timeline_lane *lane)
{
	size_t first = first_step(lane), count = lane->process->count - first, best = first;
	CLEANUP(free_p) uint64_t *walls = xcalloc(count, sizeof(*walls));

	for (size_t i = 0; i < count; i++)
		walls[i] = lane->rows[first + i].wall_ns;
	qsort(walls, count, sizeof(*walls), compare_walls);
	while (lane->rows[best].wall_ns != walls[count / 2])
		best++;
	return best;
}

static void add_step(struct report_detail *detail, const struct timeline *t,
	const struct timeline_lane *lane, size_t which, const char *kind)
{
	const struct breakdown_row *row = lane->rows + which;
	struct report_window *window = add(detail, row->start_ns, row->end_ns);
	char name[REPLICA_NAME_BYTES];

	timeline_name_lane(lane, name);
	if (t->steps->source == STEPS_WHOLE)
		snprintf(window->label, sizeof(window->label), "the beginning");
	else
		snprintf(window->label, sizeof(window->label),
			"%s step: %s, step %" PRId64 ", %.3f ms", kind, name,
			lane->process->at[which].number, (double)row->wall_ns / 1e6);
}

static void add_latest(struct report_detail *detail, const struct collectives *c,
	const struct collectives_report *stragglers)
{
	const struct collectives_operation *o = c->operations + stragglers->latest[0];
	struct report_window *window;
	int64_t before_ns, from_ns;
	char name[48];

	/* Includes the cause of the delay, as far as it is that long ago. */
	if (__builtin_mul_overflow(o->late_ns, 3, &before_ns) ||
		__builtin_sub_overflow(o->start_first, before_ns, &from_ns))
		from_ns = o->start_first;
	window = add(detail, from_ns, o->stop_last);
	collectives_name_lane(c, c->launches[o->last].lane, name, sizeof(name));
	snprintf(window->label, sizeof(window->label), "latest arrival: %s, %.3f ms late", name,
		(double)o->late_ns / 1e6);
}

static void choose_windows(const struct timeline *timeline, const struct collectives *collectives,
	const struct collectives_report *stragglers, struct report_detail *detail)
{
	size_t which = 0, usual;
	const struct timeline_lane *longest = find_longest(timeline, &which);

	/* If there is only one step and it is too large, its beginning is shown. */
	if (longest && longest->rows[which].wall_ns &&
		(timeline->steps->source != STEPS_WHOLE || !detail->window_count)) {
		add_step(detail, timeline, longest, which, "longest");
		usual = find_usual(longest);
		/* If all steps are alike, one is enough. */
		if (usual < longest->process->count &&
			longest->rows[usual].wall_ns < longest->rows[which].wall_ns)
			add_step(detail, timeline, longest, usual, "median");
	}
	/*
	 * Times of collectives are corrected if there are several nodes; those of the time line are
	 * not.
	 */
	if (stragglers->latest_count && collectives->nodes.count < 2)
		add_latest(detail, collectives, stragglers);
}

int report_detail_read(const struct trace *trace, const struct timeline *timeline,
	const struct collectives *collectives, const struct collectives_report *stragglers,
	size_t events, uint64_t has, struct report_detail *ret)
{
	CLEANUP(reading_done)
	struct reading r = {.trace = trace, .timeline = timeline, .detail = ret};
	int err = 0;

	if (has <= events)
		ret->windows[ret->window_count++] = (struct report_window){
			.from_ns = INT64_MIN, .to_ns = INT64_MAX, .is_all = true, .label = "all"};
	choose_windows(timeline, collectives, stragglers, ret);
	for (size_t i = 1; i < ret->window_count && has <= events; i++)
		ret->windows[i].is_place = true;
	r.events_max = events / (has <= events || !ret->window_count ? 1 : ret->window_count);
	find_lanes(&r);
	if (ret->window_count)
		err = query_fold(trace->query, "dispatches", take_kernel, &r);
	if (!err && ret->window_count)
		err = read_copies(&r);
	for (size_t i = 0; i < ret->window_count && !err; i++)
		finish(ret->windows + i);
	return err;
}
