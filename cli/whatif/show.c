// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/color.h"
#include "cli/base/escape.h"
#include "cli/whatif/whatif.h"
#include "proto/base/cleanup.h"

static const struct render_column columns[] = {
	{NULL, "WHAT IF", RENDER_LINE},
	{"what", NULL, RENDER_TEXT},
	{"rank", NULL, RENDER_ID},
	{"process_id", NULL, RENDER_ID},
	{"kernel", NULL, RENDER_TEXT},
	{"comm", NULL, RENDER_TEXT},
	{"factor", NULL, RENDER_TENTHS},
	{"step_ns", "STEP ms", RENDER_NS_IN_MS},
	{"gain_pct", "GAIN %", RENDER_TENTHS},
	{"replaced", "TIMES REPLACED", RENDER_COUNT},
	{"without_peer", "WITHOUT PEER", RENDER_COUNT},
};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void name_question(const struct whatif *w, const struct whatif_question *q, char ret[160])
{
	char name[48];

	switch (q->kind) {
	case WHATIF_RANK:
		whatif_name_process(w->job, q->process, name);
		snprintf(ret, 160, "%s", name);
		break;
	case WHATIF_HOST:
		whatif_name_process(w->job, q->process, name);
		snprintf(ret, 160, "host of %s", name);
		break;
	case WHATIF_KERNEL:
		snprintf(ret, 160, "kernels %.120s", q->pattern);
		break;
	case WHATIF_COMM:
		snprintf(ret, 160, "communicator %" PRIx64,
			(uint64_t)w->job->collectives->comms[q->comm].id);
		break;
	default:
		snprintf(ret, 160, "transfers %gx", q->factor);
	}
}

/* The texts of a row. */
struct words {
	char name[160], comm[24];
};

static void fill_row(const struct whatif *w, const struct whatif_prediction *p, struct words *words,
	struct render_value v[COLUMNS])
{
	static const char *const kinds[] = {"rank", "kernel", "comm", "host", "transfer"};
	const struct whatif_question *q = &p->question;
	bool is_process = q->kind == WHATIF_RANK || q->kind == WHATIF_HOST;
	const struct whatif_process *process = w->job->processes + (is_process ? q->process : 0);

	name_question(w, q, words->name);
	if (q->kind == WHATIF_COMM)
		snprintf(words->comm, sizeof(words->comm), "%" PRIx64,
			(uint64_t)w->job->collectives->comms[q->comm].id);
	*v++ = render_text(words->name);
	*v++ = render_text(kinds[q->kind]);
	*v++ = render_optional(is_process && process->has_rank, process->rank);
	*v++ = render_optional(is_process, process->id);
	*v++ = render_text(q->kind == WHATIF_KERNEL ? q->pattern : NULL);
	*v++ = render_text(q->kind == WHATIF_COMM ? words->comm : NULL);
	*v++ = q->kind == WHATIF_TRANSFER ? render_real(q->factor) : render_null();
	*v++ = render_integer((int64_t)p->step_ns);
	*v++ = render_real(p->gain_pct);
	*v++ = render_integer((int64_t)p->replaced);
	*v = render_integer((int64_t)p->without_peer);
}

static void put_json(const struct whatif *w, const struct verdict *verdict, FILE *to)
{
	const struct whatif_graph *g = &w->graph;
	json_t *document = json_pack(
		"{s:i, s:o, s:o, s:f, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:b, s:o}", "schema", 1,
		"refused", w->refused[0] ? json_string(w->refused) : json_null(), "steps_from",
		w->job->has_steps ? render_json_text(w->job->steps_line, strlen(w->job->steps_line))
				  : json_null(),
		"step_ns", w->step_ns, "steps", (json_int_t)w->steps, "operations",
		(json_int_t)w->job->op_count, "edges", (json_int_t)g->edges, "contradicted_edges",
		(json_int_t)g->contradicted, "paced", (json_int_t)g->paced, "delay_pct",
		g->delay_pct, "unexplained_pct", g->unexplained_pct, "either_way",
		(int)w->is_either_way, "predictions", json_array());
	json_t *predictions = json_object_get(document, "predictions");

	verdict_put_json(verdict, document);
	for (size_t i = 0; i < w->count && !w->refused[0]; i++) {
		struct render_value row[COLUMNS];
		struct words words;

		fill_row(w, w->predictions + i, &words, row);
		json_array_append_new(predictions, render_json_row(columns, COLUMNS, row));
	}
	render_json(to, document, false);
	json_decref(document);
}

static void put_table(const struct whatif *w, const struct verdict *verdict,
	enum render_format format, size_t width, FILE *to)
{
	CLEANUP(render_free_p) struct render *render = render_new(to, format, columns, COLUMNS);

	render_set_width(render, width);
	render_tell_simulated(render, verdict->is_simulated);
	for (size_t i = 0; i < w->count; i++) {
		struct render_value row[COLUMNS];
		struct words words;

		fill_row(w, w->predictions + i, &words, row);
		render_row(render, row);
	}
	render_finish(render);
}

static void put_head(const struct whatif *w, FILE *to)
{
	const struct whatif_graph *g = &w->graph;
	char text[256];

	snprintf(text, sizeof(text), "%s takes %.3f ms (%" PRIu64 " %s of %zu ranks).%s%s",
		w->job->has_steps ? "A step" : "The run", w->step_ns / 1e6, w->steps,
		w->job->has_steps ? "steps" : "runs", w->job->process_count,
		g->paced ? " Something outside paces the hosts." : "",
		w->is_either_way
			? " Host calls were not recorded: it holds whether hosts wait or not."
			: "");
	render_put_reading(to, text, 0);
	snprintf(text, sizeof(text),
		"Replayed with %" PRIu64
		" edges; delays of %.1f %% of a rank's time are kept, %.1f %% are not explained.",
		g->edges, g->delay_pct, g->unexplained_pct);
	render_put_reading(to, text, 0);
	fputc('\n', to);
}

void whatif_show(const struct whatif *w, const struct verdict *verdict, enum render_format format,
	size_t width, FILE *to)
{
	if (format == RENDER_JSON) {
		put_json(w, verdict, to);
		return;
	}
	if (format == RENDER_TABLE) {
		color_put_verdict(to, verdict->line);
		put_head(w, to);
	}
	put_table(w, verdict, format, width, to);
}
