// SPDX-License-Identifier: MIT
#include "tests/unit/cli/trace/scene.h"

#include <stdarg.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/names/schema.h"
#include "tests/lib/test.h"

void scene_sql(struct scene *scene, const char *format, ...)
{
	char *error = NULL, *sql;
	va_list args;

	va_start(args, format);
	sql = sqlite3_vmprintf(format, args);
	va_end(args);
	assert_non_null(sql);
	if (sqlite3_exec(scene->db, sql, NULL, NULL, &error))
		fail_msg("%.300s: %s", sql, error);
	sqlite3_free(sql);
}

static void apply(struct scene *scene, const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t room = 0;

	assert_non_null(file);
	assert_true(getdelim(&text, &room, '\0', file) > 0);
	scene_sql(scene, "%s", text);
	free(text);
	fclose(file);
}

void scene_begin_older(struct scene *scene, int version)
{
	glob_t files;

	*scene = (struct scene){.folder = "/tmp/rtl-scene-XXXXXX"};
	assert_non_null(mkdtemp(scene->folder));
	snprintf(scene->path, sizeof(scene->path), "%s/t.db", scene->folder);
	assert_int_equal(sqlite3_open(scene->path, &scene->db), SQLITE_OK);
	scene_sql(scene, "PRAGMA synchronous = OFF; BEGIN");
	assert_int_equal(glob(SCHEMA_FOLDER "/*.sql", 0, NULL, &files), 0);
	assert_true((int)files.gl_pathc >= version);
	for (int i = 0; i < version; i++)
		apply(scene, files.gl_pathv[i]);
	globfree(&files);
	scene_sql(scene, "PRAGMA application_id = %d; PRAGMA user_version = %d",
		SCHEMA_APPLICATION_ID, version);
	scene_sql(scene, "INSERT INTO rtl_session (id, name, uid, start_ns, start_realtime_ns, "
			 "end_ns) VALUES (1, 'scene', 0, 0, 0, 1)");
}

void scene_begin(struct scene *scene)
{
	scene_begin_older(scene, SCHEMA_VERSION);
}

struct query *scene_open(struct scene *scene)
{
	char error[QUERY_ERROR_BYTES];
	struct query *query = NULL;

	scene_sql(scene, "COMMIT");
	sqlite3_close(scene->db);
	scene->db = NULL;
	if (query_open(scene->path, error, &query))
		fail_msg("%s", error);
	return query;
}

const struct trace *scene_trace(struct scene *scene, struct query *query)
{
	char error[QUERY_ERROR_BYTES];

	if (!scene->trace && trace_open(query, NULL, error, &scene->trace))
		fail_msg("%s %s", error, query_error(query));
	return scene->trace;
}

void scene_end(struct scene *scene, struct query **query)
{
	trace_free_p(&scene->trace);
	if (query)
		query_free_p(query);
	sqlite3_close(scene->db);
	unlink(scene->path);
	rmdir(scene->folder);
}

/* NULL for SCENE_NONE. */
static const char *value(char text[32], int64_t number)
{
	if (number == SCENE_NONE)
		return "NULL";
	snprintf(text, 32, "%lld", (long long)number);
	return text;
}

void scene_process(struct scene *scene, int64_t id, int64_t rank)
{
	char text[32];

	scene_sql(scene,
		"INSERT INTO rtl_process (id, session_id, pid, start_ns, rank, boot_id, uid, "
		"drained, token, start_time, mode) VALUES (%lld, 1, %lld, 0, %s, 'b', 0, 1, '', 0, "
		"'standard')",
		(long long)id, 1000 + (long long)id, value(text, rank));
}

static int64_t put_text(struct scene *scene, const char *text)
{
	scene_sql(scene, "INSERT INTO rocpd_string (string) VALUES (%Q)", text);
	return sqlite3_last_insert_rowid(scene->db);
}

int64_t scene_kernel(struct scene *scene, const char *name)
{
	int64_t id = put_text(scene, name);

	scene_sql(scene, "INSERT INTO rtl_kernel_base VALUES (%lld, %Q || '.kd')", (long long)id,
		name);
	return id;
}

int64_t scene_shape(
	struct scene *scene, int64_t process, int64_t gpu, int64_t queue, int64_t kernel)
{
	scene_sql(scene,
		"INSERT OR IGNORE INTO rtl_queue (process_id, queueId, gpuId) VALUES (%lld, %lld, "
		"%lld); INSERT INTO rtl_shape (process_id, gpuId, queueId, kernel_id, workgroupX, "
		"workgroupY, workgroupZ, gridX, gridY, gridZ, lds, scratch) VALUES (%lld, %lld, "
		"%lld, %lld, 1, 1, 1, 1, 1, 1, 0, 0)",
		(long long)process, (long long)queue, (long long)gpu, (long long)process,
		(long long)gpu, (long long)queue, (long long)kernel);
	return sqlite3_last_insert_rowid(scene->db);
}

void scene_dispatch(struct scene *scene, int64_t shape, int64_t start, int64_t end, int64_t submit)
{
	char a[32], b[32], c[32];
	int64_t ago = start == SCENE_NONE || submit == SCENE_NONE ? submit : start - submit;

	scene_sql(scene,
		"INSERT INTO rtl_dispatch (shape_id, seq, start, duration, submit, untimed) SELECT "
		"h.id, q.dispatched, %s, %s, %s, %s FROM rtl_shape h JOIN rtl_queue q USING "
		"(process_id, queueId) WHERE h.id = %lld",
		value(a, start), value(b, start == SCENE_NONE ? SCENE_NONE : end - start),
		value(c, ago), start == SCENE_NONE ? "1" : "NULL", (long long)shape);
	scene_sql(scene,
		"UPDATE rtl_queue SET dispatched = dispatched + 1, stored = stored + 1, untimed = "
		"untimed + %d WHERE (process_id, queueId) = (SELECT process_id, queueId FROM "
		"rtl_shape WHERE id = %lld)",
		start == SCENE_NONE, (long long)shape);
}

static void put_marker(struct scene *scene, int64_t process, const char *kind, const char *text,
	int64_t start, int64_t end)
{
	char a[32], b[32];
	int64_t id = put_text(scene, text);

	scene_sql(scene,
		"INSERT INTO rtl_marker_base VALUES (%lld, %lld, NULL, 1, %Q, %lld, %s, %s)",
		(long long)process, (long long)id, kind, (long long)id, value(a, start),
		value(b, end));
}

void scene_range(struct scene *scene, int64_t process, const char *text, int64_t start, int64_t end)
{
	put_marker(scene, process, "push", text, start, end);
}

void scene_mark(struct scene *scene, int64_t process, const char *text, int64_t at)
{
	put_marker(scene, process, "mark", text, at, SCENE_NONE);
}

void scene_copy(struct scene *scene, int64_t process, int64_t from_gpu, int64_t to_gpu,
	int64_t start, int64_t end, int64_t submit)
{
	char a[32], b[32], c[32], d[32], e[32];

	scene_sql(scene,
		"INSERT INTO rtl_copy_base (process_id, number, tid, submit_ns, bytes, how, "
		"direction, source_gpuId, target_gpuId, start_ns, end_ns) VALUES (%lld, (SELECT "
		"count(*) FROM rtl_copy_base), 1, %s, 1, 'async', 'h2d', %s, %s, %s, %s)",
		(long long)process, value(e, submit), value(a, from_gpu), value(b, to_gpu),
		value(c, start), value(d, end));
}

int64_t scene_call(struct scene *scene, int64_t process, int64_t number, const char *api,
	int64_t start, int64_t end, int64_t parent)
{
	scene_sql(scene,
		"INSERT INTO rocpd_string (string) SELECT %Q WHERE NOT EXISTS (SELECT 1 FROM "
		"rocpd_string WHERE string = %Q); INSERT OR IGNORE INTO rtl_api SELECT id, '' FROM "
		"rocpd_string WHERE string = %Q; INSERT INTO rtl_call_base (id, process_id, "
		"parent, "
		"tid, api_id, start_ns, end_ns, result) SELECT %lld, %lld, nullif(%lld, 0), 1, id, "
		"%lld, %lld, 0 FROM rocpd_string WHERE string = %Q",
		api, api, api, (long long)(process << 40 | number), (long long)process,
		(long long)parent, (long long)start, (long long)end, api);
	return number;
}

void scene_collective(
	struct scene *scene, int64_t process, int64_t number, int64_t comm, int64_t seq)
{
	long long id = (long long)(process << 40 | number);

	scene_sql(scene,
		"INSERT INTO rtl_collective_base (id, comm, comm_rank, comm_size, seq, count, "
		"bytes, datatype, launch_id) VALUES (%lld, %lld, 0, 2, %lld, 1, 4, 'float32', "
		"%lld)",
		id, (long long)comm, (long long)seq, id);
}

void scene_link(struct scene *scene, int64_t call)
{
	scene_sql(scene,
		"UPDATE rtl_dispatch SET call = %lld WHERE rowid = (SELECT max(rowid) FROM "
		"rtl_dispatch)",
		(long long)call);
}
