// SPDX-License-Identifier: MIT
/*
 * AORTA's rank_<rr>_metrics.jsonl: one line per step with what a rank measured. The values become
 * metrics of that step. The only time in them is the length of each step, so the steps are placed
 * one after another.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/import/formats/formats.h"
#include "cli/import/input/decimal.h"
#include "cli/import/input/json_stream.h"
#include "cli/import/rows/options.h"
#include "cli/import/rows/trace_set.h"
#include "proto/base/cleanup.h"

#define VALUES_MAX 64u

struct value {
	uint32_t name;
	double value;
};

struct reading {
	struct import_store *store;
	struct json_stream stream;
	struct trace_set set;
	struct value values[VALUES_MAX];
	unsigned count;
	int64_t rank, world_size, step, global_step, total_ns;
};

static void reading_done(struct reading *r)
{
	trace_set_done(&r->set);
}

static void begin_line(struct reading *r)
{
	r->count = 0;
	r->rank = r->world_size = r->step = r->global_step = TRACE_NO_NUMBER;
	r->total_ns = 0;
}

static int add_value(
	struct reading *r, const char *group, const char *key, const char *text, size_t length)
{
	char name[128], digits[64];
	int64_t id;
	int e;

	if (r->count == VALUES_MAX)
		return json_refuse(&r->stream, "a step has more than 64 numbers");
	snprintf(digits, sizeof(digits), "%.*s", (int)length, text);
	snprintf(name, sizeof(name), "%s%s%s", group, *group ? "." : "", key);
	e = import_store_text(r->store, name, strlen(name), &id);
	r->values[r->count++] = (struct value){(uint32_t)id, strtod(digits, NULL)};
	return e;
}

/* Takes a value of the line itself. */
static int line_value(
	struct reading *r, enum json_kind kind, const char *key, const char *text, size_t length)
{
	static const char *const metrics[] = {"loss", "lr", "grad_norm", "epoch"};
	const struct {
		const char *key;
		int64_t *to;
	} numbers[] = {{"rank", &r->rank}, {"world_size", &r->world_size}, {"step", &r->step},
		{"global_step", &r->global_step}};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (!strcmp(numbers[i].key, key))
			return kind == JSON_NUMBER && decimal_whole(text, length, numbers[i].to)
				       ? 0
				       : json_refuse(
						 &r->stream, "a rank or step is no whole number");
	for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics); i++)
		if (kind == JSON_NUMBER && !strcmp(metrics[i], key))
			return add_value(r, "", key, text, length);
	return 0;
}

static int on_value(void *context, enum json_kind kind, const char *text, size_t length)
{
	struct reading *r = context;
	struct json_stream *s = &r->stream;
	const char *key = s->depth ? s->key[s->depth - 1].text : "";

	if (s->depth == 1 && kind != JSON_NULL)
		return line_value(r, kind, key, text, length);
	if (kind != JSON_NUMBER)
		return 0;
	if (!JSON_IS(s, 1, "profile"))
		return 0;
	if (s->depth == 2 && !strcmp(key, "total_ms")) {
		if (!decimal_scaled(text, length, 6, &r->total_ns) || r->total_ns < 0)
			return json_refuse(s, "the time of a step is out of range");
		return add_value(r, "", key, text, length);
	}
	/* per_stream_ms, overlap_ms, utilization. */
	if (s->depth == 4 && JSON_IS(s, 2, "overlap") && !s->key[2].is_array && *s->key[2].text)
		return add_value(r, s->key[2].text, key, text, length);
	return 0;
}

static int end_line(struct reading *r)
{
	struct trace_process *p;
	int e;

	if (r->rank == TRACE_NO_NUMBER ||
		(r->step == TRACE_NO_NUMBER && r->global_step == TRACE_NO_NUMBER))
		return json_refuse(&r->stream, "a line has no rank or no step");
	if (!import_is_rank(r->rank))
		return json_refuse(&r->stream, "a rank is out of range");
	e = trace_set_find(&r->set, r->store, r->rank, &p);
	for (unsigned i = 0; i < r->count && e == 0; i++)
		e = trace_process_add_mark(
			p, &(struct trace_mark){.time_ns = p->base_ns,
				   .step = r->global_step != TRACE_NO_NUMBER ? r->global_step
									     : r->step,
				   .name = r->values[i].name,
				   .value = r->values[i].value});
	if (e < 0)
		return e;
	p->rank = r->rank;
	p->world_size = r->world_size;
	p->front_end = "aorta";
	if (__builtin_add_overflow(p->base_ns, r->total_ns, &p->base_ns))
		return json_refuse(&r->stream, "the time of a step is out of range");
	return 0;
}

static int on_begin(void *context, bool is_array)
{
	struct reading *r = context;

	if (r->stream.depth == 1) {
		if (is_array)
			return json_refuse(&r->stream, "a line is an array, and no object");
		begin_line(r);
	}
	return 0;
}

static int on_end(void *context, bool is_array)
{
	struct reading *r = context;

	(void)is_array;
	return r->stream.depth == 0 ? end_line(r) : 0;
}

int aorta_read(
	struct import_store *store, struct trace_file *file, const struct import_options *options)
{
	static const struct json_reader reader = {on_value, on_begin, on_end};
	CLEANUP(reading_done) struct reading r = {.store = store};
	int e = json_read(&r.stream, file, &reader, &r, true);

	for (size_t i = 0; i < r.set.count && e == 0; i++) {
		/* Until now it was the start of the next step. */
		r.set.at[i]->base_ns = 0;
		snprintf(
			r.set.at[i]->node, sizeof(r.set.at[i]->node), "import:%.16s", file->sha256);
	}
	if (e == 0)
		return trace_set_write(&r.set, store, file, options);
	return file->error[0] ? e : import_store_fail(store, e);
}
