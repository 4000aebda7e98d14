// SPDX-License-Identifier: MIT
/*
 * JSON of rocprofv3: a list of processes, each with tables that explain its numbers, and with
 * records. Their order is not fixed, so the file is read twice: for the tables, then for the
 * records.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/import/formats/formats.h"
#include "cli/import/input/decimal.h"
#include "cli/import/input/json_stream.h"
#include "cli/import/rows/trace_set.h"
#include "proto/base/cleanup.h"

#define AGENT_GPU	      2
/* Depths of containers: of a process, of a table in it, and of a table in a group of tables. */
#define LEVEL_PROCESS	      3
#define LEVEL_ROW	      5
#define LEVEL_ROW_IN	      6
#define KINDS_MAX	      256u
#define OPERATIONS_MAX	      4096u
/* A key for numbers that count from 0 or are addresses; the processes of a file share a table. */
#define SLOT(process, number) ((uint64_t)(process) << 56 ^ (uint64_t)(number))

/* The meaning of a number within a process. */
struct meaning {
	uint64_t slot;
	int64_t value; /* rocpd_string.id or gpuId */
};

struct meanings {
	struct meaning *at;
	size_t count, capacity;
	bool is_sorted;
};

enum field {
	FIELD_START,
	FIELD_END,
	FIELD_TID,
	FIELD_CORRELATION,
	FIELD_OPERATION,
	FIELD_KIND,
	FIELD_BYTES,
	FIELD_SOURCE,
	FIELD_TARGET,
	FIELD_AGENT,
	FIELD_QUEUE,
	FIELD_KERNEL,
	FIELD_LDS,
	FIELD_SCRATCH,
	FIELD_WORKGROUP,
	FIELD_GRID = FIELD_WORKGROUP + 3,
	FIELD_KEY = FIELD_GRID + 3,
	FIELD_TYPE,
	FIELD_TYPE_INDEX,
	FIELD_COUNT,
};

static const struct {
	/* keys of the containers around it within a row, and its own key */
	const char *around, *key;
	enum field field;
} fields[] = {
	{"", "start_timestamp", FIELD_START},
	{"", "end_timestamp", FIELD_END},
	{"", "thread_id", FIELD_TID},
	{"correlation_id", "internal", FIELD_CORRELATION},
	{"", "operation", FIELD_OPERATION},
	{"", "kind", FIELD_KIND},
	{"", "bytes", FIELD_BYTES},
	{"src_agent_id", "handle", FIELD_SOURCE},
	{"dst_agent_id", "handle", FIELD_TARGET},
	{"agent_id", "handle", FIELD_AGENT},
	{"queue_id", "handle", FIELD_QUEUE},
	{"dispatch_info", "kernel_id", FIELD_KERNEL},
	{"", "kernel_id", FIELD_KERNEL},
	{"dispatch_info", "group_segment_size", FIELD_LDS},
	{"dispatch_info", "private_segment_size", FIELD_SCRATCH},
	{"workgroup_size", "x", FIELD_WORKGROUP},
	{"workgroup_size", "y", FIELD_WORKGROUP + 1},
	{"workgroup_size", "z", FIELD_WORKGROUP + 2},
	{"grid_size", "x", FIELD_GRID},
	{"grid_size", "y", FIELD_GRID + 1},
	{"grid_size", "z", FIELD_GRID + 2},
	{"id", "handle", FIELD_AGENT},
	{"", "key", FIELD_KEY},
	{"", "type", FIELD_TYPE},
	{"", "logical_node_type_id", FIELD_TYPE_INDEX},
};

enum table {
	TABLE_NONE,
	TABLE_AGENTS,
	TABLE_SYMBOLS,
	TABLE_KINDS,
	TABLE_MESSAGES,
	TABLE_KERNELS,
	TABLE_COPIES,
	TABLE_CALLS,
	TABLE_MARKERS
};

struct reading {
	struct import_store *store;
	struct json_stream stream;
	struct trace_set set; /* by index in the list */
	struct meanings kernels, agents, operations, messages;
	bool has_tables; /* the second pass */
	int64_t process; /* index in the list */
	int64_t gpus;	 /* GPUs of that process so far */
	enum table table;
	unsigned level; /* depth of a row of the table; 0: outside of tables */
	uint32_t has;
	int64_t number[FIELD_COUNT];
	char *text; /* name of the current row; JSON_VALUE_BYTES_MAX long */
	size_t length;
	unsigned text_rank;	  /* rank of that name, see rank_text() */
	unsigned kind, operation; /* indexes in the lists of names */
	char host[64];
};

static void reading_done(struct reading *r)
{
	trace_set_done(&r->set);
	free(r->kernels.at);
	free(r->agents.at);
	free(r->operations.at);
	free(r->messages.at);
	free(r->text);
}

/* ---- meanings ---- */

static int add_meaning(struct meanings *m, uint64_t slot, int64_t value)
{
	if (GROW(m->at, m->count, m->capacity))
		return -ENOMEM;
	m->at[m->count++] = (struct meaning){slot, value};
	m->is_sorted = false;
	return 0;
}

static int compare_meanings(const void *left, const void *right)
{
	const struct meaning *a = left, *b = right;

	return (a->slot > b->slot) - (a->slot < b->slot);
}

static bool find_meaning(struct meanings *m, uint64_t slot, int64_t *ret)
{
	const struct meaning wanted = {.slot = slot}, *found;

	if (!m->is_sorted && m->count)
		qsort(m->at, m->count, sizeof(*m->at), compare_meanings);
	m->is_sorted = true;
	found = m->count ? bsearch(&wanted, m->at, m->count, sizeof(*m->at), compare_meanings)
			 : NULL;
	if (found)
		*ret = found->value;
	return found != NULL;
}

static uint64_t operation_slot(int64_t process, uint64_t kind, uint64_t operation)
{
	return SLOT(process, kind % KINDS_MAX * OPERATIONS_MAX + operation % OPERATIONS_MAX);
}

/* ---- rows ---- */

static bool has(const struct reading *r, enum field field)
{
	return r->has >> field & 1;
}

static int64_t number(const struct reading *r, enum field field, int64_t otherwise)
{
	return has(r, field) ? r->number[field] : otherwise;
}

static int64_t find_gpu(struct reading *r, enum field field)
{
	int64_t gpu;

	if (!has(r, field) || !find_meaning(&r->agents, SLOT(r->process, r->number[field]), &gpu) ||
		gpu < 0)
		return TRACE_NO_NUMBER;
	return gpu;
}

static int check_times(struct reading *r)
{
	if (!has(r, FIELD_START) || !has(r, FIELD_END))
		return json_refuse(&r->stream, "a record has no times");
	if (r->number[FIELD_START] < 0)
		return json_refuse(&r->stream, "a time is out of range");
	if (r->number[FIELD_END] < r->number[FIELD_START])
		return json_refuse(&r->stream, "a record ends before it begins");
	return 0;
}

static int take_agent(struct reading *r)
{
	sqlite3_stmt *put = r->store->statements[IMPORT_GPU_PUT];
	bool is_gpu = number(r, FIELD_TYPE, 0) == AGENT_GPU;
	int64_t gpu = is_gpu ? number(r, FIELD_TYPE_INDEX, r->gpus) : -1;
	int e = add_meaning(&r->agents, SLOT(r->process, number(r, FIELD_AGENT, 0)), gpu);

	if (e || !is_gpu)
		return e;
	r->gpus++;
	sqlite3_bind_int64(put, 1, gpu);
	sqlite3_bind_text(put, 2, r->length ? r->text : NULL, (int)r->length, SQLITE_TRANSIENT);
	return database_run(put);
}

static int take_symbol(struct reading *r)
{
	int64_t id;
	int e = import_store_kernel(r->store, r->text, r->length, &id);

	return e ? e : add_meaning(&r->kernels, SLOT(r->process, number(r, FIELD_KERNEL, 0)), id);
}

static int take_message(struct reading *r)
{
	int64_t id;
	int e = import_store_text(r->store, r->text, r->length, &id);

	return e ? e : add_meaning(&r->messages, SLOT(r->process, number(r, FIELD_KEY, 0)), id);
}

static uint32_t small(const struct reading *r, enum field field)
{
	int64_t value = number(r, field, 0);

	return value < 0 || value > UINT32_MAX ? 0 : (uint32_t)value;
}

static int take_kernel(struct reading *r, struct trace_process *process)
{
	struct trace_geometry geometry = {.gpu = find_gpu(r, FIELD_AGENT),
		.stream = number(r, FIELD_QUEUE, 0),
		.lds = small(r, FIELD_LDS),
		.scratch = small(r, FIELD_SCRATCH)};
	struct trace_kernel kernel = {.start_ns = r->number[FIELD_START],
		.duration_ns = r->number[FIELD_END] - r->number[FIELD_START],
		.foreign = number(r, FIELD_CORRELATION, TRACE_NO_NUMBER),
		.range = TRACE_NO_NUMBER,
		.collective = TRACE_NONE};
	char name[48];
	int e = 0;

	for (int i = 0; i < 3; i++) {
		geometry.workgroup[i] = small(r, FIELD_WORKGROUP + i);
		geometry.grid[i] = small(r, FIELD_GRID + i);
	}
	if (geometry.gpu == TRACE_NO_NUMBER)
		return json_refuse(
			&r->stream, "a kernel ran on an agent that is not listed as a GPU");
	if (!find_meaning(&r->kernels, SLOT(r->process, number(r, FIELD_KERNEL, 0)),
		    &geometry.kernel_id)) {
		snprintf(name, sizeof(name), "unknown_kernel_%" PRId64, number(r, FIELD_KERNEL, 0));
		e = import_store_kernel(r->store, name, strlen(name), &geometry.kernel_id);
	}
	if (e == 0)
		e = trace_process_shape(process, &geometry, &kernel);
	return e ? e : trace_process_add_kernel(process, &kernel);
}

static int take_copy(struct reading *r, struct trace_process *process)
{
	struct trace_copy copy = {.start_ns = r->number[FIELD_START],
		.duration_ns = r->number[FIELD_END] - r->number[FIELD_START],
		.foreign = number(r, FIELD_CORRELATION, TRACE_NO_NUMBER),
		.bytes = number(r, FIELD_BYTES, TRACE_NO_NUMBER),
		.source_gpu = find_gpu(r, FIELD_SOURCE),
		.target_gpu = find_gpu(r, FIELD_TARGET)};
	bool from = copy.source_gpu != TRACE_NO_NUMBER, to = copy.target_gpu != TRACE_NO_NUMBER;

	if (copy.bytes != TRACE_NO_NUMBER && copy.bytes < 0)
		return json_refuse(&r->stream, "the size of a copy is negative");
	copy.direction = from && to ? copy.source_gpu == copy.target_gpu ? "d2d" : "p2p"
			 : from	    ? "d2h"
			 : to	    ? "h2d"
				    : "h2h";
	return trace_process_add_copy(process, &copy);
}

static int take_host(struct reading *r, struct trace_process *process, bool is_range)
{
	int64_t correlation = number(r, FIELD_CORRELATION, TRACE_NO_NUMBER), name = 0;
	struct trace_host host = {.start_ns = r->number[FIELD_START],
		.end_ns = r->number[FIELD_END],
		.tid = number(r, FIELD_TID, 0),
		.foreign = is_range ? TRACE_NO_NUMBER : correlation,
		.kind = is_range ? TRACE_RANGE : TRACE_CALL};
	int64_t operation = number(r, FIELD_OPERATION, 0), kind = number(r, FIELD_KIND, 0);
	char unknown[64];
	int e = 0;

	if (is_range ? !find_meaning(&r->messages, SLOT(r->process, correlation), &name)
		     : !find_meaning(&r->operations,
			       operation_slot(r->process, (uint64_t)kind, (uint64_t)operation),
			       &name)) {
		/* Files of older versions lack the names of functions. */
		snprintf(unknown, sizeof(unknown), "%s_%" PRId64 "_%" PRId64,
			is_range ? "range" : "function", kind, operation);
		e = import_store_text(r->store, unknown, strlen(unknown), &name);
	}
	host.name = (uint32_t)name;
	return e ? e : trace_process_add_host(process, &host, NULL);
}

static int take_record(struct reading *r)
{
	struct trace_process *process;
	int e = check_times(r);

	if (e == 0)
		e = trace_set_find(&r->set, r->store, r->process, &process);
	if (e < 0)
		return e;
	switch (r->table) {
	case TABLE_KERNELS:
		return take_kernel(r, process);
	case TABLE_COPIES:
		return take_copy(r, process);
	default:
		return take_host(r, process, r->table == TABLE_MARKERS);
	}
}

static int end_row(struct reading *r)
{
	switch (r->table) {
	case TABLE_AGENTS:
		return r->has_tables ? 0 : take_agent(r);
	case TABLE_SYMBOLS:
		return r->has_tables ? 0 : take_symbol(r);
	case TABLE_MESSAGES:
		return r->has_tables ? 0 : take_message(r);
	case TABLE_KINDS:
		r->kind++;
		return 0;
	default:
		return r->has_tables ? take_record(r) : 0;
	}
}

/* ---- the text ---- */

static const struct {
	const char *group, *name; /* group: NULL if the table belongs to the process itself */
	enum table table;
} tables[] = {
	{NULL, "agents", TABLE_AGENTS},
	{NULL, "kernel_symbols", TABLE_SYMBOLS},
	{"strings", "buffer_records", TABLE_KINDS},
	{"strings", "marker_api", TABLE_MESSAGES},
	{"buffer_records", "kernel_dispatch", TABLE_KERNELS},
	{"buffer_records", "memory_copy", TABLE_COPIES},
	{"buffer_records", "hip_api", TABLE_CALLS},
	{"buffer_records", "rccl_api", TABLE_CALLS},
	{"buffer_records", "marker_api", TABLE_MARKERS},
};

static enum table find_table(const struct json_stream *s)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		unsigned depth = tables[i].group ? LEVEL_ROW : LEVEL_ROW - 1;

		if (s->depth == depth && !strcmp(s->key[depth - 2].text, tables[i].name) &&
			(!tables[i].group || !strcmp(s->key[2].text, tables[i].group)))
			return tables[i].table;
	}
	return TABLE_NONE;
}

static int on_begin(void *context, bool is_array)
{
	struct reading *r = context;
	struct json_stream *s = &r->stream;

	if (!is_array && s->depth == LEVEL_PROCESS) {
		r->process++;
		r->gpus = 0;
		return r->process > 100 ? json_refuse(s, "has more than 100 processes") : 0;
	}
	if (r->level) {
		if (s->depth == r->level) {
			r->has = 0;
			r->length = 0;
			r->text_rank = 0;
			r->operation = 0;
		}
		return 0;
	}
	if (is_array && JSON_IS(s, 1, "rocprofiler-sdk-tool")) {
		r->table = find_table(s);
		r->level = r->table == TABLE_NONE ? 0 : s->depth + 1;
		if (r->table == TABLE_KINDS)
			r->kind = 0;
	}
	return 0;
}

static int on_end(void *context, bool is_array)
{
	struct reading *r = context;

	if (!r->level)
		return 0;
	if (r->stream.depth + 1 < r->level) {
		r->level = 0;
		r->table = TABLE_NONE;
		return 0;
	}
	return !is_array && r->stream.depth + 1 == r->level ? end_row(r) : 0;
}

/* Returns how good a text of a row is as its name; 0: it is none. */
static unsigned rank_text(const struct reading *r, const char *key)
{
	static const struct {
		enum table table;
		const char *key;
		unsigned rank;
	} names[] = {{TABLE_SYMBOLS, "formatted_kernel_name", 4},
		{TABLE_SYMBOLS, "demangled_kernel_name", 3}, {TABLE_SYMBOLS, "kernel_name", 2},
		{TABLE_SYMBOLS, "truncated_kernel_name", 1}, {TABLE_AGENTS, "product_name", 2},
		{TABLE_AGENTS, "name", 1}, {TABLE_MESSAGES, "value", 1}};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].table == r->table && !strcmp(names[i].key, key))
			return names[i].rank;
	return 0;
}

static int take_text(struct reading *r, const char *text, size_t length)
{
	struct json_stream *s = &r->stream;
	unsigned rank;
	int64_t id;
	int e;

	if (r->table == TABLE_KINDS && s->depth == LEVEL_ROW_IN + 1) {
		e = r->has_tables ? 0 : import_store_text(r->store, text, length, &id);
		if (e == 0 && !r->has_tables)
			e = add_meaning(&r->operations,
				operation_slot(r->process, r->kind, r->operation), id);
		r->operation++;
		return e;
	}
	rank = s->depth == r->level ? rank_text(r, s->key[s->depth - 1].text) : 0;
	if (rank <= r->text_rank || !length)
		return 0;
	r->text_rank = rank;
	memcpy(r->text, text, length);
	r->length = length;
	return 0;
}

static int take_number(struct reading *r, const char *text, size_t length)
{
	struct json_stream *s = &r->stream;
	const char *key = s->key[s->depth - 1].text;
	const char *around = s->depth == r->level ? "" : s->key[s->depth - 2].text;
	uint64_t handle = 0;
	int64_t value;

	/* The number belongs to a list within the row. */
	if (s->depth > r->level && !*around)
		return 0;
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		if (strcmp(fields[i].key, key) != 0 || strcmp(fields[i].around, around) != 0)
			continue;
		if (!decimal_whole(text, length, &value)) {
			char digits[32];

			/* A handle may use all 64 bits. */
			snprintf(digits, sizeof(digits), "%.*s", (int)length, text);
			handle = strtoull(digits, NULL, 10);
			if (fields[i].field == FIELD_START || fields[i].field == FIELD_END)
				return json_refuse(s, "a time is out of range");
			value = (int64_t)handle;
		}
		r->number[fields[i].field] = value;
		r->has |= 1u << fields[i].field;
		return 0;
	}
	return 0;
}

static int take_metadata(struct reading *r, const char *text, size_t length)
{
	struct json_stream *s = &r->stream;
	struct trace_process *process;
	int64_t value;
	int e;

	if (s->depth == 4 && JSON_IS(s, 4, "pid") && decimal_whole(text, length, &value)) {
		e = trace_set_find(&r->set, r->store, r->process, &process);
		if (e < 0)
			return e;
		process->pid = value;
	} else if (s->depth == 5 && JSON_IS(s, 5, "hostname")) {
		snprintf(r->host, sizeof(r->host), "%.*s", (int)length, text);
	}
	return 0;
}

static int on_value(void *context, enum json_kind kind, const char *text, size_t length)
{
	struct reading *r = context;

	if (r->level && kind == JSON_STRING)
		return take_text(r, text, length);
	if (r->level)
		return kind == JSON_NUMBER ? take_number(r, text, length) : 0;
	if (r->stream.depth > LEVEL_PROCESS && JSON_IS(&r->stream, 3, "metadata"))
		return take_metadata(r, text, length);
	return 0;
}

int rocprofv3_read(
	struct import_store *store, struct trace_file *file, const struct import_options *options)
{
	static const struct json_reader reader = {on_value, on_begin, on_end};
	CLEANUP(reading_done) struct reading r = {.store = store};
	int e = 0;

	r.text = malloc(JSON_VALUE_BYTES_MAX);
	if (!r.text)
		return import_store_fail(store, -ENOMEM);
	for (int pass = 0; pass < 2 && e == 0; pass++) {
		r.has_tables = pass == 1;
		r.process = -1;
		r.level = 0;
		e = pass ? trace_file_rewind(file) : 0;
		if (e == 0)
			e = json_read(&r.stream, file, &reader, &r, false);
	}
	for (size_t i = 0; i < r.set.count && e == 0; i++) {
		struct trace_process *p = r.set.at[i];

		p->clock = IMPORT_BOOTTIME;
		p->front_end = "rocprofv3";
		if (r.set.count == 1)
			p->rank = import_rank_of_name(file->name, options->rank_from);
		snprintf(p->host, sizeof(p->host), "%s", r.host);
		snprintf(p->node, sizeof(p->node), "import:%.50s", r.host);
	}
	if (e == 0)
		return trace_set_write(&r.set, store, file, options);
	return file->error[0] ? e : import_store_fail(store, e);
}
