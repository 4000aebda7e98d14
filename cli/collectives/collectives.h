/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What rtl collectives shows: the operations between ranks, matched across ranks, with when each
 * rank arrived, and why the last one was late (docs/commands.md has the formulas). One pass over
 * the dispatches; memory grows with the collectives, not with the kernels. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/trace/categories.h"
#include "cli/database/exit_text.h"
#include "cli/trace/graph_replays.h"
#include "cli/trace/id_map.h"
#include "cli/database/query.h"
#include "cli/trace/replicas.h"
#include "cli/trace/breakdown_sweep.h"

#define COLLECTIVES_NONE	  UINT32_MAX
/* Where enum rtl_collective and the datatypes of proto/names/collectives.h do not reach. */
#define COLLECTIVES_OP_KERNEL	  254 /* by order: known by its kernel alone */
#define COLLECTIVES_OP_OTHER	  255
#define COLLECTIVES_OP_NONE	  253 /* a captured call without a communicator or number */
#define COLLECTIVES_DATATYPE_NONE 255
/* Missing parts that are named; the others are counted. */
#define COLLECTIVES_MISSING_MAX	  10000
#define COLLECTIVES_HEAT_BINS	  48
/* Parts of collectives in replays, some 200 bytes each: 8 ranks that launch a graph of 80 calls
 * 50,000 times. A file that somebody has made up may hold any number of launches of graphs of any
 * number of calls. */
#define COLLECTIVES_REPLAYED_MAX  (UINT64_C(1) << 25)

enum collectives_matched {
	COLLECTIVES_BY_SEQUENCE, /* RCCL's calls: communicator and number */
	COLLECTIVES_BY_ORDER,	 /* no calls: the k-th communication kernel of each GPU */
};

enum collectives_cause {
	COLLECTIVES_COMPUTE,
	COLLECTIVES_COPY,
	COLLECTIVES_EARLIER, /* an earlier collective let it go later, or held it longer */
	COLLECTIVES_HOST,
	COLLECTIVES_WAIT,    /* idle, with work submitted */
	COLLECTIVES_UNKNOWN, /* idle, and nothing says which of the two */
	COLLECTIVES_CAUSES,
};

struct collectives_process {
	int64_t id, pid;
	bool has_rank;
	int64_t rank;
	struct replica_rank replica;
	uint32_t node;	/* by boot id */
	char state[ENDED_BYTES];
};

/* One process on one GPU. */
struct collectives_lane {
	struct sweep_lane sweep;
	int64_t gpu_id, error_ns; /* of its clock; -1: unknown */
	uint32_t process;

	/* Over operations of two ranks and more that were timed whole. */
	uint64_t count, last, first;
	double last_expected; /* times, were the last of each drawn by lot */
	int64_t wait_ns;      /* for the last one, in sum */
	int64_t late_ns;      /* as the last one, in sum, and of that what is explained, by cause */
	uint64_t explained;
	int64_t cause_ns[COLLECTIVES_CAUSES];
	int64_t explained_late_ns, compute_ns, median_compute_ns; /* of the explained */
};

struct collectives_comm {
	int64_t id;
	uint32_t size;
	uint32_t first_member, members;
	bool is_kernels; /* found by how its kernels run together: no call names it */
};

/* A rank of a communicator that has a call in the file. */
struct collectives_member {
	uint32_t comm, rank, process;
	int64_t first_seq, last_seq; /* of its collectives; -1: only sends and receives */
};

/* The kernels of one call (or of one group of calls) on one rank, or of their replay. */
struct collectives_launch {
	int64_t id; /* of the call; 0: by order, of no call that is known */
	int64_t start, stop;
	int64_t window[SWEEP_CLASSES]; /* what the lane did from the anchor's end to start */
	uint32_t anchor;	       /* the launch before on this communicator; or NONE */
	uint32_t lane, comm, kernels, untimed;
	uint32_t operation, kernel; /* kernel: index of its name, by order only */
	uint32_t event;		    /* the first of its events, where has_event */
	bool has_event;
	bool is_spread;		    /* over several GPUs of its process */
};

/* One rank's part of one collective. */
struct collectives_event {
	int64_t seq;
	uint64_t bytes; /* of this rank's contribution */
	uint32_t comm, rank, launch, process;
	uint32_t from, to; /* of a send or receive; else 0 */
	int32_t root;	   /* rank of a rooted operation; -1: none, or unknown */
	uint32_t exec;	   /* of a replay: how many-th executable graph from this captured call */
	int64_t replay;	   /* its how many-th launch, from 1; 0: outside of graphs */
	uint8_t op, datatype;
	bool is_pair, is_failed;
};

/* What ranks do together: collectives and pairs whose launches hang together. */
struct collectives_operation {
	uint32_t first, launches; /* of by_operation */
	uint32_t comm;
	int64_t seq;	/* of its first collective */
	int64_t replay; /* as in its first event */
	uint32_t parts; /* collectives and pairs in it */
	uint8_t op, datatype;
	bool is_mixed, is_pairs; /* several kinds; only sends and receives */
	bool is_incomplete, is_mismatched;
	bool is_timed;		 /* times of all launches are known, and can be */
	bool is_impossible;	 /* a rank left before the last one came */
	bool is_ranked;		 /* somebody can be the last to arrive */
	bool is_late;		 /* and is, by more than the clocks do not know */
	bool is_explained;	 /* cause_ns adds up to late_ns */
	double bytes, bus_bytes; /* S of nccl-tests; times the bus factor */
	int64_t start_first, start_last, stop_first, stop_last;
	int64_t min_ns; /* the shortest part: TraceLens's comm_latency */
	uint32_t last, earliest,
		median; /* launches: the last to arrive, the first, the reference */
	int64_t late_ns, error_ns, cause_ns[COLLECTIVES_CAUSES];
	double sent_max, sent_mean; /* all-to-all and sends, over the ranks */
};

enum collectives_missing_kind {
	COLLECTIVES_GAP,    /* this rank has earlier and later ones */
	COLLECTIVES_BEFORE, /* it has only later ones */
	COLLECTIVES_AFTER,  /* it has only earlier ones */
	COLLECTIVES_PEER,   /* the other side of a send or receive */
};

struct collectives_missing {
	uint32_t comm, process, rank;
	uint8_t op;
	enum collectives_missing_kind kind;
	int64_t seq, replay; /* replay: as in its event */
};

struct collectives_nodes {
	uint32_t count;
	int64_t bound_ns; /* how well the others' clocks are known against the first; -1: not at all
			   */
	bool is_shifted;  /* the wall clocks were wrong, by what the collectives say */
	int64_t *shift_ns; /* one a node */
};

struct leaders;

/* Which operations are looked at; matching and times are of all, but for the leaders. */
struct collectives_filter {
	bool has_comm;
	int64_t comm;
	const char *op; /* part of the name; NULL: all */
	const struct leaders *leaders; /* those that a leading process takes part in; by order,
					* its launches alone are matched; NULL: all */
};

struct collectives {
	struct collectives_filter filter;
	enum collectives_matched matched;
	struct collectives_process *processes;
	size_t process_count;
	struct collectives_lane *lanes;
	size_t lane_count;
	struct collectives_comm *comms;
	size_t comm_count, comm_capacity;
	/* What stands for a communicator where kernels are matched by order; or NONE. */
	uint32_t order_comm;
	struct graph_replays graphs;
	uint32_t *first_of_replay; /* launch of the first place of each replay */
	bool has_blind_graphs; /* calls were captured, and no launch of any graph is in the file */
	struct collectives_member *members; /* by communicator, rank */
	size_t member_count;
	struct collectives_launch *launches;
	size_t launch_count, launch_capacity;
	size_t known_launches; /* the first of these: of calls and replays, known before their
				  kernels */
	struct collectives_event *events; /* sorted: those of one collective are together */
	size_t event_count, event_capacity;
	struct collectives_operation *operations; /* by first start; those without times last */
	size_t operation_count;
	uint32_t *by_operation; /* launches */
	struct collectives_missing *missing;
	size_t missing_count;
	uint64_t missing_total, mismatched, impossible, failed, unnumbered;
	uint64_t by_order;	   /* operations that were */
	uint64_t by_kernels;	   /* likewise, of groups that only kernels show */
	uint32_t kernel_groups;
	uint64_t replays_left_out; /* beyond COLLECTIVES_REPLAYED_MAX */
	uint64_t ordered_execs;	   /* executable graphs in which it cannot be told which kernel is
				      whose */
	uint64_t comm_kernels, unlinked,
		foreign;     /* foreign: not RCCL's by name, but of its calls */
	char **kernel_names; /* of communication kernels, by order only */
	size_t kernel_name_count, kernel_name_capacity;
	char stopped[256]; /* by order: where and why the match ends; empty: it does not */
	uint64_t matched_until, order_longest;
	struct collectives_nodes nodes;
	int64_t from_ns, to_ns; /* first arrival, last end */
	struct idmap launch_of_call; /* by host_call_key() */
	float *heat;		/* lanes x bins: mean lateness in ns; below 0: no operation */
};

/* 0 or -errno; then query_error() tells, or it is -ENOMEM. @filter is copied, its text borrowed. */
int collectives_new(struct query *query, const struct categories *categories,
	const struct collectives_filter *filter, struct collectives **ret);
void collectives_free_p(struct collectives **collectives);

/* The parts of collectives_new(), in their order; each in its own file. */
int collectives_load(struct query *query, struct collectives *c);
int collectives_time(struct query *query, const struct categories *categories,
	struct collectives *c);
/*
 * Once more over all dispatches and copies, when the launches are known: @hooks->span is told what
 * each lane does (its lane is &c->lanes[i].sweep); its begin and end are not used. @restart: the
 * file has to be read in another order, all that was told is void. 0 or -errno.
 */
int collectives_sweep(struct query *query, const struct categories *categories,
	struct collectives *c, const struct sweep *hooks, void (*restart)(void *context));
int collectives_match(struct collectives *c);
int collectives_order(struct collectives *c);
/* A launch of no call that is known is the part of @rank in the collective @seq of @comm. -ENOMEM.
 */
int collectives_add_kernel(struct collectives *c, const struct collectives_launch *launch,
	uint32_t comm, uint32_t rank, int64_t seq);
/* Launches of no call that is known, by which kernels run together. -ENOMEM. */
int collectives_group_kernels(struct collectives *c);
int collectives_nodes(struct query *query, struct collectives *c);
int collectives_rank(struct collectives *c);
/* collectives_load.c's, for collectives_new(). */
int collectives_load_calls(struct query *query, const struct categories *categories,
	struct collectives *c);
/* graph_calls.c's: the launches and events of replays; @captured: one event a captured call. */
int collectives_add_replays(struct collectives *c, const struct collectives_event *captured);
/* Gives what is matched by order its place among the communicators. -ENOMEM. */
int collectives_need_order(struct collectives *c);

const struct collectives_process *collectives_process_of(
	const struct collectives *c, uint32_t launch);
/* "rank 3", or "process 7" where the rank is unknown; with its GPU where the process has several.
 */
void collectives_name_lane(const struct collectives *c, uint32_t lane, char *ret, size_t bytes);
void collectives_name_process(
	const struct collectives *c, uint32_t process, char *ret, size_t bytes);
const char *collectives_op_name(
	const struct collectives *c, const struct collectives_operation *operation);
