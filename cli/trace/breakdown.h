/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A sweep over the kernels and copies of one process on one GPU, sorted by start: how long each
 * kind of work was under way, alone and together with other kinds, in each of the given windows,
 * and why the GPU was idle between. Memory is bounded: of each kind only its end is kept. Formulas
 * and sources: docs/commands.md. Pure functions; one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of work; the middle three are communication. */
enum breakdown_stream {
	BREAKDOWN_COMPUTE,
	BREAKDOWN_ALLREDUCE,
	BREAKDOWN_REDUCESCATTER,
	BREAKDOWN_COMMUNICATION, /* other communication, or its kind is unknown */
	BREAKDOWN_COPY,
	BREAKDOWN_STREAMS,
};

enum breakdown_cause {
	/* Causes while the queues were empty: */
	BREAKDOWN_HOST_LATE,	   /* the host did not wait for the GPU */
	BREAKDOWN_QUEUE_EMPTY,	   /* host calls were not recorded */
	BREAKDOWN_SYNCHRONISATION, /* the host waited for the GPU */
	BREAKDOWN_PEER,		   /* the host was inside RCCL */
	/* Causes while something was in a queue: */
	BREAKDOWN_LAUNCH,     /* for at most BREAKDOWN_LAUNCH_NS */
	BREAKDOWN_DEPENDENCY, /* longer: a barrier, an unseen copy or a peer held it back */
	BREAKDOWN_UNKNOWN,    /* it is not known when the next event was submitted */
	BREAKDOWN_CAUSES,
};

/* Time that a GPU needs to start work that was submitted: 20 us is long for it. */
#define BREAKDOWN_LAUNCH_NS	20000
/* Text for BREAKDOWN_LAUNCH in a sentence: in a time line, and in the reason. */
#define BREAKDOWN_LAUNCH_TEXT	"kernels are submitted, and each takes up to 20 us to begin"
/* An idle time that one more launch would have ended. */
#define BREAKDOWN_SHORT_NS	100000
/* Default threshold between micro and macro idle time, as in TraceLens. */
#define BREAKDOWN_MICRO_IDLE_NS 10000

#define BREAKDOWN_NO_SUBMIT INT64_MIN

/*
 * Gaps whose queues seem to have been empty are kept up to this number, because an event that
 * starts later may have been in a queue meanwhile. Events that start after even more gaps are not
 * considered. 8 KiB.
 */
#define BREAKDOWN_GAPS_HELD 256

struct breakdown_event {
	int64_t start_ns, end_ns, submit_ns;
	enum breakdown_stream stream;
};

/* Times when the host waited for its GPUs or inside RCCL. Disjoint and sorted. */
struct breakdown_wait {
	int64_t start_ns, end_ns;
	bool is_peer;
};

/* From start to queued nothing was in the queues, from queued to end something was. */
struct breakdown_gap {
	int64_t start_ns, queued_ns, end_ns;
};

struct breakdown_row {
	int64_t start_ns, end_ns; /* of the window */
	uint64_t wall_ns;
	uint64_t stream_ns[BREAKDOWN_STREAMS]; /* while any work of the kind was under way */
	uint64_t communication_ns;	       /* any of the three kinds of communication */
	uint64_t exposed_communication_ns;     /* and no computation at the same time */
	uint64_t exposed_copy_ns;	       /* a copy without computation or communication */
	/* Computation, and at the same time one kind of communication: */
	uint64_t with_allreduce_ns, with_reducescatter_ns, with_communication_ns;
	uint64_t micro_idle_ns, macro_idle_ns;
	uint64_t cause_ns[BREAKDOWN_CAUSES];
	/*
	 * Idle times below BREAKDOWN_SHORT_NS in which the queues were empty and the host did not
	 * wait: the length of that part, and their number.
	 */
	uint64_t short_empty_ns, short_empty_gaps;
	uint64_t gaps; /* idle times that an event ended, in the row in which they began */
	/* Times without a change of what is under way, except idle times. */
	uint64_t active_segments;
	uint64_t kernels, copies, untimed;
};

struct breakdown_segment {
	int64_t start_ns, end_ns;
	unsigned streams; /* 1 << enum breakdown_stream */
};

struct breakdown {
	/* Set by the caller before breakdown_begin(). Windows are sorted and do not overlap. */
	struct breakdown_row *rows, *outside; /* outside: time between the windows */
	size_t count;
	const struct breakdown_wait *waits;
	size_t wait_count;
	bool has_calls; /* host calls were recorded, so time outside of waits is the host's own */
	int64_t micro_idle_ns;
	/* Called for each segment when it is complete; may be NULL. Returns 0 or -errno. */
	int (*take)(void *taker, const struct breakdown_row *row,
		const struct breakdown_segment *segment);
	void *taker;
	/* Private. */
	int64_t now_ns;
	int64_t reach_ns[BREAKDOWN_STREAMS];
	size_t row_at;
	/* Sorted; each has a part with empty queues. */
	struct breakdown_gap gaps[BREAKDOWN_GAPS_HELD];
	size_t gap_count;
	size_t cause_at; /* the row of the last cause; the next one is usually near */
	struct breakdown_row *segment_row;
	struct breakdown_segment segment;
	int error;
};

void breakdown_begin(struct breakdown *breakdown, int64_t start_ns);
/*
 * Adds an event, which must not start before the previous one. Returns 0 or what take() returned.
 */
int breakdown_add(struct breakdown *breakdown, const struct breakdown_event *event);
/* Ends the sweep: nothing more happens until @end_ns. */
int breakdown_finish(struct breakdown *breakdown, int64_t end_ns);

uint64_t breakdown_idle_ns(const struct breakdown_row *row);
/* Checks TraceLens's invariant: the parts add up to the whole, and the causes to the idle time. */
bool breakdown_holds(const struct breakdown_row *row);
/* Adds @from to @to, except for the window. */
void breakdown_sum(struct breakdown_row *to, const struct breakdown_row *from);
/* Returns the greatest cause of idle time; BREAKDOWN_CAUSES if there is none. */
enum breakdown_cause breakdown_main_cause(const struct breakdown_row *row);

const char *breakdown_stream_name(enum breakdown_stream stream);
const char *breakdown_cause_name(enum breakdown_cause cause);
/* Text for display: "host late". */
const char *breakdown_cause_words(enum breakdown_cause cause);
