// SPDX-License-Identifier: MIT
/*
 * AORTA's metrics: one file per rank with one line per step, and the summary that its
 * overlap_report.py would make of them. The figures are those of rtl timeline, which reads the
 * database itself, so this format takes no rows.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/base/message.h"
#include "cli/export/aorta_timeline.h"
#include "cli/export/rows/format.h"
#include "cli/output/table.h"
#include "cli/timeline/json.h"
#include "proto/base/cleanup.h"

#define LABEL_BYTES 128
#define WRITE_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(15))

enum metric_name { METRIC_LOSS, METRIC_LR, METRIC_GRAD_NORM, METRIC_EPOCH, METRICS };
static const char *const metric_names[] = {"loss", "lr", "grad_norm", "epoch"};

/* A value that the program reported in a mark. */
struct metric {
	int64_t process_id, time_ns;
	enum metric_name name;
	double value;
};

struct aorta {
	json_t *document, *datasets; /* the document of summary.json, which owns `datasets` */
	double first_ratio;
	/* Of the current database: */
	struct metric *metrics; /* sorted by process and time */
	size_t metric_count;
	struct aorta_point *points;
	size_t point_count, point_capacity;
	uint64_t steps;
	double sum_loss, sum_overlap_ms, sum_compute_ms, sum_allreduce_ms, sum_reducescatter_ms;
};

static void decref_p(json_t **json)
{
	json_decref(*json);
}

/* ---- metrics -------------------------------------------------------------------------------- */

static int load_metrics(struct export_writer *w)
{
	struct aorta *state = w->state;
	int r = 0;

	QUERY_EACH (r, w->source->query, "export_metrics", rows) {
		struct metric *grown =
			grow_by_one(state->metrics, state->metric_count, sizeof(*grown));
		int name = 0;

		if (!grown)
			return -ENOMEM;
		state->metrics = grown;
		while (strcmp(metric_names[name], query_text(rows, 1)))
			name++;
		grown[state->metric_count++] = (struct metric){
			.process_id = query_integer(rows, 0),
			.time_ns = query_integer(rows, 2),
			.name = (enum metric_name)name,
			.value = query_real(rows, 3),
		};
	}
	return r;
}

/* Returns the index of the process's first metric at or after @time_ns. */
static size_t find_metric(const struct aorta *state, int64_t process_id, int64_t time_ns)
{
	size_t low = 0, high = state->metric_count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct metric *metric = state->metrics + middle;

		if (metric->process_id < process_id ||
			(metric->process_id == process_id && metric->time_ns < time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Finds the last value of each name within the step. */
static void find_metrics(const struct aorta *state, int64_t process_id,
	const struct breakdown_row *row, bool ret_has[METRICS], double ret[METRICS])
{
	for (size_t i = find_metric(state, process_id, row->start_ns);
		i < state->metric_count && state->metrics[i].process_id == process_id &&
		state->metrics[i].time_ns < row->end_ns;
		i++) {
		ret[state->metrics[i].name] = state->metrics[i].value;
		ret_has[state->metrics[i].name] = isfinite(state->metrics[i].value);
	}
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* Returns the "profile" of a line. */
static json_t *profile_json(const struct timeline_lane *lane, size_t which, size_t *segment_at)
{
	const struct breakdown_row *row = lane->rows + which;
	json_t *object = json_object(), *overlap = json_object();
	int bad = json_object_set_new(object, "index", json_integer((json_int_t)which));

	timeline_put_aorta(overlap, row, false); /* its readers expect numbers */
	timeline_put_segments(overlap, lane, which, row, segment_at);
	bad |= json_object_set(object, "total_ms", json_object_get(overlap, "total_ms"));
	bad |= json_object_set_new(object, "ranges", json_array());
	bad |= json_object_set_new(object, "markers", json_array());
	bad |= json_object_set_new(object, "overlap", overlap);
	if (!bad)
		return object;
	json_decref(object);
	return NULL;
}

static json_t *known_or_null(bool has_value, double value)
{
	return has_value ? json_real(value) : json_null();
}

/* overlap_report.py adds up the losses, so an unknown loss is 0, and the line says that it is
 * unknown. */
static json_t *line_json(
	struct export_writer *w, const struct timeline_lane *lane, size_t which, size_t *segment_at)
{
	const struct export_process *process = export_process_find(w->source, lane->process_id);
	const struct step *step = lane->process->at + which;
	bool has[METRICS] = {false};
	double values[METRICS] = {0};
	json_t *object = json_object(), *more = json_object();
	int bad = json_object_set_new(object, "rank", json_integer(lane->rank));

	find_metrics(w->state, lane->process_id, lane->rows + which, has, values);
	bad |= json_object_set_new(object, "world_size",
		process && process->has_world_size ? json_integer(process->world_size)
						   : json_null());
	bad |= json_object_set_new(object, "epoch",
		json_integer(has[METRIC_EPOCH] ? (json_int_t)values[METRIC_EPOCH] : 0));
	bad |= json_object_set_new(object, "step", json_integer(step->number));
	bad |= json_object_set_new(object, "global_step", json_integer(step->number));
	bad |= json_object_set_new(
		object, "loss", json_real(has[METRIC_LOSS] ? values[METRIC_LOSS] : 0.0));
	bad |= json_object_set_new(object, "grad_norm",
		known_or_null(has[METRIC_GRAD_NORM], values[METRIC_GRAD_NORM]));
	bad |= json_object_set_new(object, "lr", known_or_null(has[METRIC_LR], values[METRIC_LR]));
	bad |= json_object_set_new(object, "profile", profile_json(lane, which, segment_at));
	bad |= json_object_set_new(object, "rtl", more);
	bad |= json_object_set_new(more, "loss_known", json_boolean(has[METRIC_LOSS]));
	bad |= json_object_set_new(more, "gpuId", json_integer(lane->gpu_id));
	bad |= json_object_set_new(
		more, "simulated", json_boolean(w->source->verdict->is_simulated));
	bad |= json_object_set_new(more, "complete", verdict_complete_json(w->source->verdict));
	if (!bad)
		return object;
	json_decref(object);
	return NULL;
}

static int add_step(struct aorta *state, const struct breakdown_row *row, const json_t *line)
{
	GROW(state->points, state->point_count, state->point_capacity);
	state->points[state->point_count++] = (struct aorta_point){
		.step = json_integer_value(json_object_get(line, "global_step")),
		.overlap_ms = (double)row->with_communication_ns / 1e6,
		.compute_ms = (double)row->stream_ns[BREAKDOWN_COMPUTE] / 1e6,
	};
	state->steps++;
	state->sum_loss += json_real_value(json_object_get(line, "loss"));
	state->sum_overlap_ms += (double)row->with_communication_ns / 1e6;
	state->sum_compute_ms += (double)row->stream_ns[BREAKDOWN_COMPUTE] / 1e6;
	state->sum_allreduce_ms += (double)row->with_allreduce_ns / 1e6;
	state->sum_reducescatter_ms += (double)row->with_reducescatter_ns / 1e6;
	return 0;
}

/* If @to is NULL the figures are summed but no line is written. */
static int put_steps(struct export_writer *w, const struct timeline_lane *lane, FILE *to)
{
	size_t segment_at = 0;

	for (size_t i = 0; i < lane->process->count; i++) {
		const struct breakdown_row *row = lane->rows + i;
		CLEANUP(decref_p) json_t *line = NULL;
		int r;

		line = line_json(w, lane, i, &segment_at);
		if (!line)
			return -ENOMEM;
		if (!export_has_time(w->source, row->start_ns, row->end_ns))
			continue;
		r = add_step(w->state, row, line);
		if (r)
			return r;
		if (to) {
			render_json_value(to, line, WRITE_FLAGS);
			fputs("\n", to);
		}
	}
	if (lane->outside.kernels || lane->outside.copies)
		w->lost[EXPORT_OUTSIDE]++;
	return 0;
}

/* Readers take the rank from the text after the first _. The files of a rank's other GPUs have
 * longer names. */
static int put_lane(struct export_writer *w, const struct timeline *timeline, size_t at)
{
	const struct timeline_lane *lane = timeline->lanes + at;
	const struct timeline_lane *before = at ? lane - 1 : NULL;
	char name[96], more[64] = "";
	FILE *to;
	int r;

	/* The files of several runs would have the same names. */
	if (w->datasets > 1)
		return put_steps(w, lane, NULL);
	if (before && before->has_rank && before->rank == lane->rank)
		snprintf(more, sizeof(more), "_p%" PRId64 "_gpu%" PRId64, lane->process_id,
			lane->gpu_id);
	snprintf(name, sizeof(name), "rank_%02" PRId64 "%s_metrics.jsonl", lane->rank, more);
	to = output_folder_create(&w->folder, name);
	if (!to)
		return -EIO;
	r = put_steps(w, lane, to);
	if (r) {
		fclose(to);
		return r;
	}
	return output_folder_close(&w->folder, to, name);
}

/* ---- the summary ---------------------------------------------------------------------------- */

static int put_means(const struct aorta *state, json_t *to)
{
	double count = (double)state->steps;
	int bad = json_object_set_new(to, "count", json_integer((json_int_t)state->steps));

	if (!state->steps)
		return bad;
	bad |= json_object_set_new(to, "mean_loss", json_real(state->sum_loss / count));
	bad |= json_object_set_new(to, "mean_overlap_ms", json_real(state->sum_overlap_ms / count));
	bad |= json_object_set_new(to, "mean_compute_ms", json_real(state->sum_compute_ms / count));
	bad |= json_object_set_new(
		to, "mean_allreduce_overlap_ms", json_real(state->sum_allreduce_ms / count));
	bad |= json_object_set_new(to, "mean_reducescatter_overlap_ms",
		json_real(state->sum_reducescatter_ms / count));
	bad |= json_object_set_new(to, "overlap_ratio",
		json_real(state->sum_compute_ms > 0 ? state->sum_overlap_ms / state->sum_compute_ms
						    : 0.0));
	return bad;
}

/* overlap_report.py compares the runs if it is given two. */
static int put_comparison(json_t *document, double reference, double candidate)
{
	json_t *comparison = json_object();
	int bad = json_object_set_new(comparison, "reference_overlap_ratio", json_real(reference));

	bad |= json_object_set_new(comparison, "candidate_overlap_ratio", json_real(candidate));
	bad |= json_object_set_new(comparison, "ratio_delta", json_real(candidate - reference));
	return bad | json_object_set_new(document, "comparison", comparison);
}

/* Makes a label that can begin a file name and is not another database's, because a session may
 * have any name. */
static int make_label(const struct export_writer *w, char ret[LABEL_BYTES])
{
	const struct aorta *state = w->state;
	const char *session = w->source->session;

	snprintf(ret, LABEL_BYTES, "%s", w->label ? w->label : *session ? session : "rtl");
	for (char *at = ret; *at; at++)
		if (*at == '/' || (*at == '.' && at == ret))
			*at = '_';
	if (!json_object_get(state->datasets, ret))
		return 0;
	say("--aorta: %s is the name of two runs; --label gives them others", ret);
	return -EIO;
}

static int put_timeline(struct export_writer *w, const char *label)
{
	struct aorta *state = w->state;
	char name[LABEL_BYTES + 16];
	FILE *to;
	int r;

	snprintf(name, sizeof(name), "%s_timeline.svg", label);
	to = output_folder_create(&w->folder, name);
	if (!to)
		return -EIO;
	r = aorta_put_timeline(
		to, label, w->source->verdict->is_simulated, state->points, state->point_count);
	return output_folder_close(&w->folder, to, name) ? -EIO : r;
}

/* Adds one database to "datasets". The last one ends the file. */
static int put_dataset(struct export_writer *w)
{
	struct aorta *state = w->state;
	json_t *means = json_object(), *more = json_object();
	double ratio =
		state->sum_compute_ms > 0 ? state->sum_overlap_ms / state->sum_compute_ms : 0.0;
	char label[LABEL_BYTES];
	int r, bad = 0;

	if (!state->document) {
		state->document = json_object();
		state->datasets = json_object();
		bad |= json_object_set_new(state->document, "datasets", state->datasets);
		bad |= json_object_set_new(state->document, "rtl", json_object());
	}
	r = bad ? -ENOMEM : make_label(w, label);
	if (r) {
		json_decref(means);
		json_decref(more);
		return r;
	}
	bad |= json_object_set_new(state->datasets, label, means);
	bad |= put_means(state, means);
	bad |= json_object_set_new(json_object_get(state->document, "rtl"), label, more);
	verdict_put_json(w->source->verdict, more);
	if (w->datasets == 2 && w->dataset == 1)
		bad |= put_comparison(state->document, state->first_ratio, ratio);
	state->first_ratio = ratio;
	return bad ? -ENOMEM : put_timeline(w, label);
}

/* Writes the summary as overlap_report.py would from these files. */
static int put_summary(struct export_writer *w)
{
	const struct aorta *state = w->state;
	FILE *to = output_folder_create(&w->folder, "summary.json");

	if (!to)
		return -EIO;
	render_json_value(to, state->document, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
	fputs("\n", to);
	return output_folder_close(&w->folder, to, "summary.json") ? -EIO : 0;
}

static void forget_steps(struct aorta *state)
{
	const struct aorta kept = {.document = state->document,
		.datasets = state->datasets,
		.first_ratio = state->first_ratio};

	free(state->metrics);
	free(state->points);
	*state = kept;
}

static int end(struct export_writer *w)
{
	const struct timeline_options options = {
		.wants_segments = true, .micro_idle_ns = BREAKDOWN_MICRO_IDLE_NS};
	CLEANUP(trace_free_p) struct trace *trace = NULL;
	CLEANUP(timeline_free_p) struct timeline *timeline = NULL;
	char error[QUERY_ERROR_BYTES] = "";
	int r = load_metrics(w);

	if (!r)
		r = trace_open(w->source->query, NULL, error, &trace);
	if (!r)
		r = timeline_new(trace, &options, error, &timeline);
	if (r && error[0]) {
		say("--aorta: %s", error);
		return -EIO;
	}
	for (size_t i = 0; !r && i < timeline->lane_count; i++) {
		const struct timeline_lane *lane = timeline->lanes + i;
		const struct export_process *process =
			export_process_find(w->source, lane->process_id);

		if (!process || !export_has_process(w->source, process) ||
			!export_has_gpu(w->source, true, lane->gpu_id))
			continue;
		if (lane->has_rank)
			r = put_lane(w, timeline, i);
		else
			w->lost[EXPORT_RANKS]++;
	}
	if (!r)
		r = put_dataset(w);
	if (!r && w->dataset + 1 == w->datasets)
		r = put_summary(w);
	forget_steps(w->state);
	return r;
}

static void done(struct export_writer *w)
{
	struct aorta *state = w->state;

	forget_steps(state);
	json_decref(state->document);
}

const struct export_format export_aorta = {
	.option = "aorta",
	.argument = "DIR",
	.help = "AORTA's metrics, a file rank_<rr>_metrics.jsonl for each rank with a line a step, "
		"and the summary of its overlap_report.py; of several FILEs that with a "
		"comparison",
	.use = "AORTA's overlap_report.py --log-dir",
	.kind = EXPORT_FOLDER,
	.takes_several = true,
	.files = (const char *const[]){"rank_*_metrics.jsonl", "*_timeline.svg", "summary.json",
		NULL},
	.state_bytes = sizeof(struct aorta),
	.is_summary = true,
	.end = end,
	.done = done,
};
