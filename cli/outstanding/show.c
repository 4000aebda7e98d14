// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/memory.h"
#include "cli/outstanding/outstanding.h"
#include "cli/base/wrapping.h"
#include "proto/base/cleanup.h"

static const struct render_column columns[] = {
	{NULL, "", RENDER_NOTE},
	{"rank", "RANK", RENDER_ID},
	{"process_id", NULL, RENDER_ID},
	{"pid", NULL, RENDER_ID},
	{"state", NULL, RENDER_TEXT},
	{"gpuId", "GPU", RENDER_ID},
	{"queueId", "QUEUE", RENDER_ID},
	{"sequenceId", "#", RENDER_ID},
	{"for_ns", NULL, RENDER_ID},
	{NULL, "FOR s", RENDER_TENTHS},
	{"since_ns", NULL, RENDER_ID},
	{"since", "SINCE UTC", RENDER_TEXT},
	{"behind", "BEHIND", RENDER_COUNT},
	{"kernel", NULL, RENDER_TEXT},
	{"op", NULL, RENDER_TEXT},
	{"comm", NULL, RENDER_ID},
	{"comm_seq", NULL, RENDER_ID},
	{"comm_size", NULL, RENDER_ID},
	{"bytes", NULL, RENDER_ID},
	{"communication", NULL, RENDER_TEXT},
	{"nth", NULL, RENDER_ID},
	{"unended", NULL, RENDER_ID},
	{"range", NULL, RENDER_TEXT},
	{NULL, "RANGE", RENDER_TEXT},
	{NULL, "DOING", RENDER_LINE}, /* the last column is cut to the terminal's width */
	{"odd", NULL, RENDER_BOOL},
	{"simulated", NULL, RENDER_BOOL},
};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* Belongs to one row of the table, whose texts render_row() copies. */
struct row {
	struct render_value values[COLUMNS];
	char since[32];
	char *doing, *range;
};

/* A range is one or two words; longer ones are cut off. */
#define RANGE_WIDTH 18

static void put_since(const struct outstanding *o, int64_t ns, char ret[32])
{
	int64_t realtime_ns = wrap_plus(ns, o->realtime_offset_ns);
	time_t seconds = (time_t)(realtime_ns / 1000000000);
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		snprintf(ret, 32, "%02d:%02d:%02d.%d", tm.tm_hour, tm.tm_min, tm.tm_sec,
			(int)(realtime_ns / 100000000 % 10));
}

static const char *state_of(const struct outstanding_rank *rank)
{
	if (rank->is_alive)
		return rank->wait_count ? "waiting" : "idle";
	return rank->ended ? rank->ended : "gone";
}

static void put_bytes(FILE *to, int64_t bytes)
{
	if (bytes >= 1000000)
		fprintf(to, ", %.1f MB", (double)bytes / 1e6);
	else if (bytes >= 1000)
		fprintf(to, ", %.1f kB", (double)bytes / 1e3);
	else
		fprintf(to, ", %" PRId64 " B", bytes);
}

static void put_doing(
	FILE *to, const struct outstanding_rank *rank, const struct outstanding_wait *wait)
{
	if (rank->is_unseen)
		fprintf(to, "gone");
	else if (!rank->is_alive && (!rank->has_status || rank->status))
		fprintf(to, "%s", outstanding_status(rank));
	else if (!rank->is_alive)
		fprintf(to, "%s", rank->ended);
	if (wait && !outstanding_in(rank)) {
		outstanding_put_unended(to, rank);
		return;
	}
	if (wait) {
		fprintf(to, rank->is_alive ? "" : " in ");
		if (wait->has_collective) {
			outstanding_put_call(to, wait->op, wait->comm_seq);
			put_bytes(to, wait->bytes);
			fprintf(to, ", %#" PRIx64, (uint64_t)wait->comm);
		} else {
			outstanding_put_wait(to, wait);
		}
		if (wait->collectives > 1)
			fprintf(to, " and %" PRId64 " more of its group", wait->collectives - 1);
	} else if (rank->is_alive) {
		fprintf(to, "idle");
	}
	if (wait || !rank->has_last)
		return;
	fprintf(to, rank->is_alive ? " since " : "; last ");
	outstanding_put_kernel(to, rank->last);
}

static struct render_value text_if(bool is, const char *text)
{
	return render_text(is ? text : NULL);
}

/* @wait is NULL if the rank has nothing in flight. */
static void fill_row(
	const struct outstanding *o, size_t i, const struct outstanding_wait *wait, struct row *ret)
{
	static const struct outstanding_wait none = {.for_ns = -1};
	const struct outstanding_rank *rank = o->ranks + i;
	const struct outstanding_wait *w = wait ? wait : &none;
	bool is_in = !wait || outstanding_in(rank);
	bool is_idle = !wait && rank->has_last;
	int64_t since_ns = wait ? w->submit_ns : rank->last_end_ns;
	int64_t for_ns = is_idle && rank->as_of_ns > since_ns ? wrap_minus(rank->as_of_ns, since_ns)
							      : w->for_ns;
	bool has_since = wait ? w->has_submit : is_idle;
	const char *range = wait && w->range ? w->range : rank->range;
	struct render_value *v = ret->values;
	FILE *to = xmemstream(&ret->doing);

	put_doing(to, rank, wait);
	xfclose(to);
	if (has_since)
		put_since(o, since_ns, ret->since);
	if (range)
		ret->range = render_escape_cut(range, strlen(range), RANGE_WIDTH);
	*v++ = text_if(o->is_odd[i] && w == (rank->wait_count ? rank->waits : &none), ">");
	*v++ = render_optional(rank->has_rank, rank->rank);
	*v++ = render_integer(rank->process_id);
	*v++ = render_integer(rank->pid);
	*v++ = render_text(state_of(rank));
	*v++ = render_optional(w->has_gpu, w->gpu);
	*v++ = render_optional(wait, w->queue);
	*v++ = render_optional(wait, w->seq);
	*v++ = render_optional(for_ns >= 0, for_ns);
	*v++ = for_ns >= 0 ? render_real((double)for_ns / 1e9) : render_null();
	*v++ = render_optional(has_since, since_ns);
	*v++ = text_if(has_since, ret->since);
	*v++ = render_optional(wait, w->behind);
	*v++ = text_if(is_in, wait ? w->kernel : rank->last);
	*v++ = text_if(is_in && w->has_collective, w->op);
	*v++ = render_optional(is_in && w->has_collective, w->comm);
	*v++ = render_optional(is_in && w->has_collective, w->comm_seq);
	*v++ = render_optional(is_in && w->has_comm_size, w->comm_size);
	*v++ = render_optional(is_in && w->has_collective, w->bytes);
	*v++ = text_if(is_in, w->communication);
	*v++ = render_optional(is_in && w->communication, w->nth);
	*v++ = render_integer(rank->unended);
	*v++ = render_text(range);
	*v++ = render_text(ret->range);
	*v++ = render_text(ret->doing);
	*v++ = render_integer(o->is_odd[i]);
	*v++ = render_integer(o->verdict->is_simulated);
}

typedef void take_values(void *data, const struct render_value *values);

/* Calls @take for each queue of each rank, and once for a rank that has nothing in flight. */
static void each_row(const struct outstanding *o, take_values *take, void *data)
{
	for (size_t i = 0; i < o->count; i++) {
		const struct outstanding_rank *rank = o->ranks + i;
		size_t rows = rank->wait_count ? rank->wait_count : 1;

		for (size_t w = 0; w < rows; w++) {
			struct row row = {0};

			fill_row(o, i, rank->wait_count ? rank->waits + w : NULL, &row);
			take(data, row.values);
			free(row.doing);
			free(row.range);
		}
	}
}

static void take_render(void *data, const struct render_value *values)
{
	render_row(data, values);
}

static void take_json(void *data, const struct render_value *values)
{
	json_array_append_new(data, render_json_row(columns, COLUMNS, values));
}

/* CSV without the columns that only tables have. */
struct csv {
	struct render_column columns[COLUMNS];
	size_t count;
	struct render *render;
};

static void take_csv(void *data, const struct render_value *values)
{
	struct render_value keyed[COLUMNS];
	struct csv *csv = data;
	size_t n = 0;

	for (size_t i = 0; i < COLUMNS; i++)
		if (columns[i].key)
			keyed[n++] = values[i];
	render_row(csv->render, keyed);
}

static void put_csv(const struct outstanding *o, FILE *to)
{
	struct csv csv = {.count = 0};

	for (size_t i = 0; i < COLUMNS; i++)
		if (columns[i].key)
			csv.columns[csv.count++] = columns[i];
	csv.render = render_new(to, RENDER_CSV, csv.columns, csv.count);
	each_row(o, take_csv, &csv);
	render_finish(csv.render);
	render_free_p(&csv.render);
}

json_t *outstanding_json(const struct outstanding *o)
{
	json_t *document = json_object(), *rows = json_array(), *odd = json_array();

	for (size_t i = 0; i < o->count; i++)
		if (o->is_odd[i])
			json_array_append_new(odd, o->ranks[i].has_rank
							   ? json_integer(o->ranks[i].rank)
							   : json_null());
	each_row(o, take_json, rows);
	json_object_set_new(document, "schema", json_integer(1));
	json_object_set_new(document, "alive", json_boolean(o->is_live));
	json_object_set_new(document, "sentence",
		render_json_text(o->sentence, o->sentence ? strlen(o->sentence) : 0));
	json_object_set_new(document, "odd_ranks", odd);
	json_object_set_new(document, "waiting", rows);
	verdict_put_json(o->verdict, document);
	return document;
}

static void put_sentence(const struct outstanding *o, size_t width, FILE *to)
{
	CLEANUP(free_p)
	char *text = xasprintf("%s%s", o->verdict->is_simulated ? "SIMULATED " : "", o->sentence);

	render_put_sentence(to, text, 0, width);
}

void outstanding_show(
	const struct outstanding *o, enum render_format format, size_t width, FILE *to)
{
	CLEANUP(render_free_p) struct render *render = NULL;
	json_t *document;

	if (format == RENDER_JSON) {
		document = outstanding_json(o);
		render_json(to, document, false);
		json_decref(document);
		return;
	}
	if (format == RENDER_CSV) {
		put_csv(o, to);
		return;
	}
	put_sentence(o, width, to);
	if (!o->count)
		return;
	fputc('\n', to);
	render = render_new(to, RENDER_TABLE, columns, COLUMNS);
	render_set_width(render, width);
	each_row(o, take_render, render);
	render_finish(render);
}
