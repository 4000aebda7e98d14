/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What a job would gain if some of its times were others: the recorded job as a graph of moments
 * (the start and the end of each kernel and copy, and what the host does), replayed with other
 * times. docs/commands.md, "rtl whatif", has the formulas and their source. Times are ns of the
 * first node's CLOCK_BOOTTIME. Everything runs on one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/collectives/collectives.h"
#include "cli/database/query.h"
#include "cli/database/session/verdict.h"
#include "cli/output/table.h"
#include "cli/trace/breakdown.h"
#include "cli/trace/id_map.h"
#include "cli/trace/steps/steps.h"

#define WHATIF_NONE	       UINT32_MAX
#define WHATIF_UNKNOWN	       INT64_MIN
/* Limit of the kernels and copies: with its host calls each takes 700 bytes, 700 MB. */
#define WHATIF_OPERATIONS_MAX  1000000
/* And of the queues of a rank: each time that its host waits for all, it waits for each. */
#define WHATIF_QUEUES_MAX      256
/* More of a rank's time than this, in percent, without an explanation: no prediction. */
#define WHATIF_UNEXPLAINED_PCT 10
/* A kernel that starts later than this after all that it is known to wait for is not explained. */
#define WHATIF_LAUNCH_NS       BREAKDOWN_LAUNCH_NS

/* The work that a kernel or copy does: its name and the size of its launch. */
struct whatif_work {
	char *name;
	bool is_communication;
};

/* A kernel or a copy. */
struct whatif_op {
	int64_t start, end, submit; /* submit: WHATIF_UNKNOWN if it is not known */
	int64_t call;		    /* key of its host call; 0: unknown */
	int64_t sequence;	    /* in its queue; of a copy, its number */
	int64_t tid;
	uint32_t process, work;
	uint32_t queue, lane; /* lane: of the process and GPU */
	uint32_t step;	      /* index; WHATIF_NONE: before the first step */
	uint32_t place;	      /* number among those of the same work in its step */
	uint32_t operation;   /* index of its collective, or WHATIF_NONE */
	uint32_t launch;      /* index of its part in that */
};

enum whatif_call_kind {
	WHATIF_LAUNCHES,      /* neither of the others */
	WHATIF_RECORDS_EVENT, /* or a packet or copy completes a signal */
	WHATIF_AWAITS_EVENT,  /* a stream does, or a packet or copy */
	WHATIF_WAITS_FOR_STREAM,
	WHATIF_WAITS_FOR_EVENT,
	WHATIF_WAITS_FOR_ALL,
	WHATIF_WAITS_FOR_ALL_AT_END, /* a call that also submits what it waits for */
};

struct whatif_call {
	int64_t id, start, end, tid;
	int64_t stream, event; /* keys, unique in the file */
	/* Of a packet or copy: its queue, and where it stands there; WHATIF_NONE: of a host call.
	 */
	uint32_t queue;
	int64_t position;
	uint32_t process;
	enum whatif_call_kind kind;
	uint32_t api; /* number of its function */
};

/* A process that leads its rank. */
struct whatif_process {
	int64_t id, rank, pid, shift_ns;
	bool has_rank;
	uint32_t peers;		    /* processes that communicators connect have the same */
	bool has_calls;		    /* host calls of HIP, or waits for signals, were recorded */
	bool has_events;	    /* calls by which streams wait name the event */
	char tool[32];		    /* another tool, which recorded it; "": rtl did */
	uint32_t queues;	    /* with kernels or copies */
	uint32_t first_step, steps; /* those that figures are of; first_step: index */
	int64_t wall_ns;
};

struct whatif_job {
	struct whatif_process *processes;
	size_t process_count;
	struct idmap process_of_id;
	struct whatif_work *works;
	size_t work_count, work_capacity;
	struct whatif_op *ops; /* sorted by process, submission */
	size_t op_count, op_capacity;
	struct whatif_call *calls; /* sorted by process, start */
	size_t call_count, call_capacity;
	struct idmap stream_of_call; /* index in streams */
	int64_t *streams;
	size_t stream_count, stream_capacity;
	uint32_t queue_count;
	struct collectives *collectives;
	char steps_line[STEPS_LINE_BYTES];
	bool has_steps;
};

/* A moment. It is as long after the last of its sources as it was recorded to be. */
struct whatif_node {
	int64_t at;	/* as recorded */
	int64_t length; /* from the last source */
	int64_t floor;	/* not before this; WHATIF_UNKNOWN: whenever */
	uint32_t first_source, sources;
};

enum whatif_host_kind { WHATIF_SUBMIT, WHATIF_WAIT_BEGIN, WHATIF_WAIT_END };

/* What the host does at a moment. */
struct whatif_host {
	uint32_t process, work; /* work: of what is submitted, or the number of the function */
	uint32_t step, place;
	enum whatif_host_kind kind;
	bool is_bound; /* it waits for the GPU, so its length is not the host's own */
};

/* Nodes are: start and end of each operation, then the meetings of collectives, then the host's. */
struct whatif_graph {
	struct whatif_node *nodes;
	size_t node_count, node_capacity;
	uint32_t *sources;
	size_t source_count, source_capacity;
	uint32_t *order; /* the nodes by time */
	struct whatif_host *hosts;
	size_t host_count, host_capacity;
	uint32_t first_meeting, first_host;
	uint64_t edges, contradicted; /* edges that hold, and ones that the recording denies */
	uint64_t paced;		      /* moments of hosts that something outside paces */
	double unexplained_pct, delay_pct;
	uint32_t least_explained; /* the process */
};

static inline uint32_t whatif_start_of(size_t op)
{
	return (uint32_t)(2 * op);
}

static inline uint32_t whatif_end_of(size_t op)
{
	return (uint32_t)(2 * op + 1);
}

/* What the same work at the same place of a step takes on other ranks; WHATIF_UNKNOWN: none has. */
struct whatif_peers {
	int64_t *op_ns, *host_ns;
	int64_t *op_all_ns; /* what it takes on all ranks, its own among them */
	/* By collective: how long it takes once all have come, and what it takes elsewhere. */
	int64_t *transfer_ns, *other_transfer_ns;
};

enum whatif_kind {
	WHATIF_RANK,
	WHATIF_KERNEL,
	WHATIF_COMM,
	WHATIF_HOST,
	WHATIF_TRANSFER,
};

struct whatif_question {
	enum whatif_kind kind;
	uint32_t process;    /* WHATIF_RANK, WHATIF_HOST */
	const char *pattern; /* WHATIF_KERNEL */
	uint32_t comm;	     /* WHATIF_COMM: index */
	double factor;	     /* WHATIF_TRANSFER */
};

struct whatif_prediction {
	struct whatif_question question;
	double step_ns, gain_pct;
	uint64_t replaced, without_peer; /* times */
};

/* Why there is no prediction; empty: there is one. */
#define WHATIF_REASON_BYTES 400

struct whatif {
	struct whatif_job *job;
	struct whatif_graph graph; /* the one that predictions are of */
	double step_ns;
	uint64_t steps; /* of all ranks */
	/* Host calls of a rank were not recorded: predictions hold whether its host waits or not.
	 */
	bool is_either_way;
	struct whatif_prediction *predictions;
	size_t count;
	char refused[WHATIF_REASON_BYTES];
};

/*
 * Reads the leading processes. Returns 0, or -errno with the reason in query_error(), except for
 * -ENOMEM. Sets @refused if there are too many operations, or none.
 */
int whatif_job_new(
	const struct trace *trace, char refused[WHATIF_REASON_BYTES], struct whatif_job **ret);
void whatif_job_free_p(struct whatif_job **job);

/*
 * Makes the graph. Of a rank without recorded host calls it is not known whether the host waits:
 * with @hosts_wait it is taken to wait whenever all that it had submitted was done. Returns 0 or
 * -ENOMEM.
 */
int whatif_graph_make(const struct whatif_job *job, bool hosts_wait, struct whatif_graph *ret);
void whatif_graph_done(struct whatif_graph *graph);
/* replay.c: finds the edges that hold, and the lengths of the nodes. Returns 0 or -ENOMEM. */
int whatif_graph_measure(const struct whatif_job *job, struct whatif_graph *graph);
/* Computes when each node is, with these lengths of the nodes. */
void whatif_replay(const struct whatif_graph *graph, const int64_t *lengths, int64_t *ret);

/* Returns 0 or -ENOMEM. */
int whatif_peers_find(
	const struct whatif_job *job, const struct whatif_graph *graph, struct whatif_peers *ret);
void whatif_peers_done(struct whatif_peers *peers);

/*
 * Answers @count questions; all ranks' gains come sorted. Returns 0 or -errno. Check @refused
 * first: no prediction is made if it is set.
 */
int whatif_predict(struct whatif *whatif, const struct whatif_question *questions, size_t count);
void whatif_done(struct whatif *whatif);

/* Writes "rank 3", or "process 7" if its rank is unknown. */
void whatif_name_process(const struct whatif_job *job, uint32_t process, char ret[48]);
void whatif_show(const struct whatif *whatif, const struct verdict *verdict,
	enum render_format format, size_t width, FILE *to);
