// SPDX-License-Identifier: MIT
#include "collectord/ingest/markers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectord/db/database.h"
#include "collectord/ingest/step_metrics.h"
#include "collectord/db/rows/text.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"

/* Either half of a range, a mark, or a name. */
struct marker_row {
	uint32_t kind; /* enum rtl_marker_kind */
	uint32_t tid;
	uint64_t id;
	uint64_t parent;
	uint64_t time_ns;
	const char *text; /* valid UTF-8; NULL: it has none, or an undefined one */
	int64_t text_id;  /* set if there is a text */
};

static bool row_is_valid(const struct marker_row *row)
{
	/* The parent of a name is a handle that the program chose, so any value is valid. */
	bool is_name = row->kind >= RTL_MARKER_NAME_THREAD;

	return row->kind >= RTL_MARKER_BEGIN_PUSH && row->kind < RTL_MARKER_KINDS &&
	       row->id <= INT64_MAX && (is_name || row->parent <= INT64_MAX) &&
	       row->time_ns <= INT64_MAX;
}

static int put_end(
	struct writer *writer, const struct process *process, const struct marker_row *row)
{
	sqlite3_stmt *end = writer->statements.at[ST_MARKER_END];

	/* If the shim had to drop the beginning, which it has counted, no row changes. */
	sqlite3_bind_int64(end, 1, process->id);
	sqlite3_bind_int64(end, 2, (int64_t)row->id);
	sqlite3_bind_int64(end, 3, (int64_t)row->time_ns);
	return database_run(end);
}

static int put_begin(
	struct writer *writer, const struct process *process, const struct marker_row *row)
{
	static const char *const kind[] = {
		[RTL_MARKER_BEGIN_PUSH] = "push",
		[RTL_MARKER_BEGIN_START] = "start",
		[RTL_MARKER_MARK] = "mark",
	};
	sqlite3_stmt *begin = writer->statements.at[ST_MARKER_BEGIN];

	sqlite3_bind_int64(begin, 1, process->id);
	sqlite3_bind_int64(begin, 2, (int64_t)row->id);
	database_bind_optional(begin, 3, row->parent, (int64_t)row->parent);
	database_bind_optional(begin, 4, row->tid, row->tid);
	sqlite3_bind_text(begin, 5, kind[row->kind], -1, SQLITE_STATIC);
	database_bind_optional(begin, 6, row->text, row->text_id);
	sqlite3_bind_int64(begin, 7, (int64_t)row->time_ns);
	database_bind_optional(begin, 8, row->kind == RTL_MARKER_MARK, (int64_t)row->time_ns);
	return database_run(begin);
}

static int put_metric(struct writer *writer, const struct process *process,
	const struct marker_row *row, const struct metric *metric)
{
	sqlite3_stmt *put = writer->statements.at[ST_METRIC_PUT];
	int64_t name_id;
	int r = intern_put_text(&writer->intern, metric->name, &name_id);

	if (r < 0)
		return r;
	sqlite3_bind_int64(put, 1, process->id);
	sqlite3_bind_int64(put, 2, (int64_t)row->id);
	database_bind_optional(put, 3, row->parent, (int64_t)row->parent);
	database_bind_optional(put, 4, row->tid, row->tid);
	sqlite3_bind_int64(put, 5, (int64_t)row->time_ns);
	sqlite3_bind_int64(put, 6, name_id);
	sqlite3_bind_double(put, 7, metric->value);
	return database_run(put);
}

static int put_mark(
	struct writer *writer, const struct process *process, const struct marker_row *row)
{
	const char *text = row->text ? row->text : "";
	struct metric metric;
	int r = put_begin(writer, process, row);

	for (unsigned i = 0; r == 0 && i < METRIC_PAIRS_MAX && metric_next(&text, &metric); i++)
		r = put_metric(writer, process, row, &metric);
	return r;
}

static int put_name(
	struct writer *writer, const struct process *process, const struct marker_row *row)
{
	static const char *const kind[] = {
		[RTL_MARKER_NAME_THREAD] = "thread",
		[RTL_MARKER_NAME_AGENT] = "agent",
		[RTL_MARKER_NAME_DEVICE] = "device",
		[RTL_MARKER_NAME_STREAM] = "stream",
	};
	sqlite3_stmt *put = writer->statements.at[ST_NAME_PUT];

	if (!row->text)
		return 0;
	sqlite3_bind_int64(put, 1, process->id);
	sqlite3_bind_text(put, 2, kind[row->kind], -1, SQLITE_STATIC);
	sqlite3_bind_int64(put, 3, (int64_t)row->parent);
	sqlite3_bind_int64(put, 4, row->text_id);
	database_bind_optional(put, 5, row->tid, row->tid);
	sqlite3_bind_int64(put, 6, (int64_t)row->time_ns);
	return database_run(put);
}

static int put_row(struct writer *writer, struct process *process, const struct marker_row *row)
{
	process->is_dirty = true;
	switch (row->kind) {
	case RTL_MARKER_END:
		return put_end(writer, process, row);
	case RTL_MARKER_MARK:
		return put_mark(writer, process, row);
	case RTL_MARKER_BEGIN_PUSH:
	case RTL_MARKER_BEGIN_START:
		return put_begin(writer, process, row);
	default:
		return put_name(writer, process, row);
	}
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

/* Converts a text that comes with its marker to valid UTF-8. The caller frees *@ret. */
static int take_text(
	struct writer *writer, const void *bytes, size_t count, struct marker_row *row, char **ret)
{
	*ret = text_clean(bytes, count, SYMBOL_BYTES_MAX);
	row->text = *ret;
	return *ret ? intern_put_text(&writer->intern, *ret, &row->text_id) : -ENOMEM;
}

/* *@next is the next index in inline_text. */
static int take_row(struct writer *writer, struct process *process, const Rtl__Markers *m,
	uint32_t i, size_t *next)
{
	CLEANUP(free_p) char *text = NULL;
	struct marker_row row = row_of(m, i);
	const ProtobufCBinaryData *inlined;
	int r;

	if (m->text[i] == RTL_MARKER_TEXT_INLINE) {
		inlined = &m->inline_text[(*next)++];
		r = take_text(writer, inlined->data, inlined->len, &row, &text);
	} else {
		row.text = defines_text(&process->defines, m->text[i]);
		r = row.text ? defines_text_row(
				       &process->defines, &writer->intern, m->text[i], &row.text_id)
			     : 0;
	}
	return r < 0 ? r : put_row(writer, process, &row);
}

int ingest_markers(struct writer *writer, struct process *process, const Rtl__Markers *m,
	char why[INGEST_WHY_BYTES])
{
	size_t next = 0;
	int r = 0;

	for (uint32_t i = 0; i < m->n; i++) {
		struct marker_row row = row_of(m, i);

		if (row_is_valid(&row))
			continue;
		snprintf(why, INGEST_WHY_BYTES, "a marker is of no known kind, or out of range");
		return -EBADMSG;
	}
	for (uint32_t i = 0; r == 0 && i < m->n; i++)
		r = take_row(writer, process, m, i, &next);
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
	};
	CLEANUP(free_p) char *text = NULL;
	int r = 0;

	if (marker->bytes > sizeof(marker->text) || !row_is_valid(&row))
		return -EBADMSG;
	if (row.kind != RTL_MARKER_END)
		r = take_text(writer, marker->text, marker->bytes, &row, &text);
	return r < 0 ? r : put_row(writer, process, &row);
}
