/* SPDX-License-Identifier: MIT */
#include "collectord/ingest/process/recording_intervals.h"

#include <errno.h>

#include "collectord/db/database.h"
#include "proto/names/control.h"
#include "proto/base/limits.h"

int recording_reload(struct writer *writer, struct process *process)
{
	sqlite3_stmt *count = writer->statements.at[ST_RECORDING_COUNT];
	int64_t recordings = 0;
	int r;

	sqlite3_bind_int64(count, 1, process->id);
	r = database_read(count, &recordings);
	process->recordings = (uint32_t)recordings;
	return r < 0 ? r : 0;
}

/* Returns 1 if it exists, 0 if not. */
static int has(struct writer *writer, const struct process *process, int64_t at_ns)
{
	sqlite3_stmt *find = writer->statements.at[ST_RECORDING_HAS];
	int64_t found;

	sqlite3_bind_int64(find, 1, process->id);
	sqlite3_bind_int64(find, 2, at_ns);
	return database_read(find, &found);
}

static int begin(struct writer *writer, struct process *process, int64_t at_ns, const char *why)
{
	sqlite3_stmt *put = writer->statements.at[ST_RECORDING_BEGIN];
	int r;

	/* The intervals are sent again with every connection: a known one needs no further row. */
	r = process->recordings < RECORDINGS_MAX ? 0 : has(writer, process, at_ns);
	if (r)
		return r < 0 ? r : 0;
	if (process->recordings == RECORDINGS_MAX)
		return -EBADMSG;
	sqlite3_bind_int64(put, 1, process->id);
	sqlite3_bind_int64(put, 2, at_ns);
	sqlite3_bind_text(put, 3, why, -1, SQLITE_STATIC);
	r = database_run(put);
	if (r == 0)
		process->recordings += (uint32_t)sqlite3_changes(writer->db);
	return r;
}

static int end(struct writer *writer, struct process *process, int64_t at_ns, const char *why)
{
	sqlite3_stmt *put = writer->statements.at[ST_RECORDING_END];

	sqlite3_bind_int64(put, 1, process->id);
	sqlite3_bind_int64(put, 2, at_ns);
	sqlite3_bind_text(put, 3, why, -1, SQLITE_STATIC);
	return database_run(put);
}

int recording_take(struct writer *writer, struct process *process, const Rtl__Defines *defines)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < defines->n_recordings; i++) {
		const Rtl__RecordingDef *change = defines->recordings[i];
		const char *why = control_why_name(change->has_why ? change->why : UINT32_MAX);

		if (!why || change->at_ns > INT64_MAX)
			return -EBADMSG;
		r = (change->is_recording ? begin : end)(
			writer, process, (int64_t)change->at_ns, why);
		process->is_dirty = true;
	}
	return r;
}
