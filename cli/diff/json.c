// SPDX-License-Identifier: MIT
/* Writes a comparison as one JSON document, which includes the fields of AORTA's
 * overlap_report.py. */
#include "cli/diff/diff.h"

#include <math.h>
#include <string.h>

#include "cli/output/table.h"
#include "proto/base/cleanup.h"

static void decref_p(json_t **value)
{
	json_decref(*value);
}

static json_t *text_json(const char *text)
{
	return render_json_text(text, text ? strlen(text) : 0);
}

static json_t *real_json(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *count_json(uint64_t value)
{
	return json_integer((json_int_t)value);
}

/* ---- the fields of AORTA ---- */

static double ms(const struct diff_side *s, enum diff_part part)
{
	return diff_side_mean(s, part) / 1e6;
}

/* mean_overlap_ms / mean_compute_ms, or 0 if nothing is computed. */
static double overlap_ratio(const struct diff_side *s)
{
	double compute = ms(s, DIFF_COMPUTATION);

	return compute > 0 ? ms(s, DIFF_HIDDEN_COMMUNICATION) / compute : 0;
}

static json_t *dataset_json(const struct diff_side *s)
{
	if (!s->lane_steps)
		return json_pack("{s:i}", "count", 0);
	return json_pack("{s:o, s:o, s:f, s:f, s:f, s:f, s:f}", "count", count_json(s->lane_steps),
		"mean_loss", s->has_loss ? real_json(s->loss) : json_null(), "mean_overlap_ms",
		ms(s, DIFF_HIDDEN_COMMUNICATION), "mean_compute_ms", ms(s, DIFF_COMPUTATION),
		"mean_allreduce_overlap_ms", ms(s, DIFF_HIDDEN_ALLREDUCE),
		"mean_reducescatter_overlap_ms", ms(s, DIFF_HIDDEN_REDUCESCATTER), "overlap_ratio",
		overlap_ratio(s));
}

static json_t *aorta_json(const struct diff_view *view)
{
	json_t *datasets = json_object();
	const struct diff_side *reference = view->sides[view->reference];
	const struct diff_side *candidate = view->diffs[0]->side;

	for (size_t i = 0; i < view->side_count; i++) {
		CLEANUP(decref_p) json_t *label = text_json(view->sides[i]->label);

		json_object_set_new(
			datasets, json_string_value(label), dataset_json(view->sides[i]));
	}
	return json_pack("{s:o, s:{s:f, s:f, s:f}}", "datasets", datasets, "comparison",
		"reference_overlap_ratio", overlap_ratio(reference), "candidate_overlap_ratio",
		overlap_ratio(candidate), "ratio_delta",
		overlap_ratio(candidate) - overlap_ratio(reference));
}

/* ---- the fields of rtl ---- */

static json_t *others_json(const struct diff_side *s)
{
	json_t *array = json_array();

	for (size_t i = 0; i < s->other_count; i++) {
		const struct leader *other = s->others + i;

		json_array_append_new(
			array, json_pack("{s:o, s:I, s:I, s:o}", "rank",
				       other->has_rank ? json_integer((json_int_t)other->rank)
						       : json_null(),
				       "pid", (json_int_t)other->pid, "process_id",
				       (json_int_t)other->process_id, "kernels",
				       count_json(other->kernels)));
	}
	return array;
}

static json_t *side_json(const struct diff_side *s)
{
	static const char *const sources[] = {"markers", "inferred", "whole"};
	json_t *object = json_pack("{s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:{s:s, s:o, s:o}}",
		"label", text_json(s->label), "path", text_json(s->path), "completeness",
		text_json(s->verdict->line), "empty", s->is_empty, "mode", text_json(s->ways),
		"front_end", text_json(s->front_ends), "gpus", text_json(s->gpus), "lanes",
		count_json(s->lane_count), "steps", "source", sources[s->source], "compared",
		count_json(s->lane_steps), "confidence",
		s->source == STEPS_INFERRED ? real_json(s->confidence) : json_null());

	json_object_set_new(object, "others", others_json(s));
	verdict_put_json(s->verdict, object);
	return object;
}

static json_t *gate_json(const struct diff_gate *gate)
{
	json_t *array = json_array();

	for (size_t i = 0; i < gate->count; i++)
		json_array_append_new(
			array, json_pack("{s:s, s:o}", "what", diff_obstacle_name(gate->at[i].what),
				       "why", text_json(gate->at[i].why)));
	return array;
}

static json_t *table_json(const struct diff *diff, const struct diff_columns *table)
{
	json_t *array = json_array();
	struct render_value row[DIFF_COLUMNS_MAX];

	for (size_t i = 0; i < table->rows(diff); i++) {
		table->row(diff, i, row);
		json_array_append_new(array, render_json_row(table->columns, table->count, row));
	}
	return array;
}

static json_t *diff_json(const struct diff_view *view, const struct diff *diff)
{
	json_t *object = json_object();

	json_object_set_new(object, "candidate", text_json(diff->side->label));
	json_object_set_new(object, "comparable", json_boolean(!diff->gate.count));
	json_object_set_new(object, "obstacles", gate_json(&diff->gate));
	if (!view->is_refused) {
		json_object_set_new(object, "regression", json_boolean(diff_is_regression(diff)));
		json_object_set_new(object, "reading", text_json(diff->reading));
		json_object_set_new(object, "by_kind", json_boolean(diff->by_kind));
		for (int i = 0; i < DIFF_TABLES; i++)
			json_object_set_new(
				object, diff_tables[i].name, table_json(diff, diff_tables + i));
	}
	return object;
}

void diff_show_json(const struct diff_view *view, FILE *to)
{
	CLEANUP(decref_p) json_t *document = json_object();
	json_t *files = json_array(), *comparisons = json_array();
	bool is_simulated = false;

	json_object_set_new(document, "schema", json_integer(1));
	json_object_set_new(document, "files", files);
	json_object_set_new(document, "comparisons", comparisons);
	json_object_set_new(document, "reference", text_json(view->sides[view->reference]->label));
	json_object_set_new(document, "compared", json_boolean(!view->is_refused));
	for (size_t i = 0; i < view->side_count; i++) {
		is_simulated |= view->sides[i]->verdict->is_simulated;
		json_array_append_new(files, side_json(view->sides[i]));
	}
	json_object_set_new(document, "simulated", json_boolean(is_simulated));
	for (size_t i = 0; i < view->diff_count; i++)
		json_array_append_new(comparisons, diff_json(view, view->diffs[i]));
	if (!view->is_refused)
		json_object_set_new(document, "aorta", aorta_json(view));
	render_json(to, document, false);
}
