/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Where the time of each rank goes on each GPU in each step. Two passes over the dispatches in
 * the order of the file (steps.h, then breakdown.h); a sort by SQLite, which needs no memory, only
 * where they are far out of order. Memory is that of the rows. docs/commands.md has the
 * formulas. One thread.
 */
#include <stdio.h>

#include "cli/output/table.h"
#include "cli/trace/step_kinds.h"
#include "cli/trace/steps.h"
#include "cli/trace/breakdown.h"
#include "cli/trace/replicas.h"
#include "cli/timeline/process_gpus.h"
#include "cli/database/verdict.h"

/* Steps of all ranks and GPUs: 112 MB. */
#define TIMELINE_ROWS_MAX     500000
/* With --segments, of all rows. */
#define TIMELINE_SEGMENTS_MAX 1000000

struct timeline_lane;

/*
 * Told what is under way when, on each lane, in the order of its time; lanes by their places while
 * reading, which is the order of process and GPU. begin() comes again where the file has to be read
 * again. 0 or -errno.
 */
struct timeline_taker {
	int (*begin)(void *taker, const struct timeline_lane *lanes, size_t count);
	int (*take)(void *taker, size_t lane, const struct breakdown_segment *segment);
	void *taker;
};

struct timeline_options {
	const char *steps;	/* regex; NULL: as steps_new() says */
	const char *categories; /* file; NULL: as categories_new() says */
	int64_t micro_idle_ns;
	bool has_rank, has_gpu, has_step;
	int64_t rank, gpu_id, step;
	bool wants_segments;
	bool joins_steps;      /* one row: from the first step to the last, with what is between */
	bool by_kind;	       /* kinds of steps are told */
	bool skips_unrecorded; /* with joins_steps: a row for each time that was recorded of that */
	const struct timeline_taker *taker; /* of all segments; NULL: none */
};

struct timeline_segment {
	size_t row; /* step of the lane; its count: outside */
	struct breakdown_segment segment;
};

/* One process on one GPU. */
struct timeline_lane {
	int64_t process_id, gpu_id, rank;
	bool has_rank;
	struct replica_rank replica;
	const struct steps_process *process;
	struct breakdown_row *rows; /* one a step */
	struct breakdown_row outside;
	struct breakdown_row total; /* of the steps that were asked for */
	size_t shown;		    /* rows of it, outside not counted */
	struct timeline_segment *segments;
	size_t segment_count;
};

struct timeline {
	struct verdict *verdict;
	struct steps *steps;
	struct step_kinds *kinds;    /* NULL: not asked for */
	struct timeline_lane *lanes; /* by rank (unknown last), process, GPU */
	size_t lane_count;
	struct timeline_places places; /* of all lanes, shown or not */
	struct breakdown_row total;
	uint64_t outside_ns; /* between the steps of all lanes */
	bool is_live;
	bool has_ambiguous_ranks; /* a rank is unknown, or of two processes */
	uint64_t untimed, untimed_copies;
	size_t segment_count;
	int64_t micro_idle_ns;
};

/* "rank 3", "replica 2, rank 3", "process 7". */
void timeline_name_lane(const struct timeline_lane *lane, char ret[REPLICA_NAME_BYTES]);

/* 0; -EINVAL and the like with @error; else as query_open(), and query_error() tells. */
int timeline_new(struct query *query, const struct timeline_options *options,
	char error[QUERY_ERROR_BYTES], struct timeline **ret);
void timeline_free_p(struct timeline **timeline);

/* Was this step of the lane asked for? */
bool timeline_shows(const struct timeline_options *options, const struct step *step);
/* What is outside of all steps is shown where it takes time, and no step was asked for. */
bool timeline_shows_outside(
	const struct timeline_options *options, const struct timeline_lane *lane);

struct timeline_show {
	enum render_format format;
	uint64_t rows; /* in the table; 0: all */
	size_t width;
};

/* Tables without a title, in the format of @show: a row a lane; the longest steps, so many as it
 * says. -ENOMEM. */
int timeline_put_ranks(const struct timeline *timeline, const struct timeline_show *show, FILE *to);
int timeline_put_longest(const struct timeline *timeline, const struct timeline_options *options,
	const struct timeline_show *show, FILE *to);

/* -ENOMEM. */
int timeline_show(const struct timeline *timeline, const struct timeline_options *options,
	const struct timeline_show *show, FILE *to);
/* What the figures say, in one line. malloc'ed; NULL: no memory. */
char *timeline_reading(const struct timeline *timeline);
