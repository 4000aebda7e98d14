// SPDX-License-Identifier: MIT
#include "cli/timeline/timeline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/base/color.h"
#include "cli/base/wrapping.h"
#include "cli/timeline/json.h"
#include "cli/timeline/kinds.h"
#include "proto/base/cleanup.h"

/* A row of a table: the total of a lane, or one of its steps (the number of steps: outside). */
struct line {
	const struct timeline_lane *lane;
	size_t step;
	const struct breakdown_row *row;
	const char *steps; /* the numbers of steps that share the row, borrowed; NULL: one step */
};

struct lines {
	struct line *at;
	size_t count;
};

static void lines_done(struct lines *lines)
{
	free(lines->at);
}

static struct render_value percent(uint64_t part, uint64_t whole)
{
	return whole ? render_real(100.0 * (double)part / (double)whole) : render_null();
}

/* ---- text ---------------------------------------------------------------------------------- */

/* Both tables share these columns. The column of processes is shown only if ranks are ambiguous. */
#define SHARES                                                                                     \
	{NULL, "COMP %", RENDER_TENTHS}, {NULL, "COMM %", RENDER_TENTHS},                          \
		{NULL, "COPY %", RENDER_TENTHS}, {NULL, "IDLE %", RENDER_TENTHS},                  \
		{NULL, "MICRO %", RENDER_TENTHS}, {NULL, "HIDDEN %", RENDER_TENTHS},               \
	{                                                                                          \
		NULL, "IDLE FOR", RENDER_NOTE                                                      \
	}

static const struct render_column total_columns[] = {{NULL, "RANK", RENDER_ID},
	{NULL, "GPU", RENDER_ID}, {NULL, "STEPS", RENDER_COUNT}, {NULL, "TIME ms", RENDER_NS_IN_MS},
	SHARES};
static const struct render_column step_columns[] = {{NULL, "RANK", RENDER_ID},
	{NULL, "GPU", RENDER_ID}, {NULL, "STEP", RENDER_ANY}, {NULL, "TIME ms", RENDER_NS_IN_MS},
	SHARES};

#define COLUMNS (sizeof(total_columns) / sizeof(total_columns[0]))

static struct render_value copy_percent(const struct timeline *t, const struct breakdown_row *row)
{
	return timeline_lacks_copies(t, row) ? render_null()
					     : percent(row->exposed_copy_ns, row->wall_ns);
}

static void fill_row(const struct timeline *t, const struct line *line, bool is_total,
	char cause[64], struct render_value ret[COLUMNS])
{
	const struct breakdown_row *row = line->row;
	const struct steps_process *process = line->lane->process;
	enum breakdown_cause main = breakdown_main_cause(row);

	cause[0] = '\0';
	if (main < BREAKDOWN_CAUSES)
		snprintf(cause, 64, "%s %.0f %%", breakdown_cause_words(main),
			100.0 * (double)row->cause_ns[main] / (double)breakdown_idle_ns(row));
	*ret++ = render_optional(line->lane->has_rank, line->lane->rank);
	*ret++ = render_integer(line->lane->gpu_id);
	*ret++ = is_total		       ? render_integer((int64_t)line->lane->shown)
		 : line->steps		       ? render_text(line->steps)
		 : line->step < process->count ? render_integer(process->at[line->step].number)
					       : render_text("outside");
	*ret++ = render_integer((int64_t)row->wall_ns);
	*ret++ = percent(row->stream_ns[BREAKDOWN_COMPUTE], row->wall_ns);
	*ret++ = percent(row->exposed_communication_ns, row->wall_ns);
	*ret++ = copy_percent(t, row);
	*ret++ = percent(breakdown_idle_ns(row), row->wall_ns);
	*ret++ = percent(row->micro_idle_ns, row->wall_ns);
	*ret++ = percent(row->with_communication_ns, row->communication_ns);
	*ret++ = render_text(cause);
}

static void put_lines(const struct timeline *t, const struct line *lines, size_t count,
	bool is_total, const struct timeline_show *show, FILE *to)
{
	CLEANUP(render_free_p) struct render *render = NULL;
	struct render_column columns[COLUMNS + 1] = {{NULL, "PROC", RENDER_ID}};
	struct render_value values[COLUMNS + 1];
	char cause[64];

	memcpy(columns + 1, is_total ? total_columns : step_columns, sizeof(total_columns));
	if (!t->has_ambiguous_ranks)
		columns[0].title = NULL;
	render = render_new(to, show->format, columns, COLUMNS + 1);
	render_set_width(render, show->width);
	render_explain(render, TIMELINE_TITLES);
	for (size_t i = 0; i < count; i++) {
		values[0] = render_integer(lines[i].lane->process_id);
		fill_row(t, lines + i, is_total, cause, values + 1);
		render_row(render, values);
	}
	render_finish(render);
}

static void collect(const struct timeline *t, const struct timeline_options *o, struct lines *ret)
{
	size_t room = 0;

	for (size_t i = 0; i < t->lane_count; i++)
		room += t->lanes[i].process->count + 1;
	ret->at = xcalloc(room + 1, sizeof(*ret->at));
	for (size_t i = 0; i < t->lane_count; i++) {
		const struct timeline_lane *lane = t->lanes + i;

		for (size_t n = 0; n < lane->process->count; n++)
			if (timeline_shows(o, lane->process->at + n))
				ret->at[ret->count++] = (struct line){
					.lane = lane, .step = n, .row = lane->rows + n};
		if (timeline_shows_outside(o, lane))
			ret->at[ret->count++] = (struct line){
				.lane = lane, .step = lane->process->count, .row = &lane->outside};
	}
}

/* The time of a row as a table shows it: steps whose tables look the same are the same. */
static uint64_t shown_us(const struct line *line)
{
	return line->row->wall_ns / 1000 + (line->row->wall_ns % 1000 >= 500);
}

static int compare_walls(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (shown_us(x) != shown_us(y))
		return shown_us(x) < shown_us(y) ? 1 : -1;
	/* The addresses of rows depend on the allocator, so they must not decide the order. */
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

/* Drops the rows outside of steps, which are not steps and would be the longest. */
static void drop_outside(struct lines *lines)
{
	size_t kept = 0;

	for (size_t i = 0; i < lines->count; i++)
		if (lines->at[i].step < lines->at[i].lane->process->count)
			lines->at[kept++] = lines->at[i];
	lines->count = kept;
}

void timeline_put_ranks(const struct timeline *t, const struct timeline_show *show, FILE *to)
{
	CLEANUP(lines_done) struct lines lines = {0};

	lines.at = xcalloc(t->lane_count + 1, sizeof(*lines.at));
	for (size_t i = 0; i < t->lane_count; i++)
		lines.at[i] = (struct line){.lane = t->lanes + i, .row = &t->lanes[i].total};
	put_lines(t, lines.at, t->lane_count, true, show, to);
}

/* Numbers of steps as "1-7,9", so many that the column stays narrow. */
#define RANGES_COLUMNS 12

struct ranges {
	int64_t from, to; /* the last range, which is not yet in the text */
	size_t count;	  /* steps */
	size_t beyond;	  /* those for which the text has no room */
	char text[64];
};

static void ranges_flush(struct ranges *r)
{
	size_t length = strlen(r->text);
	char piece[48];

	if (r->from == r->to)
		snprintf(piece, sizeof(piece), "%s%" PRId64, length ? "," : "", r->from);
	else
		snprintf(piece, sizeof(piece), "%s%" PRId64 "-%" PRId64, length ? "," : "", r->from,
			r->to);
	if (length && (r->beyond || length + strlen(piece) > RANGES_COLUMNS))
		r->beyond += (size_t)wrap_minus(r->to, r->from) + 1;
	else
		snprintf(r->text + length, sizeof(r->text) - length, "%s", piece);
}

static void ranges_add(struct ranges *r, int64_t number)
{
	if (r->to == INT64_MAX || number != r->to + 1) {
		ranges_flush(r);
		r->from = number;
	}
	r->to = number;
	r->count++;
}

static void ranges_finish(struct ranges *r)
{
	size_t length;

	ranges_flush(r);
	length = strlen(r->text);
	if (r->beyond)
		snprintf(r->text + length, sizeof(r->text) - length, " +%zu", r->beyond);
}

/* The longest steps; those of a lane whose figures look the same share a row. */
struct longest {
	struct line *rows;
	struct ranges *ranges; /* of each row */
	char **figures;	       /* of each row, as a table shows them */
	size_t count, steps;   /* rows, and the steps that they stand for */
};

static void longest_done(struct longest *l)
{
	for (size_t i = 0; l->figures && i < l->count; i++)
		free(l->figures[i]);
	free(l->figures);
	free(l->ranges);
	free(l->rows);
}

/* Returns all cells of a step behind its number, allocated; NULL if memory is short. */
static char *figures_of(const struct timeline *t, const struct line *line)
{
	struct render_value values[COLUMNS];
	char cause[64], *text = NULL;
	FILE *to = xmemstream(&text);
	bool is_whole = to != NULL;

	fill_row(t, line, false, cause, values);
	for (size_t i = 3; i < COLUMNS; i++) {
		CLEANUP(free_p) char *cell = render_cell(step_columns[i].kind, values + i);

		is_whole = is_whole && cell && fprintf(to, "%s\n", cell) > 0;
	}
	if (!fclose(to) && is_whole)
		return text;
	free(text);
	return NULL;
}

/* Returns the row whose figures are equal, or the number of rows. The rows are sorted by time. */
static size_t find_equal(const struct longest *l, const struct line *line, const char *figures)
{
	for (size_t i = l->count;
		i-- && l->rows[i].lane == line->lane && shown_us(l->rows + i) == shown_us(line);)
		if (!strcmp(l->figures[i], figures))
			return i;
	return l->count;
}

/* Takes a step. Sets *@ret_full instead if it needs a row beyond @rows. */
static void add_step(const struct timeline *t, const struct line *line, size_t rows,
	struct longest *l, bool *ret_full)
{
	int64_t number = line->lane->process->at[line->step].number;
	CLEANUP(free_p) char *figures = figures_of(t, line);
	size_t at;

	at = find_equal(l, line, figures);
	*ret_full = at == rows;
	if (*ret_full)
		return;
	l->steps++;
	if (at < l->count) {
		ranges_add(l->ranges + at, number);
		return;
	}
	l->rows[at] = *line;
	l->ranges[at] = (struct ranges){.from = number, .to = number, .count = 1};
	l->figures[at] = TAKE(figures);
	l->count++;
}

/* Sorts @lines. A step that is equal to a row further up comes directly behind the steps of its
 * lane and time, so the first one that differs in these ends the search. */
static void find_longest(
	const struct timeline *t, struct lines *lines, uint64_t rows, struct longest *ret)
{
	size_t room = rows < lines->count ? (size_t)rows : lines->count;
	bool is_full = false;

	ret->rows = xcalloc(room + 1, sizeof(*ret->rows));
	ret->ranges = xcalloc(room + 1, sizeof(*ret->ranges));
	ret->figures = xcalloc(room + 1, sizeof(*ret->figures));
	if (!room)
		return;
	qsort(lines->at, lines->count, sizeof(*lines->at), compare_walls);
	for (size_t i = 0; i < lines->count; i++) {
		const struct line *line = lines->at + i, *last = ret->rows + ret->count - 1;

		if (is_full && (line->lane != last->lane || shown_us(line) != shown_us(last)))
			break;
		add_step(t, line, room, ret, &is_full);
		is_full = is_full || ret->count == room;
	}
	for (size_t i = 0; i < ret->count; i++) {
		ranges_finish(ret->ranges + i);
		if (ret->ranges[i].count > 1)
			ret->rows[i].steps = ret->ranges[i].text;
	}
}

void timeline_put_longest(const struct timeline *t, const struct timeline_options *o,
	const struct timeline_show *show, FILE *to)
{
	CLEANUP(lines_done) struct lines lines = {0};
	CLEANUP(longest_done) struct longest longest = {0};

	collect(t, o, &lines);
	drop_outside(&lines);
	find_longest(t, &lines, show->rows, &longest);
	put_lines(t, longest.rows, longest.count, false, show, to);
}

/* Writes all steps in order, or only the longest. */
static void put_steps(const struct timeline *t, const struct timeline_options *o,
	const struct timeline_show *show, FILE *to)
{
	CLEANUP(lines_done) struct lines lines = {0};
	CLEANUP(longest_done) struct longest longest = {0};

	collect(t, o, &lines);
	if (!lines.count)
		return;
	if (show->rows && show->rows < lines.count) {
		drop_outside(&lines);
		find_longest(t, &lines, show->rows, &longest);
		fprintf(to, "\nLONGEST STEPS%s: %zu of %zu%s; --top 0 shows all\n",
			t->verdict->is_simulated ? " (SIMULATED)" : "", longest.steps, lines.count,
			longest.steps > longest.count ? ", equal ones in one row" : "");
		put_lines(t, longest.rows, longest.count, false, show, to);
		return;
	}
	fprintf(to, "\nSTEPS%s\n", t->verdict->is_simulated ? " (SIMULATED)" : "");
	put_lines(t, lines.at, lines.count, false, show, to);
}

static void put_notes(const struct timeline *t, FILE *to)
{
	char note[128];

	color_put_verdict(to, t->verdict->line);
	render_put_reading(to, t->steps->line, 0);
	if (t->is_live || t->verdict->counts.live)
		fputs("the session is open: its last steps are as far as they are stored\n", to);
	if (t->untimed)
		fprintf(to,
			"%" PRIu64 " kernels have no times: what they did is shown as idle time\n",
			t->untimed);
	if (t->untimed_copies) {
		snprintf(note, sizeof(note),
			"%" PRIu64 " copies have no times (--mode full records them): what they "
			"did is shown as idle time",
			t->untimed_copies);
		render_put_reading(to, note, 0);
	}
	if (t->outside_ns && t->outside_ns * 100 >= t->total.wall_ns)
		fprintf(to, "outside of steps: %.1f ms, not in the sums of ranks\n",
			(double)t->outside_ns / 1e6);
	if (t->verdict->counts.dropped || t->verdict->counts.torn || t->verdict->counts.outstanding)
		fputs("kernels are missing: what they did is shown as idle time\n", to);
}

/* Says why there is nothing to show. */
static void put_nothing(const struct timeline *t, FILE *to)
{
	if (t->verdict->is_empty)
		fputs("no kernels: nothing was dispatched\n", to);
	else
		fputs("no kernel or copy has a time\n", to);
}

static void show_text(const struct timeline *t, const struct timeline_options *o,
	const struct timeline_show *show, FILE *to)
{
	CLEANUP(free_p) char *reading = NULL;
	size_t shown = 0;

	put_notes(t, to);
	for (size_t i = 0; i < t->lane_count; i++)
		shown += t->lanes[i].shown + timeline_shows_outside(o, t->lanes + i);
	if (!shown) {
		put_nothing(t, to);
		return;
	}
	fprintf(to, "\nRANKS%s\n", t->verdict->is_simulated ? " (SIMULATED)" : "");
	timeline_put_ranks(t, show, to);
	if (t->kinds && !t->kinds->count)
		fputs("\nno kinds of steps: there are no steps, or more than can be sorted\n", to);
	if (t->kinds && t->kinds->count) {
		fprintf(to, "\nKINDS OF STEPS%s\n", t->verdict->is_simulated ? " (SIMULATED)" : "");
		timeline_put_kinds(t, o, show, to);
	}
	/* If each lane has one step only, the totals say the same. */
	if (!t->kinds && (t->steps->source != STEPS_WHOLE || o->has_step))
		put_steps(t, o, show, to);
	reading = timeline_reading(t);
	fputc('\n', to);
	render_put_reading(to, reading, 0);
}

/* ---- CSV ----------------------------------------------------------------------------------- */

#define NS(name)                                                                                   \
	{                                                                                          \
		name "_ns", NULL, RENDER_COUNT                                                     \
	}

static const struct render_column csv_columns[] = {{"rank", NULL, RENDER_ID},
	{"gpuId", NULL, RENDER_ID}, {"process_id", NULL, RENDER_ID}, {"step", NULL, RENDER_ID},
	{"text", NULL, RENDER_TEXT}, NS("start"), NS("end"), NS("total_time"),
	NS("computation_time"), NS("exposed_comm_time"), NS("exposed_memcpy_time"), NS("idle_time"),
	NS("micro_idle_time"), NS("macro_idle_time"), NS("busy_time"), NS("total_comm_time"),
	NS("total_memcpy_time"), NS("compute"), NS("allreduce"), NS("reducescatter"),
	NS("communication"), NS("copy"), NS("compute_allreduce"), NS("compute_reducescatter"),
	NS("compute_comm"), {"overlap_ratio", NULL, RENDER_ANY},
	{"comm_hidden_ratio", NULL, RENDER_ANY}, {"active_segments", NULL, RENDER_COUNT},
	NS("host_late"), NS("queue_empty"), NS("synchronisation"), NS("waiting_for_peer"),
	NS("launch"), NS("dependency"), NS("unknown"), {"kernels", NULL, RENDER_COUNT},
	{"copies", NULL, RENDER_COUNT}, {"untimed", NULL, RENDER_COUNT},
	{"simulated", NULL, RENDER_BOOL}};

#define CSV_COLUMNS (sizeof(csv_columns) / sizeof(csv_columns[0]))

static struct render_value ns(uint64_t value)
{
	return render_integer((int64_t)value);
}

static struct render_value ratio(uint64_t part, uint64_t whole)
{
	return whole ? render_real((double)part / (double)whole) : render_null();
}

static void fill_csv(
	const struct timeline *t, const struct line *line, struct render_value ret[CSV_COLUMNS])
{
	const struct breakdown_row *row = line->row;
	bool is_step = line->step < line->lane->process->count;
	const struct step *step = line->lane->process->at + line->step;
	bool has_copies = !timeline_lacks_copies(t, row);

	*ret++ = render_optional(line->lane->has_rank, line->lane->rank);
	*ret++ = render_integer(line->lane->gpu_id);
	*ret++ = render_integer(line->lane->process_id);
	*ret++ = is_step ? render_integer(step->number) : render_null();
	*ret++ = render_text(is_step ? step->text : NULL);
	*ret++ = render_optional(is_step, row->start_ns);
	*ret++ = render_optional(is_step, row->end_ns);
	*ret++ = ns(row->wall_ns);
	*ret++ = ns(row->stream_ns[BREAKDOWN_COMPUTE]);
	*ret++ = ns(row->exposed_communication_ns);
	*ret++ = render_optional(has_copies, (int64_t)row->exposed_copy_ns);
	*ret++ = ns(breakdown_idle_ns(row));
	*ret++ = ns(row->micro_idle_ns);
	*ret++ = ns(row->macro_idle_ns);
	*ret++ = ns(row->wall_ns - breakdown_idle_ns(row));
	*ret++ = ns(row->communication_ns);
	*ret++ = render_optional(has_copies, (int64_t)row->stream_ns[BREAKDOWN_COPY]);
	for (int i = 0; i < BREAKDOWN_STREAMS; i++)
		*ret++ = i == BREAKDOWN_COPY && !has_copies ? render_null() : ns(row->stream_ns[i]);
	*ret++ = ns(row->with_allreduce_ns);
	*ret++ = ns(row->with_reducescatter_ns);
	*ret++ = ns(row->with_communication_ns);
	*ret++ = ratio(row->with_communication_ns, row->stream_ns[BREAKDOWN_COMPUTE]);
	*ret++ = ratio(row->with_communication_ns, row->communication_ns);
	*ret++ = ns(row->active_segments);
	for (int i = 0; i < BREAKDOWN_CAUSES; i++)
		*ret++ = ns(row->cause_ns[i]);
	*ret++ = ns(row->kernels);
	*ret++ = ns(row->copies);
	*ret++ = ns(row->untimed);
	*ret++ = render_integer(t->verdict->is_simulated);
}

static void show_csv(const struct timeline *t, const struct timeline_options *o, FILE *to)
{
	CLEANUP(render_free_p) struct render *render = NULL;
	CLEANUP(lines_done) struct lines lines = {0};
	struct render_value values[CSV_COLUMNS];

	collect(t, o, &lines);
	render = render_new(to, RENDER_CSV, csv_columns, CSV_COLUMNS);
	for (size_t i = 0; i < lines.count; i++) {
		fill_csv(t, lines.at + i, values);
		render_row(render, values);
	}
	render_finish(render);
}

void timeline_show(const struct timeline *timeline, const struct timeline_options *options,
	const struct timeline_show *show, FILE *to)
{
	switch (show->format) {
	case RENDER_JSON:
		timeline_show_json(timeline, options, to);
		break;
	case RENDER_CSV:
		if (timeline->kinds)
			timeline_put_kinds(timeline, options, show, to);
		else
			show_csv(timeline, options, to);
		break;
	default:
		show_text(timeline, options, show, to);
	}
}
