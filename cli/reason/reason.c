// SPDX-License-Identifier: MIT
#include "cli/reason/reason.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/collectives/totals.h"
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

int reason_new(struct query *query, const char *categories, const struct verdict *verdict,
	char error[QUERY_ERROR_BYTES], struct reason **ret)
{
	CLEANUP(reason_free_p) struct reason *reason = calloc(1, sizeof(*reason));
	int r;

	error[0] = '\0';
	if (!reason)
		return -ENOMEM;
	r = reason_load(query, categories, verdict, error, &reason->figures);
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
	char part[96] = "", lost[96] = "";

	if (!sample || !rows)
		return NULL;
	if (f->sample < f->rows && f->sample)
		snprintf(part, sizeof(part), " [%s of %s kernels looked at]", sample, rows);
	if (f->missing && f->sample)
		snprintf(lost, sizeof(lost),
			"; %" PRIu64 " kernels are missing, and look like idle time", f->missing);
	if (asprintf(&line, "%sreason: %s%s%s%s%s%s", f->is_simulated ? "SIMULATED " : "",
		    reason->text, f->is_live && f->sample ? ", so far" : "",
		    reason->hint[0] ? "; " : "", reason->hint, lost, part) < 0) {
		line = NULL;
		return NULL;
	}
	/* Names of categories may be anybody's. */
	return render_escape(line, strlen(line));
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_t *share(uint64_t part, uint64_t whole)
{
	return whole ? json_real(100.0 * (double)part / (double)whole) : json_null();
}

static json_t *row_json(const struct breakdown_row *row)
{
	return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I}", "total_time_ns",
		(json_int_t)row->wall_ns, "computation_pct",
		share(row->stream_ns[BREAKDOWN_COMPUTE], row->wall_ns), "exposed_comm_pct",
		share(row->exposed_communication_ns, row->wall_ns), "total_comm_pct",
		share(row->communication_ns, row->wall_ns), "exposed_memcpy_pct",
		share(row->exposed_copy_ns, row->wall_ns), "total_memcpy_pct",
		share(row->stream_ns[BREAKDOWN_COPY], row->wall_ns), "idle_pct",
		share(breakdown_idle_ns(row), row->wall_ns), "idle_gaps", (json_int_t)row->gaps,
		"kernels", (json_int_t)row->kernels);
}

static json_t *straggler_json(const struct reason_straggler *s)
{
	if (!s->is_found)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:I, s:f, s:f, s:s}", "process_id",
		(json_int_t)s->process_id, "gpuId", (json_int_t)s->gpu_id, "times_arrived_last",
		(json_int_t)s->last, "num_collectives", (json_int_t)s->count, "late_mean_ns",
		s->late_ns, "late_pct", s->late_pct, "cause", collectives_cause_name(s->cause));
}

json_t *reason_json(const struct reason *reason)
{
	const struct reason_figures *f = &reason->figures;
	const struct reason_lane *lane = reason->lane;
	/* Names of categories and directions may be anything. */
	json_t *object = json_pack("{s:s, s:o, s:o, s:b, s:o, s:o, s:o}", "code",
		reason_code_name(reason->code), "text",
		render_json_text(reason->text, strlen(reason->text)), "hint",
		reason->hint[0] ? render_json_text(reason->hint, strlen(reason->hint))
				: json_null(),
		"simulated",
		f->is_simulated, "all", row_json(&f->total), "straggler",
		straggler_json(&f->straggler), "looked_at",
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
		json_object_set_new(object, "its", lane ? row_json(&lane->total) : json_null())) {
		json_decref(object);
		return NULL;
	}
	return object;
}
