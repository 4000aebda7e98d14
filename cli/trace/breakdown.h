/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A sweep over the kernels and copies of one process on one GPU, in the order of their starts:
 * how long each kind of work was under way, alone and at the same time as others, in each of
 * the given windows, and why nothing was between. Memory is bounded: of a kind it is only known
 * until when it lasts. Formulas and sources: docs/commands.md. Pure; one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is told apart; the middle three are communication. */
enum breakdown_stream {
	BREAKDOWN_COMPUTE,
	BREAKDOWN_ALLREDUCE,
	BREAKDOWN_REDUCESCATTER,
	BREAKDOWN_COMMUNICATION, /* other, or nothing says which */
	BREAKDOWN_COPY,
	BREAKDOWN_STREAMS,
};

enum breakdown_cause {
	/* While the queues were empty: */
	BREAKDOWN_HOST_LATE,	   /* the host did not wait for the GPU */
	BREAKDOWN_QUEUE_EMPTY,	   /* host calls were not recorded */
	BREAKDOWN_SYNCHRONISATION, /* the host waited for the GPU */
	BREAKDOWN_PEER,		   /* the host was inside RCCL */
	/* While something was in them: */
	BREAKDOWN_LAUNCH,     /* for at most BREAKDOWN_LAUNCH_NS */
	BREAKDOWN_DEPENDENCY, /* longer: held back by a barrier, an unseen copy, a peer */
	BREAKDOWN_UNKNOWN,    /* nothing says when the next was submitted */
	BREAKDOWN_CAUSES,
};

/* What a GPU needs to begin with what it was given: 20 us is long for it. */
#define BREAKDOWN_LAUNCH_NS	20000
/* What BREAKDOWN_LAUNCH is in a sentence, for people: that of a time line, and of the reason. */
#define BREAKDOWN_LAUNCH_TEXT	"kernels are submitted, and each takes up to 20 us to begin"
/* An idle time that one launch more would have ended. */
#define BREAKDOWN_SHORT_NS	100000
/* TraceLens's threshold between micro and macro idle time, if nobody says another. */
#define BREAKDOWN_MICRO_IDLE_NS 10000

#define BREAKDOWN_NO_SUBMIT INT64_MIN

/*
 * Gaps whose queues were empty as far as was seen are kept so many: what starts later may have lain
 * there meanwhile. One that waits for longer than that was not there in those before. 8 KiB.
 */
#define BREAKDOWN_GAPS_HELD 256

struct breakdown_event {
	int64_t start_ns, end_ns, submit_ns;
	enum breakdown_stream stream;
};

/* While the host waited: for its GPUs, or inside RCCL. Disjoint, in order. */
struct breakdown_wait {
	int64_t start_ns, end_ns;
	bool is_peer;
};

/* From start to queued nothing was in the queues, from there to the end something was. */
struct breakdown_gap {
	int64_t start_ns, queued_ns, end_ns;
};

struct breakdown_row {
	int64_t start_ns, end_ns; /* of the window */
	uint64_t wall_ns;
	uint64_t stream_ns[BREAKDOWN_STREAMS]; /* while any of the kind was under way */
	uint64_t communication_ns;	       /* any of the three */
	uint64_t exposed_communication_ns;     /* and no computation */
	uint64_t exposed_copy_ns;	       /* a copy, and neither */
	/* Computation and, at the same time: */
	uint64_t with_allreduce_ns, with_reducescatter_ns, with_communication_ns;
	uint64_t micro_idle_ns, macro_idle_ns;
	uint64_t cause_ns[BREAKDOWN_CAUSES];
	/* Idle times below BREAKDOWN_SHORT_NS in which the queues were empty and the host did not wait:
	 * that part of them, and how many. */
	uint64_t short_empty_ns, short_empty_gaps;
	uint64_t gaps;		  /* idle times that something ended, in the row they began in */
	uint64_t active_segments; /* times without a change of what is under way, idle ones not */
	uint64_t kernels, copies, untimed;
};

struct breakdown_segment {
	int64_t start_ns, end_ns;
	unsigned streams; /* 1 << enum breakdown_stream */
};

struct breakdown {
	/* Set by the caller before breakdown_begin(). Windows are in order and do not overlap. */
	struct breakdown_row *rows, *outside; /* outside: between the windows */
	size_t count;
	const struct breakdown_wait *waits;
	size_t wait_count;
	bool has_calls; /* host calls were recorded: what is no wait is the host's own time */
	int64_t micro_idle_ns;
	/* Each segment when it is complete; NULL: nobody asks. 0 or -errno. */
	int (*take)(void *taker, const struct breakdown_row *row,
		const struct breakdown_segment *segment);
	void *taker;
	/* Its own. */
	int64_t now_ns;
	int64_t reach_ns[BREAKDOWN_STREAMS];
	size_t row_at;
	struct breakdown_gap gaps[BREAKDOWN_GAPS_HELD]; /* in order, each with an empty part */
	size_t gap_count;
	size_t cause_at; /* the row of the last cause; the next is near it as a rule */
	struct breakdown_row *segment_row;
	struct breakdown_segment segment;
	int error;
};

void breakdown_begin(struct breakdown *breakdown, int64_t start_ns);
/* No event may start before the one before it. 0; what take() returned. */
int breakdown_add(struct breakdown *breakdown, const struct breakdown_event *event);
/* Nothing more until @end_ns. */
int breakdown_finish(struct breakdown *breakdown, int64_t end_ns);

uint64_t breakdown_idle_ns(const struct breakdown_row *row);
/* TraceLens's invariant: the parts are the whole, and the causes are the idle time. */
bool breakdown_holds(const struct breakdown_row *row);
/* @to += @from, but for the window. */
void breakdown_sum(struct breakdown_row *to, const struct breakdown_row *from);
/* The greatest cause of idle time; BREAKDOWN_CAUSES: there is none. */
enum breakdown_cause breakdown_main_cause(const struct breakdown_row *row);

const char *breakdown_stream_name(enum breakdown_stream stream);
const char *breakdown_cause_name(enum breakdown_cause cause);
/* For people: "host late". */
const char *breakdown_cause_words(enum breakdown_cause cause);
