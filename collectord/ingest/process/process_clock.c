/* SPDX-License-Identifier: MIT */
#include "collectord/ingest/process/process_clock.h"

#include "collectord/db/database.h"
#include "collectord/ingest/process/process.h"
#include "collectord/db/rows/writer.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"

/*
 * One anchor a second is kept in rtl_clock, and more of the first second, because jobs may be
 * short.
 */
#define CLOCK_EVERY_NS	     1000000000u
#define CLOCK_FIRST_EVERY_NS 10000000u

void process_clock_init(struct process_clock *clock, uint64_t hz)
{
	*clock = (struct process_clock){0};
	tick_line_init(&clock->line, hz);
}

void process_clock_set_rate(struct process_clock *clock, uint64_t hz)
{
	if (!clock->line.hz)
		tick_line_set_rate(&clock->line, hz);
}

static bool is_kept(const struct process_clock *clock, uint64_t boottime_ns)
{
	uint64_t every_ns = (boottime_ns - clock->line.anchor[0].boottime_ns) / 2;

	if (every_ns > CLOCK_EVERY_NS)
		every_ns = CLOCK_EVERY_NS;
	if (every_ns < CLOCK_FIRST_EVERY_NS)
		every_ns = CLOCK_FIRST_EVERY_NS;
	return !clock->saved_ns || boottime_ns >= clock->saved_ns + every_ns;
}

/* Uses our own clock, because the times of an anchor come from an untrusted process. */
static bool has_room(struct process_clock *clock, const struct quota *quota)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (!clock->rows)
		clock->rows_since_ns = now_ns;
	return quota_has_disk(quota) &&
	       clock->rows < CLOCK_ROWS_MAX + (now_ns - clock->rows_since_ns) /
							TICK_LINE_NS_PER_S * CLOCK_ROWS_PER_S;
}

/* Returns true if the anchor is new. */
static bool count_anchor(struct process_clock *clock, const struct tick_anchor *anchor)
{
	int added = tick_line_add(&clock->line, anchor);

	if (added == TICK_LINE_KNOWN)
		return false;
	clock->is_dirty = true;
	if (added < 0) {
		clock->refused++;
		return false;
	}
	clock->anchors++;
	clock->steps += added == TICK_LINE_STEPPED;
	clock->regressions += added == TICK_LINE_RESTARTED;
	if (anchor->error_ns > clock->error_max_ns)
		clock->error_max_ns = anchor->error_ns;
	/* Anchors on both sides of a step or restart are kept, so that it can be seen. */
	if (added != TICK_LINE_ADDED)
		clock->saved_ns = 0;
	return true;
}

int process_clock_take(struct process *process, struct writer *writer, unsigned gpu,
	const struct tick_anchor *anchor)
{
	sqlite3_stmt *put = writer->statements.at[ST_CLOCK_PUT];
	struct process_clock *clock = &process->clock[gpu];
	int r;

	/* The integers of SQLite are signed; no real clock comes near the limit. */
	if (anchor->tick > INT64_MAX || anchor->boottime_ns > INT64_MAX ||
		anchor->realtime_ns > INT64_MAX || anchor->error_ns > INT64_MAX)
		return 0;
	if (!count_anchor(clock, anchor))
		return 0;
	process->is_dirty = true;
	if (!is_kept(clock, anchor->boottime_ns) || !has_room(clock, &writer->quota))
		return 0;
	sqlite3_bind_int64(put, 1, process->id);
	sqlite3_bind_int64(put, 2, process->gpu_id[gpu]);
	sqlite3_bind_int64(put, 3, (int64_t)anchor->tick);
	sqlite3_bind_int64(put, 4, (int64_t)(clock->line.hz & INT64_MAX));
	sqlite3_bind_int64(put, 5, (int64_t)anchor->boottime_ns);
	sqlite3_bind_int64(put, 6, (int64_t)anchor->realtime_ns);
	database_bind_optional(put, 7, anchor->error_ns != 0, (int64_t)anchor->error_ns);
	r = database_run(put);
	if (r < 0)
		return r;
	clock->saved_ns = anchor->boottime_ns;
	clock->rows++;
	return 0;
}

void process_clock_check(
	struct process_clock *clock, uint64_t tick, uint64_t submit_ns, uint64_t start_ns)
{
	uint64_t early_ns = submit_ns - start_ns;

	if (start_ns >= submit_ns || early_ns <= tick_line_error(&clock->line, tick))
		return;
	clock->early++;
	if (early_ns > clock->early_max_ns)
		clock->early_max_ns = early_ns;
	clock->is_dirty = true;
}

/* ---- reading back ---------------------------------------------------------------------- */

static struct process_clock *clock_of(struct process *process, int64_t gpu_id)
{
	for (unsigned i = 0; i < process->gpus; i++)
		if (process->gpu_id[i] == gpu_id)
			return &process->clock[i];
	return NULL;
}

static int load_anchors(struct process *process, sqlite3_stmt *all)
{
	int step;

	sqlite3_bind_int64(all, 1, process->id);
	while ((step = sqlite3_step(all)) == SQLITE_ROW) {
		struct process_clock *clock = clock_of(process, sqlite3_column_int64(all, 0));
		struct tick_anchor anchor = {
			.tick = (uint64_t)sqlite3_column_int64(all, 1),
			.boottime_ns = (uint64_t)sqlite3_column_int64(all, 2),
			.realtime_ns = (uint64_t)sqlite3_column_int64(all, 3),
			.error_ns = (uint64_t)sqlite3_column_int64(all, 4),
		};

		if (!clock)
			continue;
		(void)tick_line_add(&clock->line, &anchor);
		clock->saved_ns = anchor.boottime_ns;
	}
	sqlite3_reset(all);
	return database_errno(step);
}

/* Without @whole, reads only what is counted together with rows. */
static int load_books(struct process *process, sqlite3_stmt *all, bool whole)
{
	int step;

	for (unsigned i = 0; i < process->gpus; i++)
		process->clock[i].early = process->clock[i].early_max_ns = 0;
	sqlite3_bind_int64(all, 1, process->id);
	while ((step = sqlite3_step(all)) == SQLITE_ROW) {
		struct process_clock *clock = clock_of(process, sqlite3_column_int64(all, 0));

		if (!clock)
			continue;
		clock->early = (uint64_t)sqlite3_column_int64(all, 1);
		clock->early_max_ns = (uint64_t)sqlite3_column_int64(all, 2);
		if (!whole)
			continue;
		clock->anchors = (uint64_t)sqlite3_column_int64(all, 3);
		clock->error_max_ns = (uint64_t)sqlite3_column_int64(all, 4);
		clock->steps = (uint64_t)sqlite3_column_int64(all, 5);
		clock->regressions = (uint64_t)sqlite3_column_int64(all, 6);
		clock->refused = (uint64_t)sqlite3_column_int64(all, 7);
		process_clock_set_rate(clock, (uint64_t)sqlite3_column_int64(all, 8));
	}
	sqlite3_reset(all);
	return database_errno(step);
}

int process_clock_load(struct process *process, struct writer *writer)
{
	int r = load_books(process, writer->statements.at[ST_CLOCK_CHECK_ALL], true);

	return r < 0 ? r : load_anchors(process, writer->statements.at[ST_CLOCK_ALL]);
}

int process_clock_reload(struct process *process, struct writer *writer)
{
	for (unsigned i = 0; i < process->gpus; i++) {
		process->clock[i].saved_ns = 0;
		process->clock[i].is_dirty = true;
	}
	return load_books(process, writer->statements.at[ST_CLOCK_CHECK_ALL], false);
}

/* ---- saving ---------------------------------------------------------------------------- */

static int save_one(const struct process *process, unsigned gpu, sqlite3_stmt *put)
{
	const struct process_clock *clock = &process->clock[gpu];

	sqlite3_bind_int64(put, 1, process->id);
	sqlite3_bind_int64(put, 2, process->gpu_id[gpu]);
	database_bind_optional(put, 3, clock->line.hz != 0, (int64_t)(clock->line.hz & INT64_MAX));
	sqlite3_bind_int64(put, 4, (int64_t)clock->anchors);
	database_bind_optional(put, 5, clock->error_max_ns != 0, (int64_t)clock->error_max_ns);
	sqlite3_bind_int64(put, 6, (int64_t)clock->steps);
	sqlite3_bind_int64(put, 7, (int64_t)clock->regressions);
	sqlite3_bind_int64(put, 8, (int64_t)clock->refused);
	sqlite3_bind_int64(put, 9, (int64_t)clock->early);
	sqlite3_bind_int64(put, 10, (int64_t)(clock->early_max_ns & INT64_MAX));
	return database_run(put);
}

int process_clock_save(struct process *process, struct writer *writer)
{
	sqlite3_stmt *put = writer->statements.at[ST_CLOCK_CHECK_PUT];
	uint64_t early = 0, back = 0;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < process->gpus; i++) {
		struct process_clock *clock = &process->clock[i];

		early += clock->early;
		back += clock->regressions + clock->refused;
		if (!clock->is_dirty)
			continue;
		r = save_one(process, i, put);
		if (r == 0)
			clock->is_dirty = false;
	}
	process->ledger.process[RTL_P_time_violations] = early;
	process->ledger.process[RTL_P_clock_regressions] = back;
	return r;
}
