// SPDX-License-Identifier: MIT
/*
 * A database of rocmProfileData (schema 3) for rpd2tracing, rpd2table and raptor: tables without
 * views of our own. The ids of processes and GPUs of another node differ by a stride, as in its
 * tools.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/wrapping.h"
#include "cli/export/rows/table_file.h"
#include "proto/base/cleanup.h"

#define PID_STRIDE 10000000
#define GPU_STRIDE 1000

/* Numbers within a process: calls are below PROCESS_NUMBER, which is the process itself; ranges
 * start at RANGE_NUMBERS. */
#define RANGE_NUMBERS  ((int64_t)1 << 39)
#define PROCESS_NUMBER ((int64_t)1 << 38)
#define NUMBER_BITS    40

/* Ids in rocpd_string. The kernels follow, then the functions. */
enum {
	TEXT_EMPTY = 1,
	TEXT_KERNEL,
	TEXT_HOST_TO_DEVICE,
	TEXT_DEVICE_TO_HOST,
	TEXT_DEVICE_TO_DEVICE,
	TEXT_HOST_TO_HOST,
	TEXT_MARKER,
	TEXT_HIP,
	TEXT_RCCL,
	TEXT_UNNAMED,
	TEXTS,
};
static const char *const texts[] = {"", "", "KernelExecution", "CopyHostToDevice",
	"CopyDeviceToHost", "CopyDeviceToDevice", "CopyHostToHost", "UserMarker", "hip", "rccl",
	"unnamed"};

/* The values of hipMemcpyKind. */
enum { COPY_HOST_TO_HOST, COPY_HOST_TO_DEVICE, COPY_DEVICE_TO_HOST, COPY_DEVICE_TO_DEVICE };

/* When the first operation of a process began and the last one ended. */
struct span {
	int64_t first_ns, last_ns;
};

struct rpd {
	struct table_file file;
	struct span *spans;   /* by export_process.index */
	int64_t last_text_id; /* greatest id in rocpd_string */
	sqlite3_stmt *string, *ustring, *api, *op, *link, *kernel, *copy, *metadata;
};

/* ---- texts ---------------------------------------------------------------------------------- */

/* Replaces characters that JSON escapes, because rpd2tracing writes names into JSON unescaped. The
 * caller frees the text. NULL if out of memory. */
static char *make_plain(const char *text, uint64_t *count)
{
	char *plain = strdup(text);
	bool is_changed = false;

	for (char *at = plain; at && *at; at++) {
		char was = *at;

		*at = was == '"' ? '\'' : was == '\\' ? '/' : (unsigned char)was < ' ' ? ' ' : was;
		is_changed |= *at != was;
	}
	*count += is_changed;
	return plain;
}

static int put_string(struct export_writer *w, int64_t id, const char *text)
{
	struct rpd *state = w->state;
	CLEANUP(free_p) char *plain = make_plain(text, &w->lost[EXPORT_RENAMED]);

	if (!plain)
		return -ENOMEM;
	state->last_text_id = id;
	return table_file_insert(&state->file, state->string, "it", id, plain);
}

/* Writes the text of a range. Its id is the same in rocpd_string as in rocpd_ustring, because
 * rpd2table looks for names of ranges in the one and shows those of the other. */
static int put_range_text(struct export_writer *w, const char *text, int64_t *ret_id)
{
	struct rpd *state = w->state;
	CLEANUP(free_p) char *plain = make_plain(text, &w->lost[EXPORT_RENAMED]);
	int r;

	if (!plain)
		return -ENOMEM;
	*ret_id = ++state->last_text_id;
	r = table_file_insert(&state->file, state->string, "it", *ret_id, plain);
	return r ? r : table_file_insert(&state->file, state->ustring, "it", *ret_id, plain);
}

static int put_strings(struct export_writer *w)
{
	const struct export_source *source = w->source;
	struct rpd *state = w->state;
	int r = table_file_insert(&state->file, state->ustring, "it", (int64_t)TEXT_EMPTY, "");

	for (int i = 1; i < TEXTS && !r; i++)
		r = put_string(w, i, texts[i]);
	for (size_t i = 0; i < source->kernels.count && !r; i++)
		r = put_string(w, (int64_t)(TEXTS + i), source->kernels.items[i].text);
	for (size_t i = 0; i < source->functions.count && !r; i++)
		r = put_string(w, (int64_t)(TEXTS + source->kernels.count + i),
			source->functions.items[i].text);
	return r;
}

static int64_t text_of(
	const struct export_names *names, const struct export_name *name, size_t before)
{
	size_t at = (size_t)(name - names->items);

	return at < names->count ? (int64_t)(TEXTS + before + at) : TEXT_UNNAMED;
}

static int64_t pid_of(const struct export_process *process)
{
	return process->pid + (int64_t)process->node * PID_STRIDE;
}

static int64_t gpu_of(const struct export_process *process, int64_t gpu_id)
{
	return gpu_id + (int64_t)process->node * GPU_STRIDE;
}

static int64_t api_of(const struct export_process *process, int64_t number)
{
	return wrap_plus(process->id << NUMBER_BITS, number);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void note_span(
	struct rpd *state, const struct export_process *process, int64_t start_ns, int64_t end_ns)
{
	struct span *span = state->spans + process->index;

	if (start_ns < span->first_ns)
		span->first_ns = start_ns;
	if (end_ns > span->last_ns)
		span->last_ns = end_ns;
}

static int put_kernel(struct export_writer *w, const struct export_kernel *kernel)
{
	struct rpd *state = w->state;
	int64_t text = text_of(&w->source->kernels, kernel->name, 0);
	int64_t api = api_of(kernel->process, kernel->call), grid[3];
	/* these functions take the grid in work-items; the others take workgroups */
	bool is_in_items;
	int r = table_file_insert(&state->file, state->op, "iiiiiiii", kernel->id,
		gpu_of(kernel->process, kernel->gpu_id), kernel->queue, kernel->sequence,
		kernel->start_ns, kernel->end_ns, text, (int64_t)TEXT_KERNEL);

	note_span(state, kernel->process, kernel->start_ns, kernel->end_ns);
	if (r || !kernel->function)
		return r;
	is_in_items = !strncmp(kernel->function->text, "hipExtModuleLaunch", 18) ||
		      !strncmp(kernel->function->text, "hipHccModuleLaunch", 18);
	r = table_file_insert(&state->file, state->link, "ii", api, kernel->id);
	if (r)
		return r;
	for (int i = 0; i < 3; i++)
		grid[i] = is_in_items ? kernel->grid[i]
				      : export_workgroups(kernel->grid[i], kernel->workgroup[i]);
	return table_file_insert(&state->file, state->kernel, "itiiiiiiiii", api, "", grid[0],
		grid[1], grid[2], kernel->workgroup[0], kernel->workgroup[1], kernel->workgroup[2],
		kernel->lds, kernel->scratch, text);
}

static int put_copy(struct export_writer *w, const struct export_copy *copy)
{
	static const struct {
		const char *direction;
		int text, kind;
	} kinds[] = {
		{"h2d", TEXT_HOST_TO_DEVICE, COPY_HOST_TO_DEVICE},
		{"d2h", TEXT_DEVICE_TO_HOST, COPY_DEVICE_TO_HOST},
		{"h2h", TEXT_HOST_TO_HOST, COPY_HOST_TO_HOST},
		{"", TEXT_DEVICE_TO_DEVICE, COPY_DEVICE_TO_DEVICE}, /* d2d, p2p */
	};
	struct rpd *state = w->state;
	int64_t gpu_id = copy->has_source ? copy->source : copy->has_target ? copy->target : 0;
	int64_t api = api_of(copy->process, copy->call);
	size_t at = 0;
	int r;

	while (*kinds[at].direction && strcmp(kinds[at].direction, copy->direction))
		at++;
	/* SQLite assigns the next id, because all kernels have been written. */
	r = table_file_insert(&state->file, state->op, "niiiiiii", gpu_of(copy->process, gpu_id),
		(int64_t)0, copy->number, copy->start_ns, copy->end_ns, (int64_t)TEXT_EMPTY,
		(int64_t)kinds[at].text);
	note_span(state, copy->process, copy->start_ns, copy->end_ns);
	if (r || !copy->function)
		return r;
	r = table_file_insert(&state->file, state->link, "ii", api,
		(int64_t)sqlite3_last_insert_rowid(state->file.db));
	if (r)
		return r;
	return table_file_insert(&state->file, state->copy, "itiiiittiiii", api, "", copy->bytes,
		(int64_t)0, (int64_t)0, (int64_t)kinds[at].kind, "", "",
		copy->has_target ? copy->target : (int64_t)-1,
		copy->has_source ? copy->source : (int64_t)-1, (int64_t)0, (int64_t)0);
}

static int put_call(struct export_writer *w, const struct export_call *call)
{
	struct rpd *state = w->state;

	return table_file_insert(&state->file, state->api, "iiiiiiiii",
		api_of(call->process, call->number), pid_of(call->process), call->tid,
		call->start_ns, call->end_ns,
		text_of(&w->source->functions, call->function, w->source->kernels.count),
		(int64_t)TEXT_EMPTY, (int64_t)(call->is_collective_library ? TEXT_RCCL : TEXT_HIP),
		(int64_t)TEXT_EMPTY);
}

static int put_marker(struct export_writer *w, const struct export_process *process, int64_t number,
	int64_t tid, int64_t start_ns, int64_t end_ns, const char *text)
{
	struct rpd *state = w->state;
	int64_t text_id;
	int r = put_range_text(w, text, &text_id);

	if (r)
		return r;
	return table_file_insert(&state->file, state->api, "iiiiiiiii", api_of(process, number),
		pid_of(process), tid, start_ns, end_ns, (int64_t)TEXT_MARKER, (int64_t)TEXT_EMPTY,
		(int64_t)TEXT_EMPTY, text_id);
}

static int put_range(struct export_writer *w, const struct export_range *range)
{
	return put_marker(w, range->process, wrap_plus(RANGE_NUMBERS, range->id), range->tid,
		range->start_ns, range->end_ns, range->text);
}

/* rpd2tracing treats a file without any such row as empty, and raptor leaves out what lies before
 * the first one or after the last one: an operation may end after its process. */
static int put_process(struct export_writer *w, const struct export_process *process)
{
	const struct span *span = ((struct rpd *)w->state)->spans + process->index;
	char label[EXPORT_LABEL_BYTES], text[EXPORT_LABEL_BYTES + 64];
	int64_t start_ns = process->start_ns;
	int64_t end_ns = process->has_end ? process->end_ns : w->source->end_ns;

	export_label(w->source, process, label);
	snprintf(text, sizeof(text), "%spid %" PRId64 ": recorded", label, process->pid);
	if (span->first_ns < start_ns)
		start_ns = span->first_ns;
	if (span->last_ns > end_ns)
		end_ns = span->last_ns;
	return put_marker(w, process, PROCESS_NUMBER, process->pid, start_ns,
		end_ns > start_ns ? end_ns : start_ns, text);
}

static int put_processes(struct export_writer *w)
{
	int r = 0;

	for (size_t i = 0; i < w->source->process_count && !r; i++)
		if (export_has_process(w->source, w->source->processes + i))
			r = put_process(w, w->source->processes + i);
	return r;
}

static int make_spans(struct export_writer *w)
{
	struct rpd *state = w->state;

	state->spans = calloc(w->source->process_count + 1, sizeof(*state->spans));
	if (!state->spans)
		return -ENOMEM;
	for (size_t i = 0; i < w->source->process_count; i++)
		state->spans[i] = (struct span){INT64_MAX, INT64_MIN};
	return 0;
}

/* ---- the file ------------------------------------------------------------------------------- */

static int put_metadata(struct export_writer *w)
{
	struct rpd *state = w->state;
	const struct verdict *verdict = w->source->verdict;
	int r = table_file_insert(&state->file, state->metadata, "tt", "simulated",
		verdict->is_simulated ? "1" : "0");

	if (!r)
		r = table_file_insert(
			&state->file, state->metadata, "tt", "completeness", verdict->line);
	if (!r)
		r = table_file_insert(
			&state->file, state->metadata, "tt", "rtl_version", RTL_VERSION);
	return r;
}

static int begin(struct export_writer *w)
{
	struct rpd *state = w->state;
	const struct {
		sqlite3_stmt **statement;
		const char *sql;
	} inserts[] = {
		{&state->string, "INSERT INTO rocpd_string VALUES (?, ?)"},
		{&state->ustring, "INSERT INTO rocpd_ustring VALUES (?, ?)"},
		{&state->api, "INSERT INTO rocpd_api VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"},
		{&state->op, "INSERT INTO rocpd_op VALUES (?, ?, ?, ?, ?, ?, ?, ?)"},
		{&state->link, "INSERT INTO rocpd_api_ops (api_id, op_id) VALUES (?, ?)"},
		{&state->kernel, "INSERT OR IGNORE INTO rocpd_kernelapi VALUES (?, ?, ?, ?, ?, ?, "
				 "?, ?, ?, ?, ?)"},
		{&state->copy, "INSERT OR IGNORE INTO rocpd_copyapi VALUES (?, ?, ?, ?, ?, ?, ?, "
			       "?, ?, ?, ?, ?)"},
		{&state->metadata, "INSERT INTO rocpd_metadata (tag, value) VALUES (?, ?)"},
	};
	int r = table_file_open(w, &state->file);

	if (!r)
		r = table_file_make(&state->file, "rpd", NULL);
	for (size_t i = 0; i < sizeof(inserts) / sizeof(*inserts) && !r; i++)
		r = table_file_prepare(&state->file, inserts[i].sql, NULL, inserts[i].statement);
	if (!r)
		r = put_metadata(w);
	if (!r)
		r = put_strings(w);
	return r ? r : make_spans(w);
}

static void finalize(struct rpd *state)
{
	sqlite3_stmt **statements[] = {&state->string, &state->ustring, &state->api, &state->op,
		&state->link, &state->kernel, &state->copy, &state->metadata};

	for (size_t i = 0; i < sizeof(statements) / sizeof(*statements); i++) {
		sqlite3_finalize(*statements[i]);
		*statements[i] = NULL;
	}
}

static int end(struct export_writer *w)
{
	struct rpd *state = w->state;
	int r = put_processes(w);

	if (!r)
		r = table_file_do(&state->file,
			"CREATE INDEX rocpd_strin_string_c7b9cd_idx ON rocpd_string (string);"
			"CREATE INDEX rocpd_ustri_string_84d4a7_idx ON rocpd_ustring (string)");

	finalize(state);
	return r ? r : table_file_close(&state->file);
}

static void done(struct export_writer *w)
{
	struct rpd *state = w->state;

	finalize(state);
	table_file_done(&state->file);
	free(state->spans);
}

const struct export_format export_rpd = {
	.option = "rpd",
	.argument = "OUT",
	.help = "a database of rocmProfileData, OUT.rpd, for rpd2tracing and raptor",
	.use = "rpd2tracing.py, raptor.py",
	.kind = EXPORT_DATABASE,
	.state_bytes = sizeof(struct rpd),
	.begin = begin,
	.kernel = put_kernel,
	.copy = put_copy,
	.call = put_call,
	.range = put_range,
	.end = end,
	.done = done,
};
