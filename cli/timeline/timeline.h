/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Computes where the time of each rank goes on each GPU in each step. It reads the dispatches twice
 * in the order of the file (steps.h, then breakdown.h). Only if they are far out of order does it
 * read them again in an order that SQLite sorts, which takes no memory. The memory used is that of
 * the rows. docs/commands.md has the formulas. Everything runs on one thread.
 */
#include <stdio.h>

#include "cli/output/table.h"
#include "cli/trace/steps/step_kinds.h"
#include "cli/trace/steps/steps.h"
#include "cli/trace/breakdown.h"
#include "cli/trace/trace.h"
#include "cli/database/session/verdict.h"
#include "proto/settings/selection.h"

/* What the titles of the tables mean, for the help and for tooltips (cli/output/titles.h). */
#define TIMELINE_TITLES                                                                            \
	"COMP %: computation. COMM %: communication that no computation hides. COPY %: copies "    \
	"that "                                                                                    \
	"nothing hides. IDLE %: nothing runs; MICRO %: idle times below --micro-idle. HIDDEN %: "  \
	"of "                                                                                      \
	"communication, behind computation. IDLE FOR: the cause of most of the idle time, and "    \
	"its "                                                                                     \
	"share of it."

/* Limit of the steps of all ranks and GPUs: 112 MB. */
#define TIMELINE_ROWS_MAX     500000
/* Limit of the segments of all rows. */
#define TIMELINE_SEGMENTS_MAX 1000000

struct timeline_lane;

/*
 * Callbacks that get every segment of each lane in the order of time. A lane is known by its index
 * while reading, in the order of process and GPU. begin() is called again if the file has to be
 * read again. Both return 0 or -errno.
 */
struct timeline_taker {
	int (*begin)(void *taker, const struct timeline_lane *lanes, size_t count);
	int (*take)(void *taker, size_t lane, const struct breakdown_segment *segment);
	void *taker;
};

struct timeline_options {
	const char *steps; /* regex; NULL: as in steps_new() */
	int64_t micro_idle_ns;
	struct choice_list ranks, gpus; /* empty: all */
	bool has_step;
	int64_t step;
	bool wants_segments;
	/* one row from the first step to the last, with the time between them */
	bool joins_steps;
	bool by_kind;	       /* kinds of steps are computed */
	bool skips_unrecorded; /* with joins_steps: one row for each recorded part of that time */
	const struct timeline_taker *taker; /* gets all segments; NULL: none */
};

struct timeline_segment {
	size_t row; /* index of the step in the lane; the number of steps: outside */
	struct breakdown_segment segment;
};

/* One process on one GPU. */
struct timeline_lane {
	int64_t process_id, gpu_id, rank;
	bool has_rank;
	struct replica_rank replica;
	const struct steps_process *process;
	struct breakdown_row *rows; /* one per step */
	struct breakdown_row outside;
	struct breakdown_row total; /* sum of the requested steps */
	size_t shown;		    /* number of requested steps; `outside` is not counted */
	struct timeline_segment *segments;
	size_t segment_count;
};

struct timeline {
	struct verdict *verdict;
	struct steps *steps;
	struct step_kinds *kinds;    /* NULL: not requested */
	struct timeline_lane *lanes; /* sorted by rank (unknown ranks last), process, GPU */
	size_t lane_count;
	struct breakdown_row total;
	uint64_t outside_ns; /* sum of the times between steps over all lanes */
	bool is_live;
	bool has_ambiguous_ranks; /* a rank is unknown or belongs to two processes */
	uint64_t untimed, untimed_copies;
	/* Dispatches of its lanes' processes that the user chose not to record, other than by time:
	 * no share of the time is known. */
	uint64_t left_out;
	size_t segment_count;
	int64_t micro_idle_ns;
};

/* Writes "rank 3", "replica 2, rank 3" or "process 7". */
void timeline_name_lane(const struct timeline_lane *lane, char ret[REPLICA_NAME_BYTES]);

/* Returns 0, -EINVAL and the like with the reason in @error, or -errno as query_open() does with
 * the reason in query_error(). */
int timeline_new(const struct trace *trace, const struct timeline_options *options,
	char error[QUERY_ERROR_BYTES], struct timeline **ret);
void timeline_free_p(struct timeline **timeline);

/* Returns true if the options request this step. */
bool timeline_shows(const struct timeline_options *options, const struct step *step);
/* Returns true if the row outside of steps is shown: if it has any time or events, and the options
 * request no single step. */
bool timeline_shows_outside(
	const struct timeline_options *options, const struct timeline_lane *lane);

/* True if copies have no times and @row, one of its rows or a sum, has none that has: how long the
 * copies took is unknown then, rather than 0. */
static inline bool timeline_lacks_copies(const struct timeline *t, const struct breakdown_row *row)
{
	return t->untimed_copies && !row->copies;
}

struct timeline_show {
	enum render_format format;
	uint64_t rows; /* rows in the table; 0: all */
	size_t width;
};

/*
 * Write tables without a title in the format of @show: one row per lane, and @show->rows rows of
 * the longest steps, of which those of a lane that look the same share one.
 */
void timeline_put_ranks(
	const struct timeline *timeline, const struct timeline_show *show, FILE *to);
void timeline_put_longest(const struct timeline *timeline, const struct timeline_options *options,
	const struct timeline_show *show, FILE *to);

void timeline_show(const struct timeline *timeline, const struct timeline_options *options,
	const struct timeline_show *show, FILE *to);
/* Puts the main finding into one line. The caller frees it. */
char *timeline_reading(const struct timeline *timeline);
