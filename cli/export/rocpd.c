// SPDX-License-Identifier: MIT
/*
 * A database of rocprofiler-sdk's rocpd, version 3.0.2, which `rocpd summary`, `query` and
 * `convert` read. Each process has its own tables, named by its guid; views combine them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/message.h"
#include "cli/export/rows/launches.h"
#include "cli/export/rows/table_file.h"
#include "proto/base/cleanup.h"

/* SQLite's limit of the parts of a view. */
#define PROCESSES_MAX	     500
#define GUID_BYTES	     37
#define HOST_AGENT	     0
#define AGENT_OF_GPU(gpu_id) ((gpu_id) + 1)

static const char *const tables[] = {"metadata", "string", "info_node", "info_process",
	"info_thread", "info_agent", "info_queue", "info_stream", "info_pmc", "info_code_object",
	"info_kernel_symbol", "track", "event", "arg", "pmc_event", "region", "sample",
	"kernel_dispatch", "memory_copy", "memory_allocate", "graph_launch"};

/* Ids in rocpd_string of each process. The functions follow. */
enum {
	TEXT_EMPTY = 1,
	TEXT_KERNEL,
	TEXT_COPY,
	TEXT_HIP,
	TEXT_RCCL,
	TEXT_MARKER,
	TEXT_PUSH,
	TEXT_START,
	TEXT_MARK,
	TEXT_UNNAMED,
	TEXT_COPIES, /* the first of six */
	TEXTS = TEXT_COPIES + 6,
};
/* rocpd names a summary by what comes before the first _ of a category. */
static const char *const texts[TEXTS] = {"", "", "KERNEL_DISPATCH", "MEMORY_COPY",
	"HIP_RUNTIME_API", "RCCL_API", "MARKER_CORE_API", "roctxRangePush", "roctxRangeStart",
	"roctxMark", "call", "MEMORY_COPY_HOST_TO_DEVICE", "MEMORY_COPY_DEVICE_TO_HOST",
	"MEMORY_COPY_DEVICE_TO_DEVICE", "MEMORY_COPY_DEVICE_TO_DEVICE", "MEMORY_COPY_HOST_TO_HOST",
	"MEMORY_COPY_UNKNOWN"};
static const char *const directions[] = {"h2d", "d2h", "d2d", "p2p", "h2h"};

/* The statements of a process, each prepared when it is first needed. */
enum statement {
	INSERT_STRING,
	INSERT_THREAD,
	INSERT_QUEUE,
	INSERT_SYMBOL,
	INSERT_EVENT,
	INSERT_KERNEL,
	INSERT_COPY,
	INSERT_REGION,
	INSERT_ARG,
	INSERT_TRACK,
	INSERT_SAMPLE,
	INSERT_GRAPH,
	STATEMENTS,
};
/* Parameter 1 is the row's guid if the table has one; each @ stands for the suffix. */
static const char *const inserts[STATEMENTS] = {
	[INSERT_STRING] = "INSERT INTO \"rocpd_string@\" (guid, id, string) VALUES (?, ?, ?)",
	[INSERT_THREAD] = "INSERT INTO \"rocpd_info_thread@\" (guid, id, nid, pid, tid) VALUES "
			  "(?, ?, ?, ?, ?)",
	[INSERT_QUEUE] = "INSERT INTO \"rocpd_info_queue@\" (guid, id, nid, pid, name) VALUES (?, "
			 "?, ?, ?, ?)",
	[INSERT_SYMBOL] =
		"INSERT INTO \"rocpd_info_kernel_symbol@\" (guid, id, nid, pid, code_object_id, "
		"kernel_name, display_name) VALUES (?, ?, ?, ?, 0, ?, ?)",
	[INSERT_EVENT] = "INSERT INTO \"rocpd_event@\" (guid, id, category_id, stack_id, "
			 "parent_stack_id, correlation_id, extdata) VALUES (?, ?, ?, ?, 0, 0, ?)",
	[INSERT_KERNEL] =
		"INSERT INTO \"rocpd_kernel_dispatch@\" (guid, nid, pid, tid, agent_id, "
		"kernel_id, "
		"dispatch_id, queue_id, stream_id, start, \"end\", private_segment_size, "
		"group_segment_size, workgroup_size_x, workgroup_size_y, workgroup_size_z, "
		"grid_size_x, "
		"grid_size_y, grid_size_z, region_name_id, event_id, graph_exec_id, graph_node_id) "
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?)",
	[INSERT_COPY] =
		"INSERT INTO \"rocpd_memory_copy@\" (guid, nid, pid, tid, start, \"end\", "
		"name_id, dst_agent_id, src_agent_id, size, stream_id, region_name_id, event_id) "
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 1, ?)",
	[INSERT_REGION] =
		"INSERT INTO \"rocpd_region@\" (guid, nid, pid, tid, start, \"end\", name_id, "
		"event_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
	[INSERT_ARG] = "INSERT INTO \"rocpd_arg@\" (guid, event_id, position, type, name, value) "
		       "VALUES (?, ?, ?, ?, ?, ?)",
	[INSERT_TRACK] = "INSERT INTO \"rocpd_track@\" (guid, id, nid, pid, tid, name_id) VALUES "
			 "(?, ?, ?, ?, ?, ?)",
	[INSERT_SAMPLE] = "INSERT INTO \"rocpd_sample@\" (guid, track_id, timestamp, event_id) "
			  "VALUES (?, ?, ?, ?)",
	[INSERT_GRAPH] =
		"INSERT INTO \"rocpd_graph_launch@\" (guid, nid, pid, tid, start, \"end\", "
		"graph_exec_id, kernel_dispatch_count, event_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, "
		"?)",
};

struct tenant {
	bool is_begun;
	char guid[GUID_BYTES], suffix[GUID_BYTES + 1];
	int64_t nid, events;
	sqlite3_stmt *statements[STATEMENTS];
};

enum seen { SEEN_THREAD, SEEN_QUEUE, SEEN_SYMBOL, SEEN_TRACK };

struct rocpd {
	struct table_file file;
	struct tenant *tenants; /* one per process */
	struct idmap seen;
	struct launches launches;
};

/* ---- processes ------------------------------------------------------------------------------ */

/* FNV-1a, over the text and its NUL. */
static uint64_t hash(uint64_t seed, const char *text)
{
	uint64_t h = 0xcbf29ce484222325u ^ seed;

	do
		h = (h ^ (unsigned char)*text) * 0x100000001b3u;
	while (*text++);
	return h;
}

/* Makes a guid, which is the same in each export of the same process. */
static void make_guid(const struct export_source *source, const struct export_process *process,
	struct tenant *tenant)
{
	uint64_t parts[2];
	char number[64];

	/* In imports two processes may have the same pid and start. */
	snprintf(number, sizeof(number), "%" PRId64 " %" PRId64 " %" PRId64, process->id,
		process->pid, process->start_ns);
	for (int i = 0; i < 2; i++)
		parts[i] = hash(
			hash(hash(i ? 0x9e3779b97f4a7c15u : 0, source->session), process->boot_id),
			number);
	/* UUID version 8: the content is up to the application. */
	snprintf(tenant->guid, sizeof(tenant->guid), "%08x-%04x-8%03x-%04x-%012" PRIx64,
		(unsigned)(parts[0] >> 32), (unsigned)(parts[0] >> 16 & 0xffff),
		(unsigned)(parts[0] & 0xfff), (unsigned)(0x8000 | (parts[1] >> 48 & 0x3fff)),
		parts[1] & 0xffffffffffffu);
	snprintf(tenant->suffix, sizeof(tenant->suffix), "_%s", tenant->guid);
	for (char *at = tenant->suffix; *at; at++)
		if (*at == '-')
			*at = '_';
	tenant->nid = (int64_t)(hash(0, process->boot_id) >> 4);
}

static int prepare(
	struct rocpd *state, struct tenant *tenant, enum statement which, sqlite3_stmt **ret)
{
	int r = 0;

	*ret = tenant->statements[which];
	if (!*ret)
		r = table_file_prepare(&state->file, inserts[which], tenant->suffix, ret);
	if (!r)
		tenant->statements[which] = *ret;
	return r;
}

/* Runs an INSERT with the guid as first parameter. */
#define INSERT(state, tenant, which, form, ...)                                                    \
	({                                                                                         \
		sqlite3_stmt *to_;                                                                 \
		int r_ = prepare((state), (tenant), (which), &to_);                                \
		if (!r_)                                                                           \
			r_ = table_file_insert(                                                    \
				&(state)->file, to_, "t" form, (tenant)->guid, __VA_ARGS__);       \
		r_;                                                                                \
	})

/* Inserts a row into a table that has one per process. */
static int insert_once(struct rocpd *state, const struct tenant *tenant, const char *sql,
	const char *form, int64_t a, int64_t b, const char *text, const char *more)
{
	sqlite3_stmt *statement = NULL;
	int r = table_file_prepare(&state->file, sql, tenant->suffix, &statement);

	if (!r)
		r = table_file_insert(
			&state->file, statement, form, tenant->guid, a, b, text, more);
	sqlite3_finalize(statement);
	return r;
}

static int put_metadata(struct export_writer *w, struct tenant *tenant)
{
	const struct verdict *verdict = w->source->verdict;
	const char *const rows[][2] = {
		{"schema_version", "3.0.2"},
		{"uuid", tenant->suffix},
		{"guid", tenant->guid},
		{"simulated", verdict->is_simulated ? "1" : "0"},
		{"completeness", verdict->line},
		{"rtl_version", RTL_VERSION},
	};
	struct rocpd *state = w->state;
	sqlite3_stmt *statement = NULL;
	int r = table_file_prepare(&state->file,
		"INSERT INTO \"rocpd_metadata@\" (tag, value) VALUES (?, ?)", tenant->suffix,
		&statement);

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) && !r; i++)
		r = table_file_insert(&state->file, statement, "tt", rows[i][0], rows[i][1]);
	sqlite3_finalize(statement);
	return r;
}

static int put_strings(struct export_writer *w, struct tenant *tenant)
{
	const struct export_names *functions = &w->source->functions;
	struct rocpd *state = w->state;
	int r = 0;

	for (int i = 1; i < TEXTS && !r; i++)
		r = INSERT(state, tenant, INSERT_STRING, "it", (int64_t)i, texts[i]);
	for (size_t i = 0; i < functions->count && !r; i++)
		r = INSERT(state, tenant, INSERT_STRING, "it", (int64_t)(TEXTS + i),
			functions->items[i].text);
	return r;
}

static int put_process(
	struct export_writer *w, const struct export_process *process, struct tenant *tenant)
{
	CLEANUP(free_p) char *extdata = NULL, *line = export_json(w->source->verdict->line);
	const struct verdict *verdict = w->source->verdict;
	int64_t end_ns = process->has_end ? process->end_ns : w->source->end_ns;
	struct rocpd *state = w->state;
	sqlite3_stmt *statement = NULL;
	char rank[32] = "null", environment[64] = "{}";
	int r;

	if (process->has_rank) {
		snprintf(rank, sizeof(rank), "%" PRId64, process->rank);
		snprintf(environment, sizeof(environment), "{\"RANK\": \"%s\"}", rank);
	}
	if (!line || asprintf(&extdata, "{\"rank\": %s, \"simulated\": %s, \"completeness\": %s}",
			     rank, verdict->is_simulated ? "true" : "false", line) < 0) {
		extdata = NULL;
		return -ENOMEM;
	}
	r = table_file_prepare(&state->file,
		"INSERT INTO \"rocpd_info_process@\" (guid, id, nid, pid, init, fini, start, "
		"\"end\", "
		"command, environment, extdata) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		tenant->suffix, &statement);
	if (!r)
		r = table_file_insert(&state->file, statement, "tiiiiiiittt", tenant->guid,
			process->pid, tenant->nid, process->pid, process->start_ns, end_ns,
			process->start_ns, end_ns, process->command, environment, extdata);
	sqlite3_finalize(statement);
	return r;
}

static int put_agents(
	struct export_writer *w, const struct export_process *process, struct tenant *tenant)
{
	struct rocpd *state = w->state;
	sqlite3_stmt *statement = NULL;
	int r = table_file_prepare(&state->file,
		"INSERT INTO \"rocpd_info_agent@\" (guid, id, nid, pid, type, absolute_index, "
		"logical_index, type_index, name, product_name) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, "
		"?)",
		tenant->suffix, &statement);

	if (!r)
		r = table_file_insert(&state->file, statement, "tiiitiiitt", tenant->guid,
			(int64_t)HOST_AGENT, tenant->nid, process->pid, "CPU", (int64_t)0,
			(int64_t)0, (int64_t)0, "host", process->host);
	for (size_t i = 0; i < w->source->gpu_count && !r; i++) {
		const struct export_gpu *gpu = w->source->gpus + i;

		r = table_file_insert(&state->file, statement, "tiiitiiitt", tenant->guid,
			AGENT_OF_GPU(gpu->id), tenant->nid, process->pid, "GPU",
			gpu->has_node ? gpu->kfd_node : gpu->id, gpu->id, gpu->id, gpu->gfx,
			gpu->name);
	}
	sqlite3_finalize(statement);
	return r;
}

static int get_tenant(
	struct export_writer *w, const struct export_process *process, struct tenant **ret)
{
	struct rocpd *state = w->state;
	struct tenant *tenant = state->tenants + process->index;
	int r;

	*ret = tenant;
	if (tenant->is_begun)
		return 0;
	tenant->is_begun = true;
	make_guid(w->source, process, tenant);
	r = table_file_make(&state->file, "rocpd_tables", tenant->suffix);
	if (!r)
		r = put_metadata(w, tenant);
	if (!r)
		r = put_strings(w, tenant);
	if (!r)
		r = insert_once(state, tenant,
			"INSERT INTO \"rocpd_info_node@\" (guid, id, hash, machine_id, hostname) "
			"VALUES (?, ?, ?, ?, ?)",
			"tiitt", tenant->nid, tenant->nid, process->boot_id, process->host);
	if (!r)
		r = put_process(w, process, tenant);
	if (!r)
		r = put_agents(w, process, tenant);
	if (!r)
		r = insert_once(state, tenant,
			"INSERT INTO \"rocpd_info_stream@\" (guid, id, nid, pid, name) VALUES "
			"(?1, 0, ?2, ?3, ?4)",
			"tiit", tenant->nid, process->pid, "Stream 0", NULL);
	if (!r)
		r = insert_once(state, tenant,
			"INSERT INTO \"rocpd_info_code_object@\" (guid, id, nid, pid, uri) VALUES "
			"(?1, 0, ?2, ?3, ?4)",
			"tiit", tenant->nid, process->pid, "", NULL);
	return r;
}

/* ---- rows that others refer to -------------------------------------------------------------- */

/* Returns 1 the first time, 0 afterwards, or -ENOMEM. */
static int see(
	struct rocpd *state, const struct export_process *process, enum seen kind, int64_t id)
{
	uint32_t *at = idmap_at(
		&state->seen, (((int64_t)process->index << 2 | kind) << 40) ^ (id & 0xffffffffff));

	if (!at)
		return -ENOMEM;
	if (*at != IDMAP_NONE)
		return 0;
	*at = 0;
	return 1;
}

static int need_thread(struct rocpd *state, struct tenant *tenant,
	const struct export_process *process, int64_t tid)
{
	int r = see(state, process, SEEN_THREAD, tid);

	return r <= 0 ? r
		      : INSERT(state, tenant, INSERT_THREAD, "iiii", tid, tenant->nid, process->pid,
				tid);
}

static int need_queue(struct rocpd *state, struct tenant *tenant,
	const struct export_process *process, int64_t queue)
{
	int r = see(state, process, SEEN_QUEUE, queue);
	char name[32];

	if (r <= 0)
		return r;
	snprintf(name, sizeof(name), "Queue %" PRId64, queue);
	return INSERT(state, tenant, INSERT_QUEUE, "iiit", queue, tenant->nid, process->pid, name);
}

static int need_symbol(struct rocpd *state, struct tenant *tenant,
	const struct export_process *process, const struct export_name *kernel)
{
	int r = see(state, process, SEEN_SYMBOL, kernel->id);

	return r <= 0 ? r
		      : INSERT(state, tenant, INSERT_SYMBOL, "iiitt", kernel->id, tenant->nid,
				process->pid, kernel->symbol, kernel->text);
}

static int put_event(struct rocpd *state, struct tenant *tenant, int category, int64_t stack,
	const char *extdata)
{
	return INSERT(state, tenant, INSERT_EVENT, "iiit", ++tenant->events, (int64_t)category,
		stack, extdata ? extdata : "{}");
}

/* ---- rows ----------------------------------------------------------------------------------- */

static int put_kernel(struct export_writer *w, const struct export_kernel *kernel)
{
	const struct export_process *process = kernel->process;
	int64_t tid = kernel->has_tid ? kernel->tid : process->pid;
	struct rocpd *state = w->state;
	struct tenant *tenant;
	sqlite3_stmt *to;
	int r = get_tenant(w, process, &tenant);

	if (!r)
		r = need_thread(state, tenant, process, tid);
	if (!r)
		r = need_queue(state, tenant, process, kernel->queue);
	if (!r)
		r = need_symbol(state, tenant, process, kernel->name);
	if (!r)
		r = put_event(state, tenant, TEXT_KERNEL, kernel->call, NULL);
	if (!r && kernel->has_graph && kernel->function && kernel->call < LAUNCHES_CALLS_MAX &&
		launches_add_kernel(&state->launches, process->index, kernel->call) < 0)
		r = -ENOMEM;
	if (!r)
		r = prepare(state, tenant, INSERT_KERNEL, &to);
	if (r)
		return r;
	return table_file_insert(&state->file, to,
		!kernel->has_graph ? "tiiiiiiiiiiiiiiiiiinn"
		: kernel->has_node ? "tiiiiiiiiiiiiiiiiiiii"
				   : "tiiiiiiiiiiiiiiiiiiin",
		tenant->guid, tenant->nid, process->pid, tid, AGENT_OF_GPU(kernel->gpu_id),
		kernel->name->id, kernel->id, kernel->queue, kernel->start_ns, kernel->end_ns,
		kernel->scratch, kernel->lds, kernel->workgroup[0], kernel->workgroup[1],
		kernel->workgroup[2], kernel->grid[0], kernel->grid[1], kernel->grid[2],
		tenant->events, kernel->graph_exec, kernel->node);
}

static int put_copy(struct export_writer *w, const struct export_copy *copy)
{
	const struct export_process *process = copy->process;
	struct rocpd *state = w->state;
	struct tenant *tenant;
	int at = 0, r = get_tenant(w, process, &tenant);

	while (at < 5 && strcmp(directions[at], copy->direction))
		at++;
	if (!r)
		r = need_thread(state, tenant, process, copy->tid);
	if (!r)
		r = put_event(state, tenant, TEXT_COPY, copy->call, NULL);
	if (r)
		return r;
	return INSERT(state, tenant, INSERT_COPY, "iiiiiiiiii", tenant->nid, process->pid,
		copy->tid, copy->start_ns, copy->end_ns, (int64_t)(TEXT_COPIES + at),
		copy->has_target ? AGENT_OF_GPU(copy->target) : (int64_t)HOST_AGENT,
		copy->has_source ? AGENT_OF_GPU(copy->source) : (int64_t)HOST_AGENT, copy->bytes,
		tenant->events);
}

static int put_arg(struct rocpd *state, struct tenant *tenant, int position, const char *name,
	bool has_value, int64_t value)
{
	char text[32];

	if (!has_value)
		return 0;
	snprintf(text, sizeof(text), "%" PRId64, value);
	return INSERT(state, tenant, INSERT_ARG, "iittt", tenant->events, (int64_t)position,
		"int64_t", name, text);
}

static int put_collective(
	struct rocpd *state, struct tenant *tenant, const struct export_collective *c)
{
	int r = put_arg(state, tenant, 0, "count", true, c->count);

	if (!r && c->datatype)
		r = INSERT(state, tenant, INSERT_ARG, "iittt", tenant->events, (int64_t)1,
			"ncclDataType_t", "datatype", c->datatype);
	if (!r)
		r = put_arg(state, tenant, 2, "comm", c->has_comm, c->comm);
	if (!r)
		r = put_arg(state, tenant, 3, "seq", c->has_seq, c->seq);
	if (!r)
		r = put_arg(state, tenant, 4, "comm_rank", c->has_size, c->comm_rank);
	if (!r)
		r = put_arg(state, tenant, 5, "comm_size", c->has_size, c->comm_size);
	if (!r)
		r = put_arg(state, tenant, 6, "bytes", true, c->bytes);
	if (!r)
		r = put_arg(state, tenant, 7, "peer", c->has_peer, c->peer);
	return r;
}

static int put_graph(struct rocpd *state, struct tenant *tenant, const struct export_call *call)
{
	int64_t kernels =
		call->number < LAUNCHES_CALLS_MAX
			? launches_kernels(&state->launches, call->process->index, call->number)
			: 0;

	return INSERT(state, tenant, INSERT_GRAPH, "iiiiiiii", tenant->nid, call->process->pid,
		call->tid, call->start_ns, call->end_ns, call->graph_exec, kernels, tenant->events);
}

static int put_call(struct export_writer *w, const struct export_call *call)
{
	const struct export_process *process = call->process;
	size_t function = (size_t)(call->function - w->source->functions.items);
	int64_t name =
		function < w->source->functions.count ? (int64_t)(TEXTS + function) : TEXT_UNNAMED;
	struct rocpd *state = w->state;
	struct tenant *tenant;
	int r = get_tenant(w, process, &tenant);

	if (!r)
		r = need_thread(state, tenant, process, call->tid);
	if (!r)
		r = put_event(state, tenant, call->is_collective_library ? TEXT_RCCL : TEXT_HIP,
			call->number, NULL);
	if (!r)
		r = INSERT(state, tenant, INSERT_REGION, "iiiiiii", tenant->nid, process->pid,
			call->tid, call->start_ns, call->end_ns, name, tenant->events);
	if (!r && call->collective)
		r = put_collective(state, tenant, call->collective);
	if (!r && call->has_graph)
		r = put_graph(state, tenant, call);
	return r;
}

static int put_mark(struct rocpd *state, struct tenant *tenant, const struct export_range *range)
{
	int r = see(state, range->process, SEEN_TRACK, range->tid);

	if (r > 0)
		r = INSERT(state, tenant, INSERT_TRACK, "iiiii", range->tid, tenant->nid,
			range->process->pid, range->tid, (int64_t)TEXT_MARK);
	return r ? r
		 : INSERT(state, tenant, INSERT_SAMPLE, "iii", range->tid, range->start_ns,
			   tenant->events);
}

static int put_range(struct export_writer *w, const struct export_range *range)
{
	CLEANUP(free_p) char *json = export_json(range->text), *extdata = NULL;
	const struct export_process *process = range->process;
	struct rocpd *state = w->state;
	struct tenant *tenant;
	int r;

	if (!json || asprintf(&extdata, "{\"message\": %s}", json) < 0) {
		extdata = NULL;
		return -ENOMEM;
	}
	r = get_tenant(w, process, &tenant);
	if (!r)
		r = need_thread(state, tenant, process, range->tid);
	if (!r)
		r = put_event(state, tenant, TEXT_MARKER, range->id, extdata);
	if (r)
		return r;
	if (range->kind == EXPORT_MARK)
		return put_mark(state, tenant, range);
	return INSERT(state, tenant, INSERT_REGION, "iiiiiii", tenant->nid, process->pid,
		range->tid, range->start_ns, range->end_ns,
		(int64_t)(range->kind == EXPORT_START ? TEXT_START : TEXT_PUSH), tenant->events);
}

/* ---- the file ------------------------------------------------------------------------------- */

static int begin(struct export_writer *w)
{
	struct rocpd *state = w->state;
	size_t chosen = 0;

	for (size_t i = 0; i < w->source->process_count; i++)
		chosen += export_has_process(w->source, w->source->processes + i);
	if (chosen > PROCESSES_MAX) {
		say("--rocpd: %zu processes do not fit into its views, which have %d parts; choose "
		    "with --ranks",
			chosen, PROCESSES_MAX);
		return -EIO;
	}
	state->tenants = calloc(w->source->process_count + 1, sizeof(*state->tenants));
	return state->tenants ? table_file_open(w, &state->file) : -ENOMEM;
}

static void finalize(const struct export_writer *w, struct rocpd *state)
{
	for (size_t i = 0; i < w->source->process_count && state->tenants; i++)
		for (int k = 0; k < STATEMENTS; k++) {
			sqlite3_finalize(state->tenants[i].statements[k]);
			state->tenants[i].statements[k] = NULL;
		}
}

/* Makes the view of a table's name, which has the rows of all processes. */
static int make_view(struct export_writer *w, const char *table)
{
	struct rocpd *state = w->state;
	CLEANUP(free_p) char *sql = NULL;
	bool is_first = true;
	size_t bytes;
	FILE *to = open_memstream(&sql, &bytes);

	if (!to)
		return -ENOMEM;
	fprintf(to, "CREATE VIEW rocpd_%s AS", table);
	for (size_t i = 0; i < w->source->process_count; i++)
		if (state->tenants[i].is_begun) {
			fprintf(to, "%s SELECT * FROM \"rocpd_%s%s\"", is_first ? "" : " UNION ALL",
				table, state->tenants[i].suffix);
			is_first = false;
		}
	if (fclose(to))
		return -ENOMEM;
	return table_file_do(&state->file, sql);
}

static int end(struct export_writer *w)
{
	struct rocpd *state = w->state;
	struct tenant *tenant;
	int r = 0;

	finalize(w, state);
	/* A process without any row is listed as well. */
	for (size_t i = 0; i < w->source->process_count && !r; i++)
		if (export_has_process(w->source, w->source->processes + i))
			r = get_tenant(w, w->source->processes + i, &tenant);
	finalize(w, state);
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables) && !r && w->source->process_count;
		i++)
		r = make_view(w, tables[i]);
	if (!r && w->source->process_count)
		r = table_file_make(&state->file, "rocpd_views", NULL);
	return r ? r : table_file_close(&state->file);
}

static void done(struct export_writer *w)
{
	struct rocpd *state = w->state;

	finalize(w, state);
	table_file_done(&state->file);
	free(state->tenants);
	idmap_done(&state->seen);
	launches_done(&state->launches);
}

const struct export_format export_rocpd = {
	.option = "rocpd",
	.argument = "OUT",
	.help = "a database of rocprofiler-sdk's rocpd 3.0.2, OUT.db, for rocpd summary, query and "
		"convert",
	.use = "rocpd summary -i",
	.kind = EXPORT_DATABASE,
	.state_bytes = sizeof(struct rocpd),
	.begin = begin,
	.kernel = put_kernel,
	.copy = put_copy,
	.call = put_call,
	.range = put_range,
	.end = end,
	.done = done,
};
