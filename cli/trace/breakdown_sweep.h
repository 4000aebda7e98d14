/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * One GPU of one process in the order of time, out of rows that come nearly in order. At every
 * instant the lane does one thing: it computes, else it copies, else it communicates, else it is
 * idle, because nothing was submitted that had not started yet or in spite of that (as breakdown.h
 * tells them apart: what ends an idle time need not be what lay in a queue meanwhile). So the sums
 * of any stretch of time add up to its length. Who adds a tagged operation is told when it begins
 * and ends, when the sums are those of that instant. Pure; one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sweep_class {
	SWEEP_COMPUTE,
	SWEEP_COPY,
	SWEEP_COMM,
	SWEEP_HOST,    /* idle: the queues were empty */
	SWEEP_WAIT,    /* idle: something was submitted and had not started */
	SWEEP_UNKNOWN, /* idle: nothing says when what ended that was submitted */
	SWEEP_CLASSES,
};

#define SWEEP_NO_TAG	UINT32_MAX
/* For what nobody knows the submission of. */
#define SWEEP_NO_SUBMIT INT64_MIN
/*
 * Operations of all lanes that are held to be put in order. At least half of a lane's share are
 * ahead of the one that is taken: one that starts later than all of these was not seen in a queue.
 */
#define SWEEP_HELD_MAX	((size_t)1 << 18)

struct sweep_op {
	int64_t start, stop, submit;
	uint32_t tag;
	enum sweep_class class; /* the first three */
	int64_t queued;		/* its own: since when something is in the queues as it starts */
};

struct sweep_ops {
	struct sweep_op *at;
	size_t count, capacity;
};

struct sweep_lane {
	struct sweep_ops ahead; /* not yet in order */
	struct sweep_ops open;	/* tagged and running, a heap; start is where they end */
	int64_t now, until[SWEEP_COMM + 1];
	int64_t sums[SWEEP_CLASSES];
	bool has_now;
	bool is_inexact; /* an operation came for a time already passed */
};

struct sweep {
	size_t held_max; /* of a lane */
	void *context;
	void (*begin)(void *context, struct sweep_lane *lane, const struct sweep_op *op);
	void (*end)(void *context, struct sweep_lane *lane, uint32_t tag, int64_t at);
	/* What a lane does from @from to @to, in the order of its time; NULL: not asked for. */
	void (*span)(void *context, struct sweep_lane *lane, enum sweep_class class, int64_t from,
		int64_t to);
};

void sweep_lane_done(struct sweep_lane *lane);
/* -ENOMEM. What stops before it starts has no length. */
int sweep_add(const struct sweep *sweep, struct sweep_lane *lane, const struct sweep_op *op);
/* No more comes. -ENOMEM. */
int sweep_finish(const struct sweep *sweep, struct sweep_lane *lane);
