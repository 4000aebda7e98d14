/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Which rank the others wait for, what that costs, since when, and why, from how long each rank waits
 * (waiting.h). In a job whose ranks wait for each other the one that waits least is waited for: in a
 * window the job would gain, if that rank alone were mended, what the rank that waits second least
 * waits longer. The formulas are in docs/commands.md, "Stragglers". Pure; one thread.
 */
#include "cli/collectives/waiting.h"

/* A straggler costs so many percent of the time. */
#define STRAGGLER_COST_PCT    5
/* Windows that are so many times as long as the median of their kind, and cost so many percent of
 * the time in sum, are events: they are told apart from what is steady. */
#define STRAGGLER_EVENT_TIMES 5
#define STRAGGLER_EVENT_PCT   5
/* One part of the difference is the cause with so many percent of it; else there are several. */
#define STRAGGLER_CAUSE_PCT   50

enum straggler_cause {
	STRAGGLER_COMPUTE,
	STRAGGLER_COPY,
	STRAGGLER_TRANSFER,
	STRAGGLER_HOST, /* idle: its queues were empty */
	STRAGGLER_HELD, /* idle: work was submitted and had not started */
	STRAGGLER_IDLE, /* idle: nothing says which of the two */
	STRAGGLER_SEVERAL,
	STRAGGLER_CAUSES = STRAGGLER_SEVERAL,
};

struct straggler {
	const struct waiting_group *group; /* NULL: there is none */
	uint32_t *lanes;		   /* places in the group, ascending */
	size_t count;
	bool is_in_turn;    /* one now, another then; else together, or it is one */
	int64_t gain_ns;    /* what the job would gain without */
	double cost_pct;    /* of the time of the windows looked at */
	bool is_at_most;    /* all GPUs idle for their hosts as well: the gain may be less */
	bool is_about; /* the others wait for a partner: of a stage its own bubble shows less while
			* it is late, and where it is mended another one's shows more */
	bool is_in_slack;   /* ... for as long: there may be none */
	uint32_t reference; /* the rank it is compared with: place in the group */
	size_t windows;	    /* in which it costs something */
	int64_t from_ns, to_ns; /* from the first of them to the end of the last */
	int64_t kind_gain_ns[STEP_KINDS_MAX], kind_wall_ns[STEP_KINDS_MAX]; /* by kind of step */
	enum straggler_cause cause;
	int64_t part_ns[STRAGGLER_CAUSES]; /* more than the reference, in these windows, in sum */
	int64_t waiting_ns;		   /* the reference waits longer: the sum of the parts */
	int64_t compute_ns, reference_compute_ns;
	/* Where transfers are the cause: the communicator of theirs that takes longest beside others
	 * for the same; COLLECTIVES_NONE: there is none to compare. */
	uint32_t comm;
	double comm_ratio;
};

/* Windows that are much longer than the others. */
struct straggler_event {
	const struct waiting_group *group; /* NULL: there are none */
	size_t count, first;		   /* windows; the first of them */
	size_t longest;
	int64_t longest_ns, median_ns; /* of its kind */
	double cost_pct;	    /* of the whole time, beyond the median */
	uint32_t lane;		    /* place of the rank that is waited for; COLLECTIVES_NONE: all alike */
	enum straggler_cause cause; /* its, or of all */
};

/* Where the lengths of windows change for good. */
struct straggler_change {
	const struct waiting_group *group; /* NULL: they do not */
	size_t window;
	double ratio; /* of the means after and before */
};

struct stragglers {
	struct straggler steady;
	struct straggler slack; /* the greatest one that may lie in the slack */
	struct straggler_event event;
	struct straggler_change change; /* of steady.group, or of any where there is none */
	struct waiting_cell sum;	/* of all lanes, without events */
	uint64_t window_ns;		/* the time that the sum is of */
};

/* -ENOMEM. Borrows @waiting. */
int stragglers_find(const struct waiting *waiting, struct stragglers *ret);
void stragglers_done(struct stragglers *stragglers);
/* Which windows of a group the figures are of, malloc'ed: not the first of three and more, nor
 * events, nor those in which nothing was recorded. -ENOMEM. */
int stragglers_windows(const struct waiting_group *group, bool **ret);
/* "compute", "copy", "transfer", "host", "held", "idle", "several" */
const char *straggler_cause_name(enum straggler_cause cause);
