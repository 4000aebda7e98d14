/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * One GPU of one process in the order of time, from rows that come nearly in order. At every moment
 * the lane does one thing: it computes, otherwise it copies, otherwise it communicates, otherwise
 * it is idle, either because nothing was submitted or although something was (as in breakdown.h:
 * the operation that ends an idle time need not be the one that was in a queue meanwhile). So the
 * sums for any interval add up to its length. For a tagged operation, the caller is called when it
 * begins and when it ends, with the sums of that moment. Pure functions; one thread.
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
	SWEEP_UNKNOWN, /* idle: it is not known when the operation that ended it was submitted */
	SWEEP_CLASSES,
};

#define SWEEP_NO_TAG	UINT32_MAX
/* For an operation whose submission is not known. */
#define SWEEP_NO_SUBMIT INT64_MIN
/*
 * Number of operations of all lanes that are kept to be sorted. At least half of a lane's share are
 * ahead of the one that is taken; operations that start after all of these are not considered for
 * queues.
 */
#define SWEEP_HELD_MAX	((size_t)1 << 18)

struct sweep_op {
	int64_t start, stop, submit;
	uint32_t tag;
	enum sweep_class class; /* one of the first three */
	int64_t queued;		/* private: since when something is in the queues as it starts */
};

struct sweep_ops {
	struct sweep_op *at;
	size_t count, capacity;
};

struct sweep_lane {
	struct sweep_ops ahead; /* not sorted yet */
	struct sweep_ops open;	/* tagged and running, a heap; start is their end */
	int64_t now, until[SWEEP_COMM + 1];
	int64_t sums[SWEEP_CLASSES];
	bool has_now;
	bool is_inexact; /* an operation came for a time that had passed already */
};

struct sweep {
	size_t held_max; /* for a lane */
	void *context;
	void (*begin)(void *context, struct sweep_lane *lane, const struct sweep_op *op);
	void (*end)(void *context, struct sweep_lane *lane, uint32_t tag, int64_t at);
	/* Called for what a lane does from @from to @to, in the order of time; may be NULL. */
	void (*span)(void *context, struct sweep_lane *lane, enum sweep_class class, int64_t from,
		int64_t to);
};

void sweep_lane_done(struct sweep_lane *lane);
/* An operation that stops before it starts has no length. */
void sweep_add(const struct sweep *sweep, struct sweep_lane *lane, const struct sweep_op *op);
/* Ends the sweep. */
void sweep_finish(const struct sweep *sweep, struct sweep_lane *lane);
