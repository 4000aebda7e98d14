// SPDX-License-Identifier: MIT
#include "cli/timeline/json.h"

#include <string.h>

#include "cli/timeline/kinds.h"
#include "proto/base/cleanup.h"

#define WRITE_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(15))

static void decref_p(json_t **json)
{
	json_decref(*json);
}

static json_t *ms(uint64_t ns)
{
	return json_real((double)ns / 1e6);
}

static json_t *ns(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *ratio(uint64_t part, uint64_t whole)
{
	return whole ? json_real((double)part / (double)whole) : json_null();
}

/* For times of copies: null if they are unknown. */
static json_t *ns_unless(bool is_unknown, uint64_t value)
{
	return is_unknown ? json_null() : ns(value);
}

static void put_tracelens(json_t *to, const struct breakdown_row *row, bool lacks_copies)
{
	json_object_set_new(to, "total_time_ns", ns(row->wall_ns));
	json_object_set_new(to, "computation_time_ns", ns(row->stream_ns[BREAKDOWN_COMPUTE]));
	json_object_set_new(to, "exposed_comm_time_ns", ns(row->exposed_communication_ns));
	json_object_set_new(
		to, "exposed_memcpy_time_ns", ns_unless(lacks_copies, row->exposed_copy_ns));
	json_object_set_new(to, "idle_time_ns", ns(breakdown_idle_ns(row)));
	json_object_set_new(to, "micro_idle_time_ns", ns(row->micro_idle_ns));
	json_object_set_new(to, "macro_idle_time_ns", ns(row->macro_idle_ns));
	json_object_set_new(to, "busy_time_ns", ns(row->wall_ns - breakdown_idle_ns(row)));
	json_object_set_new(to, "total_comm_time_ns", ns(row->communication_ns));
	json_object_set_new(to, "total_memcpy_time_ns",
		ns_unless(lacks_copies, row->stream_ns[BREAKDOWN_COPY]));
}

void timeline_put_aorta(json_t *to, const struct breakdown_row *row, bool lacks_copies)
{
	json_t *streams = json_object(), *utilization = json_object(), *overlap = json_object();

	json_object_set_new(to, "total_ms", ms(row->wall_ns));
	json_object_set_new(to, "per_stream_ms", streams);
	json_object_set_new(to, "utilization", utilization);
	json_object_set_new(to, "overlap_ms", overlap);
	for (int i = 0; i < BREAKDOWN_STREAMS; i++) {
		const char *name = breakdown_stream_name((enum breakdown_stream)i);
		bool is_unknown = i == BREAKDOWN_COPY && lacks_copies;

		json_object_set_new(
			streams, name, is_unknown ? json_null() : ms(row->stream_ns[i]));
		json_object_set_new(
			utilization, name, ratio(row->stream_ns[i], is_unknown ? 0 : row->wall_ns));
	}
	json_object_set_new(overlap, "compute_allreduce", ms(row->with_allreduce_ns));
	json_object_set_new(overlap, "compute_reducescatter", ms(row->with_reducescatter_ns));
	json_object_set_new(overlap, "compute_comm", ms(row->with_communication_ns));
	json_object_set_new(overlap, "idle", ms(breakdown_idle_ns(row)));
	json_object_set_new(to, "overlap_ratio",
		ratio(row->with_communication_ns, row->stream_ns[BREAKDOWN_COMPUTE]));
	json_object_set_new(
		to, "comm_hidden_ratio", ratio(row->with_communication_ns, row->communication_ns));
	json_object_set_new(to, "active_segment_count", ns(row->active_segments));
}

static void put_figures(json_t *to, const struct timeline *t, const struct breakdown_row *row)
{
	json_t *causes = json_object();

	put_tracelens(to, row, timeline_lacks_copies(t, row));
	timeline_put_aorta(to, row, timeline_lacks_copies(t, row));
	json_object_set_new(to, "idle_cause_ns", causes);
	for (int i = 0; i < BREAKDOWN_CAUSES; i++)
		json_object_set_new(causes, breakdown_cause_name((enum breakdown_cause)i),
			ns(row->cause_ns[i]));
	json_object_set_new(to, "kernels", ns(row->kernels));
	json_object_set_new(to, "copies", ns(row->copies));
	json_object_set_new(to, "untimed", ns(row->untimed));
}

static void put_lane(json_t *to, const struct timeline_lane *lane)
{

	json_object_set_new(to, "rank", lane->has_rank ? json_integer(lane->rank) : json_null());
	json_object_set_new(to, "gpuId", json_integer(lane->gpu_id));
	json_object_set_new(to, "process_id", json_integer(lane->process_id));
}

static json_t *lane_json(const struct timeline *t, const struct timeline_lane *lane)
{
	json_t *object = json_object();

	put_lane(object, lane);
	json_object_set_new(object, "steps", json_integer((json_int_t)lane->shown));
	put_figures(object, t, &lane->total);
	return object;
}

/* Returns milliseconds from the start of the step. A damaged file may hold any times, so the
 * subtraction wraps. */
static json_t *ms_after(const struct breakdown_row *row, int64_t time_ns)
{
	return json_real((double)(int64_t)((uint64_t)time_ns - (uint64_t)row->start_ns) / 1e6);
}

/* Returns a segment as AORTA has it: times from the start of the step, and the active streams. */
static json_t *segment_json(
	const struct breakdown_row *row, const struct breakdown_segment *segment)
{
	json_t *object = json_object(), *streams = json_array();

	json_object_set_new(object, "start_ms", ms_after(row, segment->start_ns));
	json_object_set_new(object, "end_ms", ms_after(row, segment->end_ns));
	json_object_set_new(object, "active_streams", streams);
	for (int i = 0; i < BREAKDOWN_STREAMS; i++)
		if (segment->streams & 1u << i)
			json_array_append_new(streams,
				json_string(breakdown_stream_name((enum breakdown_stream)i)));
	return object;
}

/* Segments lie in the order of time, and those outside of steps lie among them. */
void timeline_put_segments(json_t *to, const struct timeline_lane *lane, size_t which,
	const struct breakdown_row *row, size_t *at)
{
	json_t *array = json_array();
	bool is_step = which < lane->process->count;

	json_object_set_new(to, "active_segments", array);
	for (size_t i = is_step ? *at : 0; i < lane->segment_count; i++) {
		const struct timeline_segment *segment = lane->segments + i;

		if (is_step && segment->row != lane->process->count && segment->row > which)
			break;
		if (is_step)
			*at = i + 1;
		if (segment->row == which)
			json_array_append_new(array, segment_json(row, &segment->segment));
	}
}

static json_t *row_json(const struct timeline *t, const struct timeline_lane *lane, size_t which,
	const struct timeline_options *o, size_t *segment_at)
{
	bool is_step = which < lane->process->count;
	const struct step *step = lane->process->at + which;
	const struct breakdown_row *row = is_step ? lane->rows + which : &lane->outside;
	json_t *object = json_object();

	put_lane(object, lane);
	json_object_set_new(object, "step", is_step ? json_integer(step->number) : json_null());
	json_object_set_new(object, "text",
		is_step && step->text ? render_json_text(step->text, strlen(step->text))
				      : json_null());
	json_object_set_new(
		object, "start_ns", is_step ? json_integer(row->start_ns) : json_null());
	json_object_set_new(object, "end_ns", is_step ? json_integer(row->end_ns) : json_null());
	json_object_set_new(object, "is_open", json_boolean(is_step && step->is_open));
	put_figures(object, t, row);
	if (o->wants_segments)
		timeline_put_segments(object, lane, which, row, segment_at);
	return object;
}

static json_t *steps_json(const struct steps *steps)
{
	static const char *const sources[] = {"markers", "inferred", "whole"};
	json_t *object = json_object();

	json_object_set_new(object, "source", json_string(sources[steps->source]));
	json_object_set_new(object, "line", json_string(steps->line));
	json_object_set_new(object, "count", json_integer((json_int_t)steps->step_count));
	json_object_set_new(object, "confidence",
		steps->source == STEPS_INFERRED ? json_real(steps->confidence) : json_null());
	json_object_set_new(object, "period_kernels",
		steps->source == STEPS_INFERRED ? json_integer((json_int_t)steps->period)
						: json_null());
	return object;
}

static json_t *head_json(const struct timeline *t, const struct timeline_options *o)
{
	CLEANUP(free_p) char *reading = timeline_reading(t);
	json_t *object = json_object(), *lanes = json_array(), *total = json_object();

	json_object_set_new(object, "schema", json_integer(1));
	json_object_set_new(object, "ranks", lanes);
	json_object_set_new(object, "total", total);
	verdict_put_json(t->verdict, object);
	json_object_set_new(object, "live", json_boolean(t->verdict->counts.live));
	json_object_set_new(object, "steps", steps_json(t->steps));
	json_object_set_new(object, "micro_idle_threshold_ns", ns((uint64_t)t->micro_idle_ns));
	json_object_set_new(object, "launch_threshold_ns", ns(BREAKDOWN_LAUNCH_NS));
	json_object_set_new(object, "untimed_kernels", ns(t->untimed));
	json_object_set_new(object, "untimed_copies", ns(t->untimed_copies));
	json_object_set_new(
		object, "reading", reading ? render_json_text(reading, strlen(reading)) : NULL);
	if (t->kinds)
		json_object_set_new(object, "kinds", timeline_kinds_json(t, o));
	for (size_t i = 0; i < t->lane_count; i++)
		json_array_append_new(lanes, lane_json(t, t->lanes + i));
	put_figures(total, t, &t->total);
	return object;
}

static void put_row(const struct timeline *t, const struct timeline_lane *lane, size_t which,
	const struct timeline_options *o, size_t *segment_at, bool *is_first, FILE *to)
{
	CLEANUP(decref_p) json_t *row = row_json(t, lane, which, o, segment_at);

	fputs(*is_first ? "\n    " : ",\n    ", to);
	*is_first = false;
	render_json_value(to, row, WRITE_FLAGS);
}

/* The rows are written last, so that they need not be kept. */
void timeline_show_json(
	const struct timeline *timeline, const struct timeline_options *options, FILE *to)
{
	CLEANUP(decref_p) json_t *head = head_json(timeline, options);
	bool is_first = true;
	const char *key;
	json_t *value;

	fputs("{\n", to);
	json_object_foreach(head, key, value)
	{
		fprintf(to, "  \"%s\": ", key);
		render_json_value(to, value, WRITE_FLAGS);
		fputs(",\n", to);
	}
	fputs("  \"rows\": [", to);
	for (size_t i = 0; i < timeline->lane_count; i++) {
		const struct timeline_lane *lane = timeline->lanes + i;
		size_t at = 0;

		for (size_t n = 0; n < lane->process->count; n++)
			if (timeline_shows(options, lane->process->at + n))
				put_row(timeline, lane, n, options, &at, &is_first, to);
		if (timeline_shows_outside(options, lane))
			put_row(timeline, lane, lane->process->count, options, &at, &is_first, to);
	}
	fputs(is_first ? "]\n}\n" : "\n  ]\n}\n", to);
}
