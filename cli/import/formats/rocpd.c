// SPDX-License-Identifier: MIT
/* Databases of rocprofiler-sdk (rocpd, 3.0 and later), of one process or of several by their
 * guids. */
#include <errno.h>
#include <inttypes.h>
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
	const char *gpu_column; /* the column that numbers GPUs */
};

static void reading_done(struct reading *r)
{
	trace_set_done(&r->set);
	foreign_close_p(&r->db);
}

static int take_times(struct reading *r, sqlite3_stmt *rows, const char *table, int column,
	int64_t *start_ns, int64_t *end_ns)
{
	int64_t id = foreign_integer_or(rows, 0, 0);

	if (!foreign_integer(rows, column, start_ns) ||
		!foreign_integer(rows, column + 1, end_ns) || *start_ns < 0)
		return foreign_refuse(r->file, table, id, "a time is no number, or out of range");
	return *end_ns < *start_ns ? foreign_refuse(r->file, table, id, "ends before it begins")
				   : 0;
}

/* Runs a question about one process, whose row in the table of processes is @pid. */
static int take_rows(struct reading *r, struct trace_process *process, sqlite3_stmt *rows,
	const char *guid, int64_t pid,
	int (*take)(struct reading *r, struct trace_process *process, sqlite3_stmt *rows))
{
	int e = 0;

	sqlite3_bind_text(rows, 1, guid, -1, SQLITE_STATIC);
	sqlite3_bind_int64(rows, 2, pid);
	while (!e && (e = foreign_next(r->file, rows)) > 0)
		e = take(r, process, rows);
	return e;
}

/* ---- regions: calls and ranges ---- */

enum {
	REGION_ID,
	REGION_TID,
	REGION_START,
	REGION_END,
	REGION_NAME,
	REGION_CATEGORY,
	REGION_STACK,
	REGION_MESSAGE
};

static int take_region(struct reading *r, struct trace_process *process, sqlite3_stmt *rows)
{
	const char *category = foreign_text(rows, REGION_CATEGORY);
	bool is_range = strstr(category, "MARKER") != NULL;
	const char *name = is_range && sqlite3_column_type(rows, REGION_MESSAGE) != SQLITE_NULL
				   ? foreign_text(rows, REGION_MESSAGE)
				   : foreign_text(rows, REGION_NAME);
	struct trace_host host = {.kind = is_range ? TRACE_RANGE : TRACE_CALL,
		.tid = foreign_integer_or(rows, REGION_TID, 0),
		.foreign = is_range ? TRACE_NO_NUMBER
				    : foreign_integer_or(rows, REGION_STACK, TRACE_NO_NUMBER),
		.is_graph_launch = !is_range && strstr(name, "GraphLaunch")};
	int64_t id = 0;
	int e;

	/* HSA calls come from the runtime itself, and are a thousand times as many. */
	if (strstr(category, "HSA")) {
		r->store->counts.skipped++;
		return 0;
	}
	e = take_times(r, rows, "rocpd_region", REGION_START, &host.start_ns, &host.end_ns);
	if (e == 0)
		e = import_store_text(r->store, name, strlen(name), &id);
	host.name = (uint32_t)id;
	return e ? e : trace_process_add_host(process, &host, NULL);
}

static int read_regions(
	struct reading *r, struct trace_process *process, const char *guid, int64_t pid)
{
	CLEANUP(foreign_end_p) sqlite3_stmt *rows = NULL;
	int e = foreign_ask(r->file, r->db, &rows,
		"SELECT g.id, t.tid, g.start, g.\"end\", n.string, c.string, e.stack_id, "
		"CASE WHEN json_valid(e.extdata) THEN e.extdata ->> 'message' END "
		"FROM rocpd_region g LEFT JOIN rocpd_event e ON e.guid = g.guid AND e.id = "
		"g.event_id "
		"LEFT JOIN rocpd_string n ON n.guid = g.guid AND n.id = g.name_id "
		"LEFT JOIN rocpd_string c ON c.guid = g.guid AND c.id = e.category_id "
		"LEFT JOIN rocpd_info_thread t ON t.guid = g.guid AND t.id = g.tid "
		"WHERE g.guid = ?1 AND g.pid = ?2");

	return e ? e : take_rows(r, process, rows, guid, pid, take_region);
}

/* ---- kernels ---- */

enum {
	KERNEL_ID,
	KERNEL_START,
	KERNEL_END,
	KERNEL_GPU,
	KERNEL_QUEUE,
	KERNEL_NAME,
	KERNEL_STACK,
	KERNEL_LDS,
	KERNEL_SCRATCH,
	KERNEL_WORKGROUP
};

static uint32_t small(sqlite3_stmt *rows, int column)
{
	int64_t value = foreign_integer_or(rows, column, 0);

	return value < 0 || value > UINT32_MAX ? 0 : (uint32_t)value;
}

static int take_kernel(struct reading *r, struct trace_process *process, sqlite3_stmt *rows)
{
	const char *name = foreign_text(rows, KERNEL_NAME);
	struct trace_geometry geometry = {.gpu = foreign_integer_or(rows, KERNEL_GPU, -1),
		.stream = foreign_integer_or(rows, KERNEL_QUEUE, 0),
		.lds = small(rows, KERNEL_LDS),
		.scratch = small(rows, KERNEL_SCRATCH)};
	struct trace_kernel kernel = {
		.foreign = foreign_integer_or(rows, KERNEL_STACK, TRACE_NO_NUMBER),
		.range = TRACE_NO_NUMBER,
		.collective = TRACE_NONE};
	int64_t end;
	int e = take_times(r, rows, "rocpd_kernel_dispatch", KERNEL_START, &kernel.start_ns, &end);

	if (e < 0)
		return e;
	kernel.duration_ns = end - kernel.start_ns;
	for (int i = 0; i < 3; i++) {
		geometry.workgroup[i] = small(rows, KERNEL_WORKGROUP + i);
		geometry.grid[i] = small(rows, KERNEL_WORKGROUP + 3 + i);
	}
	e = import_store_kernel(r->store, name, strlen(name), &geometry.kernel_id);
	if (e == 0)
		e = trace_process_shape(process, &geometry, &kernel);
	if (e == -ERANGE)
		return foreign_refuse(r->file, "rocpd_kernel_dispatch",
			foreign_integer_or(rows, KERNEL_ID, 0), "its agent is not listed as a GPU");
	return e ? e : trace_process_add_kernel(process, &kernel);
}

static int read_kernels(
	struct reading *r, struct trace_process *process, const char *guid, int64_t pid)
{
	CLEANUP(foreign_end_p) sqlite3_stmt *rows = NULL;
	int e = foreign_ask(r->file, r->db, &rows,
		"SELECT k.id, k.start, k.\"end\", CASE WHEN a.type = 'GPU' THEN a.%s END, "
		"k.queue_id, "
		"coalesce(s.display_name, s.kernel_name), e.stack_id, k.group_segment_size, "
		"k.private_segment_size, k.workgroup_size_x, k.workgroup_size_y, "
		"k.workgroup_size_z, "
		"k.grid_size_x, k.grid_size_y, k.grid_size_z FROM rocpd_kernel_dispatch k "
		"LEFT JOIN rocpd_event e ON e.guid = k.guid AND e.id = k.event_id "
		"LEFT JOIN rocpd_info_agent a ON a.guid = k.guid AND a.id = k.agent_id "
		"LEFT JOIN rocpd_info_kernel_symbol s ON s.guid = k.guid AND s.id = k.kernel_id "
		"WHERE k.guid = ?1 AND k.pid = ?2",
		r->gpu_column);

	return e ? e : take_rows(r, process, rows, guid, pid, take_kernel);
}

/* ---- copies ---- */

static int take_copy(struct reading *r, struct trace_process *process, sqlite3_stmt *rows)
{
	struct trace_copy copy = {.source_gpu = foreign_integer_or(rows, 3, TRACE_NO_NUMBER),
		.target_gpu = foreign_integer_or(rows, 4, TRACE_NO_NUMBER),
		.bytes = foreign_integer_or(rows, 5, TRACE_NO_NUMBER),
		.foreign = foreign_integer_or(rows, 6, TRACE_NO_NUMBER)};
	bool from = copy.source_gpu != TRACE_NO_NUMBER, to = copy.target_gpu != TRACE_NO_NUMBER;
	int64_t end;
	int e = take_times(r, rows, "rocpd_memory_copy", 1, &copy.start_ns, &end);

	if (e < 0)
		return e;
	copy.duration_ns = end - copy.start_ns;
	if (copy.bytes < 0)
		copy.bytes = TRACE_NO_NUMBER;
	copy.direction = from && to ? copy.source_gpu == copy.target_gpu ? "d2d" : "p2p"
			 : from	    ? "d2h"
			 : to	    ? "h2d"
				    : "h2h";
	return trace_process_add_copy(process, &copy);
}

static int read_copies(
	struct reading *r, struct trace_process *process, const char *guid, int64_t pid)
{
	CLEANUP(foreign_end_p) sqlite3_stmt *rows = NULL;
	int e = foreign_ask(r->file, r->db, &rows,
		"SELECT c.id, c.start, c.\"end\", CASE WHEN f.type = 'GPU' THEN f.%s END, "
		"CASE WHEN t.type = 'GPU' THEN t.%s END, c.size, e.stack_id FROM rocpd_memory_copy "
		"c "
		"LEFT JOIN rocpd_event e ON e.guid = c.guid AND e.id = c.event_id "
		"LEFT JOIN rocpd_info_agent f ON f.guid = c.guid AND f.id = c.src_agent_id "
		"LEFT JOIN rocpd_info_agent t ON t.guid = c.guid AND t.id = c.dst_agent_id "
		"WHERE c.guid = ?1 AND c.pid = ?2",
		r->gpu_column, r->gpu_column);

	return e ? e : take_rows(r, process, rows, guid, pid, take_copy);
}

/* ---- processes ---- */

static int put_gpus(struct reading *r)
{
	CLEANUP(foreign_end_p) sqlite3_stmt *rows = NULL;
	sqlite3_stmt *put = r->store->statements[IMPORT_GPU_PUT];
	bool has_product = foreign_has_column(r->db, "rocpd_info_agent", "product_name");
	int e = foreign_ask(r->file, r->db, &rows,
		"SELECT %s, coalesce(%s, name), name FROM rocpd_info_agent WHERE type = 'GPU'",
		r->gpu_column, has_product ? "product_name" : "name");

	while (!e && (e = foreign_next(r->file, rows)) > 0) {
		e = 0;
		if (sqlite3_column_type(rows, 0) != SQLITE_INTEGER)
			continue;
		sqlite3_bind_int64(put, 1, sqlite3_column_int64(rows, 0));
		database_bind_text(put, 2, foreign_text(rows, 1));
		database_bind_text(put, 3, foreign_text(rows, 2));
		e = database_run(put);
	}
	return e;
}

static int64_t find_rank(struct reading *r, const char *guid, int64_t id)
{
	static const char *const places[] = {"environment ->> 'RANK'", "extdata ->> 'rank'"};
	int64_t rank = TRACE_NO_NUMBER;

	for (int i = 0; i < 2 && rank == TRACE_NO_NUMBER; i++) {
		char *sql = sqlite3_mprintf("SELECT %s FROM rocpd_info_process "
					    "WHERE guid = %Q AND id = %lld",
			places[i], guid, (long long)id);

		if (sql)
			rank = foreign_number(r->db, sql, TRACE_NO_NUMBER);
		sqlite3_free(sql);
	}
	return rank;
}

static int read_process(struct reading *r, sqlite3_stmt *rows)
{
	const char *guid = foreign_text(rows, 0), *host = foreign_text(rows, 3);
	int64_t id = foreign_integer_or(rows, 1, 0);
	struct trace_process *p;
	int e = trace_set_find(&r->set, r->store, (int64_t)r->set.count, &p);

	if (e == 0)
		e = read_regions(r, p, guid, id);
	if (e == 0)
		e = read_kernels(r, p, guid, id);
	if (e == 0)
		e = read_copies(r, p, guid, id);
	if (e < 0)
		return e;
	p->pid = foreign_integer_or(rows, 2, TRACE_NO_NUMBER);
	p->clock = IMPORT_BOOTTIME;
	p->front_end = "rocpd";
	p->rank = find_rank(r, guid, id);
	snprintf(p->host, sizeof(p->host), "%s", host);
	snprintf(p->node, sizeof(p->node), "import:%.50s", host);
	return 0;
}

static int read_processes(struct reading *r)
{
	CLEANUP(foreign_end_p) sqlite3_stmt *rows = NULL;
	int e = foreign_ask(r->file, r->db, &rows,
		"SELECT p.guid, p.id, p.pid, n.hostname FROM rocpd_info_process p "
		"LEFT JOIN rocpd_info_node n ON n.guid = p.guid AND n.id = p.nid ORDER BY p.guid, "
		"p.id");

	while (!e && (e = foreign_next(r->file, rows)) > 0)
		e = read_process(r, rows);
	return e;
}

int rocpd_read(
	struct import_store *store, struct trace_file *file, const struct import_options *options)
{
	CLEANUP(reading_done) struct reading r = {.store = store, .file = file};
	int e = foreign_open(file, &r.db);

	if (e == 0 && !foreign_has_column(r.db, "rocpd_kernel_dispatch", "start")) {
		snprintf(file->error, sizeof(file->error),
			"%.200s: is of a version of rocpd whose kernels have no start; rtl import "
			"reads those of 3.0 to 3.0.5",
			file->name);
		return -EBADMSG;
	}
	r.gpu_column = foreign_has_column(r.db, "rocpd_info_agent", "type_index") ? "type_index"
										  : "logical_index";
	if (e == 0)
		e = put_gpus(&r);
	if (e == 0)
		e = read_processes(&r);
	if (e == 0 && r.set.count == 1 && r.set.at[0]->rank == TRACE_NO_NUMBER)
		r.set.at[0]->rank = import_rank_of_name(file->name, options->rank_from);
	if (e == 0)
		return trace_set_write(&r.set, store, file, options);
	return file->error[0] ? e : import_store_fail(store, e);
}
