/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Computes how long each rank waits for others inside collectives and inside sends and receives, in
 * windows of time that are the same for all ranks that communicators connect (docs/commands.md,
 * "Waiting"). Only exposed waiting counts: there is none while the GPU computes or copies, and each
 * instant counts once. In each window compute + copies + waiting + waiting for a partner + transfer
 * + idle equals the window's length to the nanosecond. Times are ns of the first node's
 * CLOCK_BOOTTIME. Everything runs on one thread.
 */
#include "cli/collectives/collectives.h"
#include "cli/trace/steps/step_kinds.h"
#include "cli/trace/steps/steps.h"

/* Limit of the cells of all ranks and windows: 36 MB. */
#define WAITING_CELLS_MAX	 500000
/* Number of equal windows if neither steps nor operations of all ranks divide the time. */
#define WAITING_SLICES		 32
/*
 * The operations of a communicator divide the time if there are at least WAITING_OPERATIONS_LEAST:
 * into at most WAITING_PARTS windows if it is the lane's only communicator, which may run many
 * times per step, else into at most WAITING_PARTS_MAX.
 */
#define WAITING_OPERATIONS_LEAST 8
#define WAITING_PARTS		 32
#define WAITING_PARTS_MAX	 1024

/* What one lane does in one window. */
struct waiting_cell {
	int64_t class_ns[SWEEP_CLASSES]; /* SWEEP_COMM: exposed, including waiting */
	int64_t wait_ns;		 /* for ranks of a collective that have not begun it */
	int64_t pair_wait_ns;		 /* for the other side of a send or receive */
	/* for others while the GPU computes or copies, which is no part of the window */
	int64_t hidden_wait_ns;
	/* after its last work, a part of SWEEP_UNKNOWN: it waits for the end */
	int64_t ended_ns;
};

enum waiting_source {
	WAITING_BY_STEPS,	/* steps by markers, or by a period in the kernels */
	WAITING_BY_COLLECTIVES, /* the operations of a communicator */
	WAITING_BY_SLICES,
};

/* Lanes that communicators connect, directly or through others. */
struct waiting_group {
	uint32_t *lanes; /* indexes of collectives->lanes, ascending */
	size_t lane_count;
	bool is_alone; /* the GPUs of a process that has no other ranks (waiting_new_alone) */
	enum waiting_source source;
	int64_t *cuts;	  /* window i lasts from cuts[i] to cuts[i + 1] */
	int64_t *numbers; /* numbers of the steps; NULL if windows are not steps */
	size_t windows;
	/* What lies before the first window is as long as a step: ranks warmed up there. */
	bool is_warm;
	/* 1 or 2: until so many windows are over communicators have first operations, whose waiting
	 * does not count; 0: not in the first two */
	size_t met_windows;
	/* kinds of the steps, indexes in waiting->kinds; NULL: all are of one kind */
	uint8_t *kinds;
	struct waiting_cell *cells; /* all windows of the first lane, then of the next */
};

struct waiting {
	const struct collectives *collectives; /* borrowed */
	struct waiting_group *groups;
	size_t group_count;
	struct step_kinds *kinds; /* NULL: steps divide no group */
	/* COLLECTIVES_NONE: the lane takes part in nothing */
	uint32_t *group_of_lane, *place_of_lane;
	/* operations that a rank left before the last one came; no figure counts them */
	uint64_t impossible;
};

/*
 * @steps divide the time, inferred ones only if all ranks of a group have equally many; NULL: none.
 * @collectives come from the same trace, for all processes or for the leading ones. Returns 0 or
 * -errno; query_error() has the reason unless it is -ENOMEM.
 */
int waiting_new(const struct trace *trace, struct collectives *collectives,
	const struct steps *steps, struct waiting **ret);
/*
 * Likewise of a job whose collectives connect nothing: all GPUs of the only process that
 * @collectives are limited to are one group, in which none waits. There is no group if there are
 * several processes.
 */
int waiting_new_alone(const struct trace *trace, struct collectives *collectives,
	const struct steps *steps, struct waiting **ret);
void waiting_free_p(struct waiting **waiting);

static inline const struct waiting_cell *waiting_cell(
	const struct waiting_group *group, size_t lane, size_t window)
{
	return group->cells + lane * group->windows + window;
}

/* Returns the time that the lane waits for others, of both kinds, or for the end. */
static inline int64_t waiting_total_ns(const struct waiting_cell *cell)
{
	return cell->wait_ns + cell->pair_wait_ns + cell->ended_ns;
}

/* Returns the exposed communication in which all sides take part. */
static inline int64_t waiting_transfer_ns(const struct waiting_cell *cell)
{
	return cell->class_ns[SWEEP_COMM] - cell->wait_ns - cell->pair_wait_ns;
}

/* Which ranks of an operation the others wait for: all, the root only, or the root waits for all.
 */
enum waiting_direction { WAITING_FROM_ALL, WAITING_FROM_ROOT, WAITING_TO_ROOT };
enum waiting_direction waiting_direction_of(
	const struct collectives *c, const struct collectives_operation *operation);
/* Returns the launch of the root rank, or COLLECTIVES_NONE if it is unknown. */
uint32_t waiting_root_launch(
	const struct collectives *c, const struct collectives_operation *operation);

static inline bool waiting_does_nothing(const struct waiting_cell *cell)
{
	return !cell->class_ns[SWEEP_COMPUTE] && !cell->class_ns[SWEEP_COPY] &&
	       !cell->class_ns[SWEEP_COMM];
}

/* Returns true if nothing was recorded in the window, perhaps because the user asked for that. */
bool waiting_is_empty(const struct waiting_group *group, size_t window);
/* Adds @from to @to. */
void waiting_add(struct waiting_cell *to, const struct waiting_cell *from);

/* ---- meetings.c ---- */

/* With fewer meetings nothing is joined. */
#define MEETINGS_LEAST 3

/*
 * The windows of a group between two meetings of all its ranks. Where gradients are accumulated
 * over several steps, or models are averaged after some, a rank that is late in each step is waited
 * for in the last one alone, and its host may be several steps ahead of its GPU: the steps between
 * two meetings are one piece of work.
 */
struct meetings {
	/* The joined windows; the lanes are borrowed. Without windows there is nothing to join. */
	struct waiting_group group;
	bool *is_whole; /* of each: it ends with a meeting, and all of it was recorded */
	/* Index of the window after warm-up. It ends with the first meeting, whose waiting does not
	 * count. */
	size_t first;
	uint32_t *joined; /* of each window of the original group: the joined one that has it */
};

/* Joins windows that are steps; others end where ranks meet. Returns 0 or -ENOMEM. */
int meetings_join(
	const struct waiting *waiting, const struct waiting_group *group, struct meetings *ret);
void meetings_done(struct meetings *meetings);

/*
 * Computes of each of @count lanes of @group (indexes in it), in each of @windows' windows, the
 * share of its waits in collectives in which another of these lanes comes last: ret[lane * windows
 * + window]. @windows are those of the group, or joined ones. Returns 0 or -ENOMEM.
 */
int waiting_between(const struct waiting *waiting, const struct waiting_group *group,
	const struct waiting_group *windows, const uint32_t *lanes, size_t count, double *ret);
/*
 * Computes how long all other ranks wait for the last of @count lanes of @group, in each of
 * @windows' windows: in each operation from when the last other one comes until they come. Returns
 * 0 or -ENOMEM.
 */
int waiting_for(const struct waiting *waiting, const struct waiting_group *group,
	const struct waiting_group *windows, const uint32_t *lanes, size_t count, int64_t *ret);
