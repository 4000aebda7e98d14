// SPDX-License-Identifier: MIT
/*
 * Databases of rocmProfileData (RPD, versions 2 and 3), and of rocm-trace-lite, which uses the same
 * tables and stores ranges among the operations of GPUs.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/import/formats/formats.h"
#include "cli/import/input/foreign_db.h"
#include "cli/import/rows/trace_set.h"
#include "proto/base/cleanup.h"

struct reading {
	struct import_store *store;
	struct trace_file *file;
	struct trace_set set;
	sqlite3 *db;
	bool is_lite;	  /* rocm-trace-lite wrote the file */
	bool is_ours;	  /* rtl export wrote the file */
	int64_t only_pid; /* the pid of all rows if there is only one, else TRACE_NO_NUMBER */
};

static void reading_done(struct reading *r)
{
	trace_set_done(&r->set);
	foreign_close_p(&r->db);
}

static int put_text(struct reading *r, const char *text, uint32_t *ret)
{
	int64_t id = 0;
	int e = import_store_text(r->store, text, strlen(text), &id);

	*ret = (uint32_t)id;
	return e;
}

static int check_times(
	struct reading *r, const char *table, int64_t row, int64_t start, int64_t end)
{
	if (start < 0 || end < 0)
		return foreign_refuse(r->file, table, row, "a time is out of range");
	return end < start ? foreign_refuse(r->file, table, row, "ends before it begins") : 0;
}

/* ---- calls and ranges ---- */

/* Reads "rank 3 pid 4711: recorded", which rtl export writes for each process. The pid differs from
 * that of the rows if two nodes have the same pid. */
static bool is_process_row(struct trace_process *process, const char *text)
{
	static const char end[] = ": recorded";
	const char *rank = strstr(text, "rank "), *pid = strstr(text, "pid ");
	size_t length = strlen(text);
	long long number;

	if (!pid || length < sizeof(end) - 1 || strcmp(text + length - strlen(end), end) != 0 ||
		sscanf(pid, "pid %lld", &number) != 1)
		return false;
	process->pid = number;
	if (rank && rank < pid && sscanf(rank, "rank %lld", &number) == 1)
		process->rank = number;
	return true;
}

static int take_call(struct reading *r, sqlite3_stmt *rows)
{
	int64_t id = foreign_integer_or(rows, 0, 0), pid = foreign_integer_or(rows, 1, 0);
	const char *name = foreign_text(rows, 5);
	bool is_range = !strcmp(name, "UserMarker");
	struct trace_host host = {.kind = is_range ? TRACE_RANGE : TRACE_CALL,
		.tid = foreign_integer_or(rows, 2, 0),
		.foreign = is_range || r->is_lite ? TRACE_NO_NUMBER : id,
		.is_graph_launch = strstr(name, "GraphLaunch") != NULL};
	struct trace_process *process;
	int e;

	if (!foreign_integer(rows, 3, &host.start_ns) || !foreign_integer(rows, 4, &host.end_ns))
		return foreign_refuse(r->file, "rocpd_api", id, "a time is no number");
	e = check_times(r, "rocpd_api", id, host.start_ns, host.end_ns);
	if (e == 0)
		e = put_text(r, is_range ? foreign_text(rows, 6) : name, &host.name);
	if (e == 0)
		e = trace_set_find(&r->set, r->store, pid, &process);
	if (e < 0)
		return e;
	if (process->pid == TRACE_NO_NUMBER)
		process->pid = pid;
	if (is_range && r->is_ours && is_process_row(process, foreign_text(rows, 6)))
		return 0;
	host.is_mark = is_range && host.start_ns == host.end_ns;
	return trace_process_add_host(process, &host, NULL);
}

static int read_calls(struct reading *r)
{
	CLEANUP(foreign_end_p) sqlite3_stmt *rows = NULL;
	bool has_texts = foreign_has_table(r->db, "rocpd_ustring");
	int e = foreign_ask(r->file, r->db, &rows,
		"SELECT a.id, a.pid, a.tid, a.start, a.\"end\", n.string, t.string FROM rocpd_api "
		"a "
		"LEFT JOIN rocpd_string n ON n.id = a.apiName_id "
		"LEFT JOIN %s t ON t.id = a.args_id",
		has_texts ? "rocpd_ustring" : "rocpd_string");

	while (!e && (e = foreign_next(r->file, rows)) > 0)
		e = take_call(r, rows);
	return e;
}

/* ---- operations of GPUs ---- */

enum {
	OP_ID,
	OP_GPU,
	OP_QUEUE,
	OP_START,
	OP_END,
	OP_NAME,
	OP_TYPE,
	OP_SIGNAL,
	OP_RANGE,
	OP_API,
	OP_PID,
	OP_BYTES,
	OP_KERNEL,
	OP_API_NAME,
	OP_WORKGROUP, /* three columns each for workgroup and grid */
};

static bool begins(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static uint32_t side(sqlite3_stmt *rows, int column)
{
	int64_t value = foreign_integer_or(rows, column, 0);

	return value < 0 || value > UINT32_MAX ? 0 : (uint32_t)value;
}

/* Reads "hwq=0x7f.. wg=64,1,1 grid=128,1,1" of rocm-trace-lite. Otherwise takes what the launch was
 * given, which is in workgroups except for the launches that take work-items. */
static void set_geometry(const struct reading *r, sqlite3_stmt *rows, struct trace_geometry *ret)
{
	const char *text = strstr(foreign_text(rows, OP_SIGNAL), "wg=");
	const char *api = foreign_text(rows, OP_API_NAME);
	bool is_items = begins(api, "hipExtModuleLaunch") || begins(api, "hipHccModuleLaunch");

	if (r->is_lite) {
		if (text && sscanf(text, "wg=%u,%u,%u grid=%u,%u,%u", ret->workgroup,
				    ret->workgroup + 1, ret->workgroup + 2, ret->grid,
				    ret->grid + 1, ret->grid + 2) != 6)
			memset(ret->grid, 0, sizeof(ret->grid));
		return;
	}
	/* A graph has many kernels, and the one row of its launch is of another one. */
	if (strstr(api, "GraphLaunch"))
		return;
	for (int i = 0; i < 3; i++) {
		uint64_t items = side(rows, OP_WORKGROUP + 3 + i);

		ret->workgroup[i] = side(rows, OP_WORKGROUP + i);
		if (!is_items)
			items *= ret->workgroup[i];
		ret->grid[i] = items > UINT32_MAX ? UINT32_MAX : (uint32_t)items;
	}
}

static int take_kernel(struct reading *r, struct trace_process *process, sqlite3_stmt *rows,
	int64_t start, int64_t end)
{
	const char *name = foreign_text(rows, OP_NAME);
	struct trace_geometry geometry = {.gpu = foreign_integer_or(rows, OP_GPU, 0),
		.stream = foreign_integer_or(rows, OP_QUEUE, 0)};
	struct trace_kernel kernel = {.start_ns = start,
		.duration_ns = end - start,
		.foreign =
			foreign_integer_or(rows, r->is_lite ? OP_RANGE : OP_API, TRACE_NO_NUMBER),
		.range = TRACE_NO_NUMBER,
		.collective = TRACE_NONE};
	int e;

	/* rtl export names each operation; of several kernels of a call only one has a row in the
	 * other table. */
	if (!*name)
		name = !r->is_ours && *foreign_text(rows, OP_KERNEL) ? foreign_text(rows, OP_KERNEL)
								     : foreign_text(rows, OP_TYPE);
	set_geometry(r, rows, &geometry);
	e = import_store_kernel(r->store, name, strlen(name), &geometry.kernel_id);
	if (e == 0)
		e = trace_process_shape(process, &geometry, &kernel);
	if (e == -ERANGE)
		return foreign_refuse(r->file, "rocpd_op", foreign_integer_or(rows, OP_ID, 0),
			"the number of its GPU is out of range");
	return e ? e : trace_process_add_kernel(process, &kernel);
}

static int take_copy(struct reading *r, struct trace_process *process, sqlite3_stmt *rows,
	int64_t start, int64_t end)
{
	const char *type = foreign_text(rows, OP_TYPE);
	int64_t gpu = foreign_integer_or(rows, OP_GPU, TRACE_NO_NUMBER);
	struct trace_copy copy = {.start_ns = start,
		.duration_ns = end - start,
		.foreign = r->is_lite ? TRACE_NO_NUMBER
				      : foreign_integer_or(rows, OP_API, TRACE_NO_NUMBER),
		.bytes = foreign_integer_or(rows, OP_BYTES, TRACE_NO_NUMBER),
		.source_gpu = TRACE_NO_NUMBER,
		.target_gpu = TRACE_NO_NUMBER,
		.direction = "unknown"};

	if (strstr(type, "HostToDevice")) {
		copy.direction = "h2d";
		copy.target_gpu = gpu;
	} else if (strstr(type, "DeviceToHost")) {
		copy.direction = "d2h";
		copy.source_gpu = gpu;
	} else if (strstr(type, "HostToHost")) {
		copy.direction = "h2h";
	} else if (strstr(type, "DeviceToDevice")) {
		copy.direction = "d2d";
		copy.source_gpu = copy.target_gpu = gpu;
	} else {
		copy.source_gpu = gpu;
	}
	if (copy.bytes != TRACE_NO_NUMBER && copy.bytes < 0)
		copy.bytes = TRACE_NO_NUMBER;
	return trace_process_add_copy(process, &copy);
}

static int take_range(struct reading *r, struct trace_process *process, sqlite3_stmt *rows,
	int64_t start, int64_t end)
{
	struct trace_host host = {.kind = TRACE_RANGE,
		.start_ns = start,
		.end_ns = end,
		.tid = foreign_integer_or(rows, OP_QUEUE, 0),
		.foreign = foreign_integer_or(rows, OP_ID, TRACE_NO_NUMBER)};
	int e = put_text(r, foreign_text(rows, OP_NAME), &host.name);

	return e ? e : trace_process_add_host(process, &host, NULL);
}

static int take_op(struct reading *r, sqlite3_stmt *rows)
{
	int64_t pid = foreign_integer_or(rows, OP_PID, TRACE_NO_NUMBER), start, end;
	const char *type = foreign_text(rows, OP_TYPE);
	struct trace_process *process;
	int64_t id = foreign_integer_or(rows, OP_ID, 0);
	int e;

	if (pid == TRACE_NO_NUMBER)
		pid = r->only_pid == TRACE_NO_NUMBER ? 0 : r->only_pid;
	if (!foreign_integer(rows, OP_START, &start) || !foreign_integer(rows, OP_END, &end))
		return foreign_refuse(r->file, "rocpd_op", id, "a time is no number");
	e = check_times(r, "rocpd_op", id, start, end);
	if (e == 0)
		e = trace_set_find(&r->set, r->store, pid, &process);
	if (e < 0)
		return e;
	if (process->pid == TRACE_NO_NUMBER)
		process->pid = pid;
	if (!strcmp(type, "UserMarker"))
		return take_range(r, process, rows, start, end);
	if (begins(type, "Copy"))
		return take_copy(r, process, rows, start, end);
	return take_kernel(r, process, rows, start, end);
}

static int read_ops(struct reading *r)
{
	CLEANUP(foreign_end_p) sqlite3_stmt *rows = NULL;
	/* rocm-trace-lite has the tables of calls but does not fill them. */
	bool has_calls = !r->is_lite;
	int e = foreign_ask(r->file, r->db, &rows,
		"SELECT o.id, o.gpuId, o.queueId, o.start, o.\"end\", d.string, t.string, %s, %s, "
		"%s "
		"FROM rocpd_op o LEFT JOIN rocpd_string d ON d.id = o.description_id "
		"LEFT JOIN rocpd_string t ON t.id = o.opType_id %s ORDER BY o.id",
		foreign_has_column(r->db, "rocpd_op", "completionSignal") ? "o.completionSignal"
									  : "NULL",
		r->is_lite ? "o.roctxId" : "NULL",
		has_calls ? "a.id, a.pid, c.size, s.string, n.string, k.workgroupX, k.workgroupY, "
			    "k.workgroupZ, k.gridX, k.gridY, k.gridZ"
			  : "NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0",
		has_calls ? "LEFT JOIN (SELECT op_id, min(api_id) AS api_id FROM rocpd_api_ops "
			    "GROUP BY op_id) x ON x.op_id = o.id "
			    "LEFT JOIN rocpd_api a ON a.id = x.api_id "
			    "LEFT JOIN rocpd_string n ON n.id = a.apiName_id "
			    "LEFT JOIN rocpd_kernelapi k ON k.api_ptr_id = a.id "
			    "LEFT JOIN rocpd_string s ON s.id = k.kernelName_id "
			    "LEFT JOIN rocpd_copyapi c ON c.api_ptr_id = a.id"
			  : "");

	while (!e && (e = foreign_next(r->file, rows)) > 0)
		e = take_op(r, rows);
	return e;
}

static int take_idle_process(struct reading *r)
{
	struct trace_process *process;
	int e = trace_set_find(&r->set, r->store, r->only_pid, &process);

	if (e == 0)
		process->pid = r->only_pid;
	return e;
}

static int64_t find_only_pid(const struct reading *r)
{
	return foreign_number(r->db,
		r->is_lite
			? "SELECT CASE WHEN count(*) = 1 THEN min(CAST(value AS INTEGER)) END "
			  "FROM rocpd_metadata WHERE tag = 'pid'"
			: "SELECT CASE WHEN min(pid) = max(pid) THEN min(pid) END FROM rocpd_api",
		TRACE_NO_NUMBER);
}

static int read_all(struct import_store *store, struct trace_file *file,
	const struct import_options *options, bool is_lite)
{
	CLEANUP(reading_done)
	struct reading r = {.store = store, .file = file, .is_lite = is_lite};
	int e = foreign_open(file, &r.db);

	if (e == 0) {
		r.only_pid = find_only_pid(&r);
		r.is_ours = foreign_number(r.db,
				    "SELECT count(*) FROM rocpd_metadata WHERE tag = 'rtl_version'",
				    0) > 0;
		e = foreign_has_table(r.db, "rocpd_api") ? read_calls(&r) : 0;
	}
	if (e == 0)
		e = read_ops(&r);
	/* A process that dispatched nothing is listed as well. */
	if (e == 0 && !r.set.count && r.only_pid != TRACE_NO_NUMBER)
		e = take_idle_process(&r);
	for (size_t i = 0; i < r.set.count && e == 0; i++) {
		struct trace_process *p = r.set.at[i];

		p->front_end = is_lite ? "rocm-trace-lite" : "rpd";
		if (r.set.count == 1 && p->rank == TRACE_NO_NUMBER)
			p->rank = import_rank_of_name(file->name, options->rank_from);
		snprintf(p->node, sizeof(p->node), "import:%.16s", file->sha256);
	}
	return e ? import_store_fail(store, e) : trace_set_write(&r.set, store, file, options);
}

int rpd_read(
	struct import_store *store, struct trace_file *file, const struct import_options *options)
{
	return read_all(store, file, options, false);
}

int trace_lite_read(
	struct import_store *store, struct trace_file *file, const struct import_options *options)
{
	return read_all(store, file, options, true);
}
