// SPDX-License-Identifier: MIT
#include "cli/reason/reason.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output/table.h"
#include "proto/base/cleanup.h"

const char *reason_code_name(enum reason_code code)
{
	static const char *const names[REASON_CODES] = {
#define REASON_NAME(name, code, when) code,
		REASON_RULES(REASON_NAME)
#undef REASON_NAME
	};

	return names[code];
}

void reason_free_p(struct reason **reason)
{
	if (!*reason)
		return;
	reason_figures_done(&(*reason)->figures);
	free(*reason);
	*reason = NULL;
}

int reason_new(const struct trace *trace, const struct verdict *verdict,
	char error[QUERY_ERROR_BYTES], struct reason **ret)
{
	CLEANUP(reason_free_p) struct reason *reason = calloc(1, sizeof(*reason));
	int r;

	error[0] = '\0';
	if (!reason)
		return -ENOMEM;
	r = reason_load(trace, verdict, error, &reason->figures);
	if (r)
		return r;
	reason_judge(reason);
	*ret = TAKE(reason);
	return 0;
}

char *reason_line(const struct reason *reason)
{
	const struct reason_figures *f = &reason->figures;
	CLEANUP(free_p) char *sample = render_count((int64_t)f->sample);
	CLEANUP(free_p) char *rows = render_count((int64_t)f->rows);
	CLEANUP(free_p) char *line = NULL;
	char part[96] = "", lost[96] = "", impossible[128] = "";

	if (!sample || !rows)
		return NULL;
	if (f->sample < f->rows && f->sample)
		snprintf(part, sizeof(part), " [%s of %s kernels looked at]", sample, rows);
	if (f->missing && f->sample)
		snprintf(lost, sizeof(lost),
			"; %" PRIu64 " kernels are missing, and look like idle time", f->missing);
	/* They would make a straggler, or be faster than any link. */
	if (f->waiting.impossible)
		snprintf(impossible, sizeof(impossible),
			"; %" PRIu64 " collectives that a rank left before the last one came are "
			"impossible, and in no figure",
			f->waiting.impossible);
	if (asprintf(&line, "%sreason: %s%s%s%s%s%s%s", f->is_simulated ? "SIMULATED " : "",
		    reason->text, f->is_live && f->sample ? ", so far" : "",
		    reason->hint[0] ? "; " : "", reason->hint, impossible, lost, part) < 0) {
		line = NULL;
		return NULL;
	}
	/* The names of categories come from outside. */
	return render_escape(line, strlen(line));
}

bool reason_lacks_copies(const struct reason_figures *f, const struct breakdown_row *row)
{
	return f->untimed_copies && !row->stream_ns[BREAKDOWN_COPY];
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_t *share(uint64_t part, uint64_t whole)
{
	return whole ? json_real(100.0 * (double)part / (double)whole) : json_null();
}

static json_t *row_json(const struct reason_figures *f, const struct breakdown_row *row)
{
	/* share() of 0 is unknown. */
	uint64_t copied_of_ns = reason_lacks_copies(f, row) ? 0 : row->wall_ns;

	return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I}", "total_time_ns",
		(json_int_t)row->wall_ns, "computation_pct",
		share(row->stream_ns[BREAKDOWN_COMPUTE], row->wall_ns), "exposed_comm_pct",
		share(row->exposed_communication_ns, row->wall_ns), "total_comm_pct",
		share(row->communication_ns, row->wall_ns), "exposed_memcpy_pct",
		share(row->exposed_copy_ns, copied_of_ns), "total_memcpy_pct",
		share(row->stream_ns[BREAKDOWN_COPY], copied_of_ns), "idle_pct",
		share(breakdown_idle_ns(row), row->wall_ns), "idle_gaps", (json_int_t)row->gaps,
		"kernels", (json_int_t)row->kernels);
}

static const struct reason_lane *find_lane(
	const struct reason_figures *f, struct reason_place place)
{
	for (size_t i = 0; i < f->lane_count; i++)
		if (f->lanes[i].process_id == place.process_id &&
			f->lanes[i].gpu_id == place.gpu_id)
			return f->lanes + i;
	return NULL;
}

static json_t *rank_json(const struct reason_figures *f, struct reason_place place)
{
	const struct reason_lane *lane = find_lane(f, place);

	return lane && lane->has_rank ? json_integer(lane->rank) : json_null();
}

static json_t *ratio_json(double ratio)
{
	return ratio > 0 ? json_real(ratio) : json_null();
}

static json_t *parts_json(const struct reason_straggler *s)
{
	json_t *parts = json_object();

	for (int i = 0; parts && i < STRAGGLER_CAUSES; i++) {
		char name[32];

		snprintf(
			name, sizeof(name), "%s_ns", straggler_cause_name((enum straggler_cause)i));
		(void)json_object_set_new(parts, name, json_real(s->part_ns[i]));
	}
	return parts;
}

static json_t *straggler_json(const struct reason_figures *f)
{
	const struct reason_straggler *s = &f->straggler;
	json_t *ranks, *causes;

	if (!s->is_found)
		return json_null();
	ranks = json_array();
	causes = json_array();
	for (size_t i = 0; ranks && causes && i < s->count && i < REASON_NAMED_MAX; i++) {
		(void)json_array_append_new(ranks, rank_json(f, s->at[i]));
		(void)json_array_append_new(
			causes, json_string(straggler_cause_name(s->causes[i])));
	}
	return json_pack(
		"{s:I, s:I, s:o, s:o, s:I, s:b, s:f, s:f, s:b, s:b, s:I, s:s, s:o, s:f, s:o, "
		"s:o, s:o, s:b, s:o, s:o}",
		"process_id", (json_int_t)s->at[0].process_id, "gpuId", (json_int_t)s->at[0].gpu_id,
		"ranks", ranks, "causes", causes, "count", (json_int_t)s->count, "in_turn",
		s->is_in_turn, "cost_pct", s->cost_pct, "gain_ns", s->gain_ns, "at_most",
		s->is_at_most, "about", s->is_about, "windows", (json_int_t)s->windows, "cause",
		straggler_cause_name(s->cause), "reference_rank", rank_json(f, s->reference),
		"reference_waits_longer_ns", s->waiting_ns, "more_than_reference", parts_json(s),
		"compute_ratio", ratio_json(s->compute_ratio), "pace", ratio_json(s->pace),
		"slow_gpu", s->is_pace_slow, "comm",
		s->has_comm ? json_integer(s->comm) : json_null(), "comm_ratio",
		ratio_json(s->comm_ratio));
}

static json_t *event_json(const struct reason_figures *f)
{
	const struct reason_event *event = &f->event;

	if (!event->is_found)
		return json_null();
	return json_pack("{s:I, s:o, s:f, s:f, s:f, s:o, s:s}", "count", (json_int_t)event->count,
		"step", event->is_step ? json_integer(event->number) : json_null(), "longest_ns",
		event->longest_ns, "median_ns", event->median_ns, "cost_pct", event->cost_pct,
		"rank", event->has_place ? rank_json(f, event->place) : json_null(), "cause",
		straggler_cause_name(event->cause));
}

static json_t *waiting_json(const struct reason_figures *f)
{
	const struct reason_waiting *w = &f->waiting;

	if (!w->is_known)
		return json_null();
	return json_pack("{s:f, s:f, s:f, s:f, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "wait_pct",
		w->wait_pct, "launch_wait_pct", w->launch_wait_pct, "p2p_wait_pct",
		w->pair_wait_pct, "transfer_pct", w->transfer_pct, "impossible_collectives",
		(json_int_t)w->impossible, "slower_since_step",
		w->has_change ? json_integer(w->change_number) : json_null(), "slower_ratio",
		w->has_change ? json_real(w->change_ratio) : json_null(), "busiest_rank",
		w->has_busiest ? rank_json(f, w->busiest) : json_null(), "busiest_ratio",
		w->has_busiest ? json_real(w->busiest_ratio) : json_null(), "slow_link_ranks",
		w->has_slow_link
			? json_pack("[o, o]", rank_json(f, w->link[0]), rank_json(f, w->link[1]))
			: json_null(),
		"slow_link_ratio", ratio_json(w->link_ratio));
}

static json_t *kinds_json(const struct reason_figures *f)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < f->step_kinds && f->step_kinds > 1; i++) {
		const struct reason_steps *steps = f->steps + i;
		char letter[2] = {step_kinds_letter(i), '\0'};

		(void)json_array_append_new(array,
			json_pack("{s:s, s:o, s:I, s:f, s:f, s:f, s:f}", "kind", letter, "name",
				steps->name[0] ? render_json_text(steps->name, strlen(steps->name))
					       : json_null(),
				"steps", (json_int_t)steps->steps, "share_pct", steps->share_pct,
				"median_ns", steps->median_ns, "cost_pct", steps->cost_pct,
				"share_of_cost_pct", steps->gain_pct));
	}
	return array;
}

json_t *reason_json(const struct reason *reason)
{
	const struct reason_figures *f = &reason->figures;
	const struct reason_lane *lane = reason->lane;
	/* The names of categories and directions may hold any bytes. */
	json_t *object = json_pack("{s:s, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "code",
		reason_code_name(reason->code), "text",
		render_json_text(reason->text, strlen(reason->text)), "hint",
		reason->hint[0] ? render_json_text(reason->hint, strlen(reason->hint))
				: json_null(),
		"simulated", f->is_simulated, "all", row_json(f, &f->total), "straggler",
		straggler_json(f), "event", event_json(f), "waiting", waiting_json(f), "kinds",
		kinds_json(f), "looked_at",
		json_pack("{s:I, s:I, s:I}", "kernels", (json_int_t)f->sample, "of",
			(json_int_t)f->rows, "timed", (json_int_t)f->timed));

	if (!object)
		return NULL;
	if (json_object_set_new(object, "rank",
		    lane && lane->has_rank ? json_integer(lane->rank) : json_null()) ||
		json_object_set_new(
			object, "gpuId", lane ? json_integer(lane->gpu_id) : json_null()) ||
		json_object_set_new(object, "process_id",
			lane ? json_integer(lane->process_id) : json_null()) ||
		json_object_set_new(
			object, "its", lane ? row_json(f, &lane->total) : json_null())) {
		json_decref(object);
		return NULL;
	}
	return object;
}
