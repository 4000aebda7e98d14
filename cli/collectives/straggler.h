/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Finds which rank the others wait for, what that costs, since when, and why, from how long each
 * rank waits (waiting.h). In a job whose ranks wait for each other, the others wait for the rank
 * that waits least. If that rank alone became faster, the job would gain in each window the
 * difference between the shortest and the second shortest wait. docs/commands.md, "Stragglers", has
 * the formulas. Pure computation on one thread.
 */
#include "cli/collectives/waiting.h"

/* A straggler costs at least so many percent of the time. */
#define STRAGGLER_COST_PCT    5
/* So many percent of the time, at least, are more than may lie in the slack of all hosts. */
#define STRAGGLER_CERTAIN_PCT 2
/* Windows that are at least so many times as long as the median of their kind, and together cost so
 * many percent of the time, are events, which are reported apart from steady stragglers. */
#define STRAGGLER_EVENT_TIMES 5
#define STRAGGLER_EVENT_PCT   5
/* So are those that are so many times as long for one rank: the others wait for it in so many
 * percent, at least, of what is beyond the median. */
#define STRAGGLER_PAUSE_TIMES 2
#define STRAGGLER_PAUSE_PCT   75
/* A part of the difference is the cause if it makes up so many percent; otherwise there are several
 * causes. */
#define STRAGGLER_CAUSE_PCT   50

/* Of so many ranks at most it is looked at whether they are late one after the other. */
#define STRAGGLER_SERIAL_MAX 4

enum straggler_cause {
	STRAGGLER_COMPUTE,
	STRAGGLER_COPY,
	STRAGGLER_TRANSFER,
	STRAGGLER_HOST, /* idle: its queues were empty */
	STRAGGLER_HELD, /* idle: work was submitted and had not started */
	STRAGGLER_IDLE, /* idle: it is unknown whether work was submitted */
	STRAGGLER_SEVERAL,
	STRAGGLER_CAUSES = STRAGGLER_SEVERAL,
};

struct straggler_span {
	int64_t from_ns, to_ns;
};

struct straggler {
	const struct waiting_group *group; /* NULL: there is none */
	uint32_t *lanes;		   /* indexes in the group, ascending */
	size_t count;
	bool is_in_turn; /* the ranks are late by turns; else together, or there is one */
	int64_t gain_ns; /* what the job would gain if they were not late */
	double cost_pct; /* share of the time of the windows */
	bool is_at_most; /* all GPUs idle for their hosts as well, so the gain may be smaller */
	/* The others wait for a partner: a late pipeline stage shows less of its own bubble, and
	 * when it is faster another stage shows more of its own. */
	bool is_about;
	/* so much of the gain may be slack or the stage's own bubble that the job may gain nothing
	 */
	bool is_in_slack;
	uint32_t reference; /* index in the group of the rank that it is compared with */
	size_t windows;	    /* windows in which it costs time */
	/* Parts of the time in which it costs most, in order: windows of at least a quarter of what
	 * it costs in a window, weighted by that cost. */
	struct straggler_span *spans;
	size_t span_count;
	int64_t kind_gain_ns[STEP_KINDS_MAX], kind_wall_ns[STEP_KINDS_MAX]; /* by kind of step */
	enum straggler_cause cause, *causes; /* causes: of each lane by itself */
	int64_t part_ns[STRAGGLER_CAUSES];   /* sums over these windows, beyond the reference */
	/* how much longer the reference waits: the sum of the parts */
	int64_t waiting_ns;
	int64_t compute_ns, reference_compute_ns;
	/* If transfers are the cause: its communicator that takes longest compared with others of
	 * the same size; COLLECTIVES_NONE: there is none to compare. */
	uint32_t comm;
	double comm_ratio;
};

/* Windows that are much longer than the rest. */
struct straggler_event {
	const struct waiting_group *group; /* NULL: there are none */
	size_t count, first;		   /* number of windows; index of the first one */
	size_t longest;
	int64_t longest_ns, median_ns; /* median_ns: of its kind */
	double cost_pct;	       /* share of the whole time, beyond the median */
	/* index of the rank that the others wait for, or of the only one; COLLECTIVES_NONE: all are
	 * alike */
	uint32_t lane;
	enum straggler_cause cause; /* cause of that rank, or of all */
};

/* The window from which on the lengths of windows have changed for good. */
struct straggler_change {
	const struct waiting_group *group; /* NULL: there is no change */
	size_t window;
	double ratio; /* ratio of the means after and before */
};

struct stragglers {
	struct straggler steady;
	struct straggler slack; /* the costliest one that may be slack */
	struct straggler_event event;
	struct straggler_change change; /* of steady.group, or of any group if there is none */
	struct waiting_cell sum;	/* sum over all lanes, without events */
	uint64_t window_ns;		/* the time that the sum covers */
};

/* Borrows @waiting. Returns 0 or -ENOMEM. */
int stragglers_find(const struct waiting *waiting, struct stragglers *ret);
void stragglers_done(struct stragglers *stragglers);
/*
 * Selects the windows of a group that the figures cover: not the first of three or more, nor
 * events, nor those in which nothing was recorded. The caller frees the array. Returns 0 or
 * -ENOMEM.
 */
int stragglers_windows(
	const struct waiting *waiting, const struct waiting_group *group, bool **ret);
/* Returns "compute", "copy", "transfer", "host", "held", "idle" or "several". */
const char *straggler_cause_name(enum straggler_cause cause);
