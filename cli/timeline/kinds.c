// SPDX-License-Identifier: MIT
#include "cli/timeline/kinds.h"

#include <string.h>

#include "proto/base/cleanup.h"

/* The sum over the shown steps of one kind. */
struct kind_sum {
	uint64_t steps;
	struct breakdown_row row;
};

static const struct render_column columns[] = {{"kind", "KIND", RENDER_TEXT},
	{"name", "NAME", RENDER_TEXT}, {"rows", "STEPS", RENDER_COUNT},
	{"total_time_ns", "TIME ms", RENDER_NS_IN_MS}, {"share_pct", "SHARE %", RENDER_TENTHS},
	{"median_ns", "MEDIAN ms", RENDER_NS_IN_MS}, {"longest_ns", "LONGEST ms", RENDER_NS_IN_MS},
	{"launches_a_step", "LAUNCHES", RENDER_TENTHS},
	{"computation_pct", "COMP %", RENDER_TENTHS}, {"exposed_comm_pct", "COMM %", RENDER_TENTHS},
	{"exposed_memcpy_pct", "COPY %", RENDER_TENTHS}, {"idle_pct", "IDLE %", RENDER_TENTHS}};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void sum_kinds(const struct timeline *t, const struct timeline_options *o,
	struct kind_sum ret[STEP_KINDS_MAX])
{
	memset(ret, 0, STEP_KINDS_MAX * sizeof(*ret));
	for (size_t i = 0; i < t->lane_count; i++) {
		const struct timeline_lane *lane = t->lanes + i;
		const uint8_t *kinds = t->kinds->of_process[lane->process - t->steps->processes];

		for (size_t n = 0; n < lane->process->count; n++) {
			if (!timeline_shows(o, lane->process->at + n))
				continue;
			ret[kinds[n]].steps++;
			breakdown_sum(&ret[kinds[n]].row, lane->rows + n);
		}
	}
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static double launches(const struct step_kind *kind)
{
	return kind->steps ? (double)kind->launches / (double)kind->steps : 0;
}

void timeline_put_kinds(const struct timeline *timeline, const struct timeline_options *options,
	const struct timeline_show *show, FILE *to)
{
	CLEANUP(render_free_p)
	struct render *render = render_new(to, show->format, columns, COLUMNS);
	struct kind_sum sums[STEP_KINDS_MAX];

	sum_kinds(timeline, options, sums);
	render_set_width(render, show->width);
	render_tell_simulated(render, timeline->verdict->is_simulated);
	for (size_t i = 0; i < timeline->kinds->count; i++) {
		const struct step_kind *kind = timeline->kinds->at + i;
		const struct breakdown_row *row = &sums[i].row;
		char letter[2] = {step_kinds_letter(i), '\0'};
		struct render_value values[COLUMNS] = {render_text(letter),
			render_text(kind->name[0] ? kind->name : NULL),
			render_integer((int64_t)sums[i].steps),
			render_integer((int64_t)row->wall_ns),
			render_real(percent(row->wall_ns, timeline->total.wall_ns)),
			render_integer(kind->median_ns), render_integer(kind->longest_ns),
			render_real(launches(kind)),
			render_real(percent(row->stream_ns[BREAKDOWN_COMPUTE], row->wall_ns)),
			render_real(percent(row->exposed_communication_ns, row->wall_ns)),
			timeline_lacks_copies(timeline, row)
				? render_null()
				: render_real(percent(row->exposed_copy_ns, row->wall_ns)),
			render_real(percent(breakdown_idle_ns(row), row->wall_ns))};

		if (sums[i].steps)
			render_row(render, values);
	}
	render_finish(render);
}

json_t *timeline_kinds_json(const struct timeline *timeline, const struct timeline_options *options)
{
	struct kind_sum sums[STEP_KINDS_MAX];
	json_t *array = json_array();

	sum_kinds(timeline, options, sums);
	for (size_t i = 0; array && i < timeline->kinds->count; i++) {
		const struct step_kind *kind = timeline->kinds->at + i;
		const struct breakdown_row *row = &sums[i].row;
		char letter[2] = {step_kinds_letter(i), '\0'};
		json_t *object = json_pack(
			"{s:s, s:o, s:I, s:I, s:f, s:I, s:I, s:f, s:I, s:I, s:o, s:I}", "kind",
			letter, "name",
			kind->name[0] ? render_json_text(kind->name, strlen(kind->name))
				      : json_null(),
			"rows", (json_int_t)sums[i].steps, "total_time_ns",
			(json_int_t)row->wall_ns, "share_pct",
			percent(row->wall_ns, timeline->total.wall_ns), "median_ns",
			(json_int_t)kind->median_ns, "longest_ns", (json_int_t)kind->longest_ns,
			"launches_a_step", launches(kind), "computation_time_ns",
			(json_int_t)row->stream_ns[BREAKDOWN_COMPUTE], "exposed_comm_time_ns",
			(json_int_t)row->exposed_communication_ns, "exposed_memcpy_time_ns",
			timeline_lacks_copies(timeline, row)
				? json_null()
				: json_integer((json_int_t)row->exposed_copy_ns),
			"idle_time_ns",
			(json_int_t)breakdown_idle_ns(row));

		if (!sums[i].steps)
			json_decref(object);
		else if (json_array_append_new(array, object)) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}
