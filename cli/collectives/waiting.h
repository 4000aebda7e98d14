/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * How long each rank waits for others inside of collectives and of sends and receives, in windows of
 * time that are the same for all ranks that communicators connect (docs/commands.md, "Waiting").
 * Waiting is exposed: while the GPU computes or copies it is none, and each instant counts once. In
 * each window compute + copies + waiting + waiting for a partner + transfer + idle = its length, to
 * the nanosecond. Times are ns of CLOCK_BOOTTIME, of the first node. One thread.
 */
#include "cli/collectives/collectives.h"
#include "cli/trace/step_kinds.h"
#include "cli/trace/steps.h"

/* Cells of all ranks and windows: 36 MB. */
#define WAITING_CELLS_MAX 500000
/* Where neither steps nor operations of all ranks part the time it is cut in so many parts. */
#define WAITING_SLICES	  32
/* Operations of a communicator part it from this number of them on, into so many parts at most where
 * it is the only communicator, and may have many a step; else into so many. */
#define WAITING_OPERATIONS_LEAST 8
#define WAITING_PARTS		 32
#define WAITING_PARTS_MAX	 1024

/* What one lane does in one window. */
struct waiting_cell {
	int64_t class_ns[SWEEP_CLASSES]; /* SWEEP_COMM: exposed, waiting included */
	int64_t wait_ns;		 /* for ranks of a collective that have not begun it */
	int64_t pair_wait_ns;		 /* for the other side of a send or receive */
};

enum waiting_source {
	WAITING_BY_STEPS,	/* steps that markers name, or a period in the kernels */
	WAITING_BY_COLLECTIVES, /* operations of a communicator */
	WAITING_BY_SLICES,
};

/* Lanes that communicators connect, directly or through others. */
struct waiting_group {
	uint32_t *lanes; /* indexes of collectives->lanes, ascending */
	size_t lane_count;
	enum waiting_source source;
	int64_t *cuts;	  /* window i lasts from cuts[i] to cuts[i + 1] */
	int64_t *numbers; /* of the steps, where there are any */
	size_t windows;
	uint8_t *kinds; /* of the steps, indexes of waiting->kinds; NULL: all are of one kind */
	struct waiting_cell *cells; /* lane by lane, of each all windows */
};

struct waiting {
	const struct collectives *collectives; /* borrowed */
	struct waiting_group *groups;
	size_t group_count;
	struct step_kinds *kinds;		 /* NULL: no group is parted by steps */
	uint32_t *group_of_lane, *place_of_lane; /* COLLECTIVES_NONE: it takes part in nothing */
	uint64_t impossible; /* operations that a rank left before the last one came: in no figure */
};

/*
 * @steps: they part the time; inferred ones where all ranks of a group have as many. NULL: none.
 * The collectives are of the same query, of all processes or of leading ones. 0 or -errno; then
 * query_error() tells, or it is -ENOMEM.
 */
int waiting_new(struct query *query, const struct categories *categories,
	struct collectives *collectives, const struct steps *steps, struct waiting **ret);
void waiting_free_p(struct waiting **waiting);

static inline const struct waiting_cell *waiting_cell(
	const struct waiting_group *group, size_t lane, size_t window)
{
	return group->cells + lane * group->windows + window;
}

/* For others, of both kinds. */
static inline int64_t waiting_total_ns(const struct waiting_cell *cell)
{
	return cell->wait_ns + cell->pair_wait_ns;
}

/* Exposed communication in which all sides take part. */
static inline int64_t waiting_transfer_ns(const struct waiting_cell *cell)
{
	return cell->class_ns[SWEEP_COMM] - cell->wait_ns - cell->pair_wait_ns;
}

/* @to += @from */
void waiting_add(struct waiting_cell *to, const struct waiting_cell *from);
