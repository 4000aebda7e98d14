// SPDX-License-Identifier: MIT
/* Traces of PyTorch's profiler (Kineto), of one rank or merged by other tools. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/import/input/decimal.h"
#include "cli/import/formats/formats.h"
#include "cli/import/input/json_stream.h"
#include "cli/import/formats/torch.h"
#include "cli/import/rows/options.h"
#include "cli/import/rows/trace_set.h"
#include "proto/base/cleanup.h"

#define ALL_RANKS (-1) /* key of a process if events name no rank */

struct device {
	int64_t id;
	char name[128];
};

struct reading {
	struct torch t;
	struct trace_set set; /* by rank */
	struct json_stream stream;
	unsigned level;	    /* containers around an event; 0: outside the events */
	unsigned capturing; /* depth of the array that is captured as a text, else 0 */
	enum torch_text captured;
	bool is_first; /* the next value is the first of a captured array */
	struct torch_event event;
	struct device *devices;
	size_t device_count, device_capacity;
	int64_t base_ns, rank, world_size;
	bool has_base, is_simulated;
	char host[64];
};

static void reading_done(struct reading *r)
{
	trace_set_done(&r->set);
	free(r->t.text);
	free(r->devices);
}

/* ---- values ---- */

struct name {
	const char *text;
	uint8_t length, index;
};

#define NUMBER_NAME(name, key) {key, sizeof(key) - 1, TORCH_##name},
static const struct name numbers[] = {TORCH_NUMBERS(NUMBER_NAME)};
static const struct name arg_numbers[] = {TORCH_ARG_NUMBERS(NUMBER_NAME)};
static const struct name texts[] = {TORCH_TEXTS(NUMBER_NAME)};
static const struct name arg_texts[] = {TORCH_ARG_TEXTS(NUMBER_NAME)};

#define FIND(table, key) find_name(table, sizeof(table) / sizeof(*(table)), key)

static int find_name(const struct name *table, size_t count, const struct json_key *key)
{
	for (size_t i = 0; i < count; i++)
		if (table[i].length == key->length && table[i].text[0] == key->text[0] &&
			!memcmp(table[i].text, key->text, key->length))
			return table[i].index;
	return -1;
}

static int add_bytes(struct reading *r, enum torch_text text, const char *bytes, size_t length)
{
	struct torch_event *e = &r->event;

	if (length > TORCH_TEXT_BYTES - e->used)
		return json_refuse(&r->stream, "an event has more than 1 MiB of text");
	if (!e->length[text])
		e->at[text] = e->used;
	memcpy(r->t.text + e->used, bytes, length);
	e->used += (uint32_t)length;
	e->length[text] += (uint32_t)length;
	return 0;
}

/* If a key comes twice the last value counts. */
static int set_text(struct reading *r, enum torch_text text, const char *bytes, size_t length)
{
	r->event.length[text] = 0;
	return add_bytes(r, text, bytes, length);
}

static int take_number(struct reading *r, enum torch_number which, enum json_kind kind,
	const char *text, size_t length)
{
	int64_t value;

	/* A pid may be a text, such as "Spans", and a number may be quoted. */
	if ((kind != JSON_NUMBER && kind != JSON_STRING) || !decimal_whole(text, length, &value))
		return 0;
	r->event.number[which] = value;
	r->event.has |= 1ull << which;
	return 0;
}

static int take_time(struct reading *r, const char *text, size_t length, enum json_kind kind,
	int64_t *time_ns, bool *has)
{
	if (kind != JSON_NUMBER)
		return json_refuse(&r->stream, "a time is no number");
	if (!decimal_scaled(text, length, 3, time_ns))
		return json_refuse(&r->stream, "a time is out of range");
	*has = true;
	return 0;
}

static int event_value(struct reading *r, enum json_kind kind, const char *text, size_t length)
{
	const struct json_key *key = r->stream.key + r->level;
	int found;

	if (json_is(key, "ts", 2))
		return take_time(r, text, length, kind, &r->event.ts_ns, &r->event.has_ts);
	if (json_is(key, "dur", 3))
		return take_time(r, text, length, kind, &r->event.dur_ns, &r->event.has_dur);
	found = FIND(texts, key);
	if (found >= 0 && kind == JSON_STRING)
		return set_text(r, (enum torch_text)found, text, length);
	found = FIND(numbers, key);
	return found < 0 ? 0 : take_number(r, (enum torch_number)found, kind, text, length);
}

static int argument_value(struct reading *r, enum json_kind kind, const char *text, size_t length)
{
	const struct json_key *key = r->stream.key + r->level + 1;
	int found = FIND(arg_numbers, key);

	if (found >= 0)
		return take_number(r, (enum torch_number)found, kind, text, length);
	found = FIND(arg_texts, key);
	if (found < 0 || (kind != JSON_STRING && kind != JSON_NUMBER))
		return 0;
	return set_text(r, (enum torch_text)found, text, length);
}

/* Takes one side of a grid or block. */
static int take_side(
	struct reading *r, const char *text, size_t length, uint32_t *sides, uint8_t *count)
{
	int64_t value;

	if (*count == 3)
		return 0;
	if (!decimal_whole(text, length, &value) || value < 0 || value > UINT32_MAX)
		return json_refuse(&r->stream, "the size of a grid is out of range");
	sides[(*count)++] = (uint32_t)value;
	return 0;
}

static int put_separator(struct reading *r)
{
	bool is_first = r->is_first;

	r->is_first = false;
	return is_first ? 0 : add_bytes(r, r->captured, ", ", 2);
}

static int put_json_text(struct reading *r, const char *text, size_t length)
{
	int e = add_bytes(r, r->captured, "\"", 1);

	for (size_t i = 0; i < length && e == 0; i++) {
		char escaped[8];

		if ((unsigned char)text[i] >= ' ' && text[i] != '"' && text[i] != '\\')
			e = add_bytes(r, r->captured, text + i, 1);
		else
			e = add_bytes(r, r->captured, escaped,
				(size_t)snprintf(escaped, sizeof(escaped), "\\u%04x",
					(unsigned char)text[i]));
	}
	return e ? e : add_bytes(r, r->captured, "\"", 1);
}

static int captured_value(struct reading *r, enum json_kind kind, const char *text, size_t length)
{
	static const char *const words[] = {
		[JSON_NULL] = "null", [JSON_FALSE] = "false", [JSON_TRUE] = "true"};
	int e = put_separator(r);

	if (e)
		return e;
	if (kind == JSON_STRING)
		return put_json_text(r, text, length);
	if (kind == JSON_NUMBER)
		return add_bytes(r, r->captured, text, length);
	return add_bytes(r, r->captured, words[kind], strlen(words[kind]));
}

/* Takes a value outside the events. */
static int top_value(struct reading *r, enum json_kind kind, const char *text, size_t length)
{
	struct json_stream *s = &r->stream;
	int64_t value;

	if (s->depth == 1 && JSON_IS(s, 1, "baseTimeNanoseconds")) {
		if (kind != JSON_NUMBER || !decimal_whole(text, length, &value))
			return json_refuse(s, "baseTimeNanoseconds is no whole number");
		r->base_ns = value;
		r->has_base = true;
	} else if (s->depth == 2 && JSON_IS(s, 1, "distributedInfo")) {
		if (JSON_IS(s, 2, "rank") && decimal_whole(text, length, &value) &&
			import_is_rank(value))
			r->rank = value;
		if (JSON_IS(s, 2, "world_size") && decimal_whole(text, length, &value))
			r->world_size = value;
	} else if (s->depth == 2 && JSON_IS(s, 1, "rtl") && JSON_IS(s, 2, "simulated")) {
		r->is_simulated = kind == JSON_TRUE;
	} else if (s->depth == 3 && JSON_IS(s, 1, "deviceProperties") && r->device_count) {
		struct device *device = r->devices + r->device_count - 1;

		if (JSON_IS(s, 3, "id") && decimal_whole(text, length, &value))
			device->id = value;
		if (JSON_IS(s, 3, "name") && kind == JSON_STRING)
			snprintf(device->name, sizeof(device->name), "%.*s", (int)length, text);
	} else if (s->depth == 4 && JSON_IS(s, 1, "metadata") && JSON_IS(s, 3, "uname") &&
		   JSON_IS(s, 4, "node") && kind == JSON_STRING) {
		snprintf(r->host, sizeof(r->host), "%.*s", (int)length, text);
	}
	return 0;
}

/* Returns true for flows and metadata, which are as many as all other events. Their ph comes
 * first. */
static bool is_left_out(const struct reading *r)
{
	return r->event.length[TORCH_PH] && r->t.text[r->event.at[TORCH_PH]] != 'X' &&
	       r->t.text[r->event.at[TORCH_PH]] != 'i';
}

static int on_value(void *context, enum json_kind kind, const char *text, size_t length)
{
	struct reading *r = context;
	unsigned depth = r->stream.depth;

	if (r->capturing)
		return captured_value(r, kind, text, length);
	if (!r->level)
		return top_value(r, kind, text, length);
	if (is_left_out(r))
		return 0;
	if (depth == r->level + 1)
		return event_value(r, kind, text, length);
	if (depth < r->level + 2 || !json_is(r->stream.key + r->level, "args", 4))
		return 0;
	if (depth == r->level + 2)
		return argument_value(r, kind, text, length);
	if (depth == r->level + 3 && kind == JSON_NUMBER &&
		json_is(r->stream.key + r->level + 1, "grid", 4))
		return take_side(r, text, length, r->event.grid, &r->event.grids);
	if (depth == r->level + 3 && kind == JSON_NUMBER &&
		json_is(r->stream.key + r->level + 1, "block", 5))
		return take_side(r, text, length, r->event.block, &r->event.blocks);
	return 0;
}

/* ---- containers ---- */

static void begin_event(struct reading *r)
{
	struct torch_event *e = &r->event;

	e->has = 0;
	memset(e->length, 0, sizeof(e->length));
	e->has_ts = e->has_dur = false;
	e->grids = e->blocks = 0;
	e->used = 0;
}

static bool begins_capture(struct reading *r, bool is_array)
{
	int found;

	if (!is_array || r->stream.depth != r->level + 3 ||
		!json_is(r->stream.key + r->level, "args", 4))
		return false;
	found = FIND(arg_texts, r->stream.key + r->level + 1);
	if (found < 0)
		return false;
	r->captured = (enum torch_text)found;
	r->event.length[found] = 0;
	return true;
}

static int on_begin(void *context, bool is_array)
{
	struct reading *r = context;
	struct json_stream *s = &r->stream;

	if (r->capturing || (r->level && begins_capture(r, is_array))) {
		int e = r->capturing ? put_separator(r) : 0;

		if (!r->capturing)
			r->capturing = s->depth;
		r->is_first = true;
		return e ? e : add_bytes(r, r->captured, is_array ? "[" : "{", 1);
	}
	if (r->level) {
		if (s->depth == r->level + 1) {
			if (is_array)
				return json_refuse(s, "an event is an array, and no object");
			begin_event(r);
		}
		return 0;
	}
	/* An array of events alone is a trace as well. */
	if (is_array && (s->depth == 1 || (s->depth == 2 && JSON_IS(s, 1, "traceEvents"))))
		r->level = s->depth;
	else if (!is_array && s->depth == 3 && JSON_IS(s, 1, "deviceProperties")) {
		if (GROW(r->devices, r->device_count, r->device_capacity))
			return -ENOMEM;
		r->devices[r->device_count++] = (struct device){.id = TRACE_NO_NUMBER};
	}
	return 0;
}

/* In merged traces each event has its rank; in a trace of one rank events have none. */
static int end_event(struct reading *r)
{
	struct trace_process *process;
	int e;

	if (!r->event.length[TORCH_PH] || (r->t.text[r->event.at[TORCH_PH]] != 'X' &&
						  r->t.text[r->event.at[TORCH_PH]] != 'i'))
		return 0;
	e = trace_set_find(
		&r->set, r->t.store, torch_number(&r->event, TORCH_RANK, ALL_RANKS), &process);
	if (e == 0)
		e = torch_take(&r->t, process, &r->event);
	if (e == -EBADMSG)
		return json_refuse(&r->stream, r->t.why);
	return e;
}

static int on_end(void *context, bool is_array)
{
	struct reading *r = context;
	unsigned depth = r->stream.depth;

	if (r->capturing) {
		int e = add_bytes(r, r->captured, is_array ? "]" : "}", 1);

		r->is_first = false;
		if (depth < r->capturing)
			r->capturing = 0;
		return e;
	}
	if (!r->level)
		return 0;
	if (depth < r->level) {
		r->level = 0;
		return 0;
	}
	return depth == r->level && !is_array ? end_event(r) : 0;
}

/* ---- the file ---- */

static int put_gpu(struct reading *r, int64_t gpu)
{
	sqlite3_stmt *put = r->t.store->statements[IMPORT_GPU_PUT];
	const char *name = NULL;
	char simulated[160];

	for (size_t i = 0; i < r->device_count; i++)
		if (r->devices[i].id == gpu)
			name = r->devices[i].name;
	/* ROCm's numbers count all agents, including processors. If there is only one device, it is
	 * meant. */
	if (!name && r->device_count == 1)
		name = r->devices[0].name;
	if (r->is_simulated) {
		snprintf(simulated, sizeof(simulated), "%s (SIMULATED)", name ? name : "GPU");
		name = simulated;
	}
	sqlite3_bind_int64(put, 1, gpu);
	database_bind_text(put, 2, name && *name ? name : NULL);
	return database_run(put);
}

static int prepare_process(struct reading *r, struct trace_process *p,
	const struct trace_file *file, const struct import_options *options)
{
	int e = 0;

	p->base_ns = r->base_ns;
	/* 10^18 ns is a realtime: no machine has been up for 30 years, and 1970 is longer ago. */
	p->clock = r->has_base || r->t.latest_ns > 1000000000000000000 ? IMPORT_REALTIME
								       : IMPORT_UNKNOWN;
	p->rank = p->key != ALL_RANKS ? p->key
		  : r->rank != TRACE_NO_NUMBER
			  ? r->rank
			  : import_rank_of_name(file->name, options->rank_from);
	p->world_size = r->world_size;
	p->front_end = "torch";
	snprintf(p->host, sizeof(p->host), "%s", r->host);
	snprintf(p->node, sizeof(p->node), "import:%lld", (long long)r->base_ns);
	for (size_t i = 0; i < p->queue_count && e == 0; i++)
		e = put_gpu(r, p->queues[i].gpu);
	return e;
}

int torch_read(
	struct import_store *store, struct trace_file *file, const struct import_options *options)
{
	static const struct json_reader reader = {on_value, on_begin, on_end};
	CLEANUP(reading_done)
	struct reading r = {.t = {.store = store, .has_python = options->has_python},
		.rank = TRACE_NO_NUMBER,
		.world_size = TRACE_NO_NUMBER};
	int e;

	r.t.text = malloc(TORCH_TEXT_BYTES);
	if (!r.t.text)
		return import_store_fail(store, -ENOMEM);
	e = json_read(&r.stream, file, &reader, &r, false);
	for (size_t i = 0; i < r.set.count && e == 0; i++)
		e = prepare_process(&r, r.set.at[i], file, options);
	if (e == 0)
		return trace_set_write(&r.set, store, file, options);
	return file->error[0] ? e : import_store_fail(store, e);
}
