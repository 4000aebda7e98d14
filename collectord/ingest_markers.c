// SPDX-License-Identifier: MIT
#include "collectord/ingest_markers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectord/database.h"
#include "collectord/text.h"
#include "proto/cleanup.h"
#include "proto/limits.h"

/* Either half of a range, or a mark. */
struct marker_row {
	uint32_t kind; /* enum rtl_marker_kind */
	uint32_t tid;
	uint64_t id;
	uint64_t parent;
	uint64_t time_ns;
	bool has_text;
	int64_t text_id;
};

static bool row_is_valid(const struct marker_row *row)
{
	return row->kind >= RTL_MARKER_BEGIN_PUSH && row->kind <= RTL_MARKER_MARK &&
	       row->id <= INT64_MAX && row->parent <= INT64_MAX && row->time_ns <= INT64_MAX;
}

static int put_end(
	struct writer *writer, const struct process *process, const struct marker_row *row)
{
	sqlite3_stmt *end = writer->statements.at[ST_MARKER_END];

	/* Changes nothing when the shim had to drop the beginning, which it has counted. */
	sqlite3_bind_int64(end, 1, process->id);
	sqlite3_bind_int64(end, 2, (int64_t)row->id);
	sqlite3_bind_int64(end, 3, (int64_t)row->time_ns);
	return database_run(end);
}

static int put_row(struct writer *writer, struct process *process, const struct marker_row *row)
{
	static const char *const kind[] = {
		[RTL_MARKER_BEGIN_PUSH] = "push",
		[RTL_MARKER_BEGIN_START] = "start",
		[RTL_MARKER_MARK] = "mark",
	};
	sqlite3_stmt *begin = writer->statements.at[ST_MARKER_BEGIN];

	process->is_dirty = true;
	if (row->kind == RTL_MARKER_END)
		return put_end(writer, process, row);
	sqlite3_bind_int64(begin, 1, process->id);
	sqlite3_bind_int64(begin, 2, (int64_t)row->id);
	database_bind_optional(begin, 3, row->parent, (int64_t)row->parent);
	database_bind_optional(begin, 4, row->tid, row->tid);
	sqlite3_bind_text(begin, 5, kind[row->kind], -1, SQLITE_STATIC);
	database_bind_optional(begin, 6, row->has_text, row->text_id);
	sqlite3_bind_int64(begin, 7, (int64_t)row->time_ns);
	database_bind_optional(begin, 8, row->kind == RTL_MARKER_MARK, (int64_t)row->time_ns);
	return database_run(begin);
}

/* ---- from a frame ------------------------------------------------------------------------ */

static struct marker_row row_of(const Rtl__Markers *m, uint32_t i)
{
	return (struct marker_row){
		.kind = m->kind[i],
		.tid = m->tid[i],
		.id = m->id[i],
		.parent = m->parent[i],
		.time_ns = m->time_ns[i],
	};
}

static int take_row(
	struct writer *writer, struct process *process, const Rtl__Markers *m, uint32_t i)
{
	struct marker_row row = row_of(m, i);
	int r = 0;

	if (row.kind != RTL_MARKER_END)
		r = defines_text_row(&process->defines, &writer->intern, m->text[i], &row.text_id);
	if (r < 0 && r != -ENOENT)
		return r;
	row.has_text = r == 0;
	return put_row(writer, process, &row);
}

int ingest_markers(struct writer *writer, struct process *process, const Rtl__Markers *m,
	char why[INGEST_WHY_BYTES])
{
	int r = 0;

	for (uint32_t i = 0; i < m->n; i++) {
		struct marker_row row = row_of(m, i);

		if (row_is_valid(&row))
			continue;
		snprintf(why, INGEST_WHY_BYTES, "a marker is of no known kind, or out of range");
		return -EBADMSG;
	}
	for (uint32_t i = 0; r == 0 && i < m->n; i++)
		r = take_row(writer, process, m, i);
	return r;
}

/* ---- from the ring -------------------------------------------------------------------------- */

int ingest_marker_event(
	struct writer *writer, struct process *process, const struct recorder_marker *marker)
{
	struct marker_row row = {
		.kind = marker->kind,
		.tid = marker->tid,
		.id = marker->id,
		.parent = marker->parent,
		.time_ns = marker->time_ns,
		.has_text = marker->kind != RTL_MARKER_END,
	};
	CLEANUP(free_p) char *text = NULL;
	int r = 0;

	if (marker->bytes > sizeof(marker->text) || !row_is_valid(&row))
		return -EBADMSG;
	if (row.has_text) {
		text = text_clean(marker->text, marker->bytes, SYMBOL_BYTES_MAX);
		r = text ? intern_put_text(&writer->intern, text, &row.text_id) : -ENOMEM;
	}
	return r < 0 ? r : put_row(writer, process, &row);
}
