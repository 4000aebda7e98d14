/* SPDX-License-Identifier: MIT */
#include "collectord/recording.h"

#include <errno.h>

#include "collectord/database.h"
#include "proto/control.h"

static int begin(
	struct writer *writer, const struct process *process, int64_t at_ns, const char *why)
{
	sqlite3_stmt *put = writer->statements.at[ST_RECORDING_BEGIN];

	sqlite3_bind_int64(put, 1, process->id);
	sqlite3_bind_int64(put, 2, at_ns);
	sqlite3_bind_text(put, 3, why, -1, SQLITE_STATIC);
	return database_run(put);
}

static int end(struct writer *writer, const struct process *process, int64_t at_ns, const char *why)
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
