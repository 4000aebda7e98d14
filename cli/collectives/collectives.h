/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The contents of rtl collectives: the operations between ranks, matched across ranks, with the
 * time at which each rank arrived and the reason why the last one was late (docs/commands.md has
 * the formulas). It reads the dispatches once; memory grows with the collectives, not with the
 * kernels. Everything runs on one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/database/session/exit_text.h"
#include "cli/trace/kernels/graph_replays.h"
#include "cli/trace/id_map.h"
#include "cli/trace/trace.h"
#include "cli/trace/breakdown_sweep.h"

#define COLLECTIVES_NONE	  UINT32_MAX
/* Operations and datatypes beyond enum rtl_collective and proto/names/collectives.h. */
#define COLLECTIVES_OP_KERNEL	  254 /* matched by order: known by its kernel alone */
#define COLLECTIVES_OP_OTHER	  255
#define COLLECTIVES_OP_NONE	  253 /* a captured call without a communicator or number */
#define COLLECTIVES_DATATYPE_NONE 255
/* Limit of the missing parts that are listed; the others are only counted. */
#define COLLECTIVES_MISSING_MAX	  10000
#define COLLECTIVES_HEAT_BINS	  48
/*
 * Limit of the parts of collectives in replays, some 200 bytes each: as many as 8 ranks make that
 * launch a graph of 80 calls 50,000 times. A forged file may hold any number of launches of graphs
 * with any number of calls.
 */
#define COLLECTIVES_REPLAYED_MAX  (UINT64_C(1) << 25)

enum collectives_matched {
	COLLECTIVES_BY_SEQUENCE, /* by the communicator and number of RCCL's calls */
	COLLECTIVES_BY_ORDER,	 /* without calls: the k-th communication kernel of each GPU */
};

enum collectives_cause {
	COLLECTIVES_COMPUTE,
	COLLECTIVES_COPY,
	COLLECTIVES_EARLIER, /* it left an earlier collective later, or spent longer in one */
	COLLECTIVES_HOST,
	COLLECTIVES_WAIT,    /* idle, with work submitted */
	COLLECTIVES_UNKNOWN, /* idle, and it is unknown whether work was submitted */
	COLLECTIVES_CAUSES,
};

struct collectives_process {
	int64_t id, pid;
	bool has_rank;
	int64_t rank;
	struct replica_rank replica;
	uint32_t node; /* index of its node, by boot id */
	char state[ENDED_BYTES];
};

/* One process on one GPU. */
struct collectives_lane {
	struct sweep_lane sweep;
	int64_t gpu_id, error_ns; /* error_ns: error of its clock; -1: unknown */
	uint32_t process;

	/* Over the operations of at least two ranks whose times are all known. */
	uint64_t count, last, first;
	double last_expected; /* expected value of `last` if chance decided */
	int64_t wait_ns;      /* sum of its waits for the last rank */
	/* sum of its lateness as the last rank; the causes cover the explained operations */
	int64_t late_ns;
	uint64_t explained;
	int64_t cause_ns[COLLECTIVES_CAUSES];
	/* sums over the explained operations */
	int64_t explained_late_ns, compute_ns, median_compute_ns;
};

struct collectives_comm {
	int64_t id;
	uint32_t size;
	uint32_t first_member, members;
	bool is_kernels; /* found by the kernels that run together; no call names it */
};

/* A rank of a communicator that has a call in the file. */
struct collectives_member {
	uint32_t comm, rank, process;
	/* range of its collectives; -1: it has only sends and receives */
	int64_t first_seq, last_seq;
};

/* The kernels of one call (or of one group of calls) on one rank, or of one replay of it. */
struct collectives_launch {
	int64_t id; /* id of the call; 0: matched by order, the call is unknown */
	int64_t start, stop;
	int64_t window[SWEEP_CLASSES]; /* what the lane did between the anchor's end and start */
	/* the launch before this one on this communicator; or NONE */
	uint32_t anchor;
	uint32_t lane, comm, kernels, untimed;
	uint32_t operation, kernel; /* kernel: index of its name, if matched by order */
	uint32_t event;		    /* index of its first event, if has_event */
	bool has_event;
	bool is_spread; /* it spans several GPUs of its process */
};

/* The part of one rank in one collective. */
struct collectives_event {
	int64_t seq;
	uint64_t bytes; /* size of this rank's contribution */
	uint32_t comm, rank, launch, process;
	uint32_t from, to; /* ranks of a send or receive; else 0 */
	int32_t root;	   /* rank of a rooted operation; -1: none, or unknown */
	/* of a replay: ordinal of the executable graph among those with this captured call */
	uint32_t exec;
	int64_t replay; /* ordinal of the graph's launch, from 1; 0: outside of graphs */
	uint8_t op, datatype;
	bool is_pair, is_failed;
};

/* What ranks do together: the collectives and pairs whose launches are connected. */
struct collectives_operation {
	uint32_t first, launches; /* range in by_operation */
	uint32_t comm;
	int64_t seq;	/* number of its first collective */
	int64_t replay; /* as in its first event */
	uint32_t parts; /* collectives and pairs in it */
	uint8_t op, datatype;
	bool is_mixed, is_pairs; /* is_mixed: several kinds; is_pairs: only sends and receives */
	bool is_incomplete, is_mismatched;
	bool is_timed;	    /* the times of all launches are known and possible */
	bool is_impossible; /* a rank left before the last one came */
	bool is_ranked;	    /* a rank can be the last to arrive */
	/* is_ranked, and the last rank is late by more than the error of the clocks */
	bool is_late;
	bool is_explained;	 /* cause_ns adds up to late_ns */
	double bytes, bus_bytes; /* size S of nccl-tests; S times the bus factor */
	int64_t start_first, start_last, stop_first, stop_last;
	int64_t min_ns; /* the shortest part: TraceLens's comm_latency */
	uint32_t last, earliest,
		median; /* launches: the last to arrive, the first to arrive, the reference */
	int64_t late_ns, error_ns, cause_ns[COLLECTIVES_CAUSES];
	/* for all-to-all and sends: largest and mean amount that a rank sends */
	double sent_max, sent_mean;
};

enum collectives_missing_kind {
	COLLECTIVES_GAP,    /* this rank has earlier and later ones */
	COLLECTIVES_BEFORE, /* this rank has only later ones */
	COLLECTIVES_AFTER,  /* this rank has only earlier ones */
	COLLECTIVES_PEER,   /* the other side of a send or receive is missing */
};

struct collectives_missing {
	uint32_t comm, process, rank;
	uint8_t op;
	enum collectives_missing_kind kind;
	int64_t seq, replay; /* replay: as in its event */
};

struct collectives_nodes {
	uint32_t count;
	/* error of the other nodes' clocks against the first node's; -1: unknown */
	int64_t bound_ns;
	bool is_shifted;   /* the wall clocks were wrong; the collectives corrected them */
	int64_t *shift_ns; /* one per node */
};

struct leaders;

/* The operations to report. Matching and timing cover all operations, unless `leaders` limits
 * them. */
struct collectives_filter {
	bool has_comm;
	int64_t comm;
	const char *op; /* part of the name; NULL: all */
	/* Operations in which a leading process takes part; when kernels are matched by order, only
	 * its launches are matched. NULL: all. */
	const struct leaders *leaders;
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
	/* Stands for a communicator where kernels are matched by order; or NONE. */
	uint32_t order_comm;
	struct graph_replays graphs;
	uint32_t *first_of_replay; /* launch of the first place of each replay */
	bool has_blind_graphs; /* calls were captured, but the file has no launch of any graph */
	struct collectives_member *members; /* sorted by communicator, rank */
	size_t member_count;
	struct collectives_launch *launches;
	size_t launch_count, launch_capacity;
	/* number of launches of calls and replays, which come first and are known before their
	 * kernels */
	size_t known_launches;
	struct collectives_event *events; /* sorted, so that those of one collective are adjacent */
	size_t event_count, event_capacity;
	/* sorted by first start; those without times last */
	struct collectives_operation *operations;
	size_t operation_count;
	uint32_t *by_operation; /* launches, sorted by operation */
	struct collectives_missing *missing;
	size_t missing_count;
	uint64_t missing_total, mismatched, impossible, failed, unnumbered;
	uint64_t by_order;   /* operations matched by order */
	uint64_t by_kernels; /* operations of groups that only kernels show */
	uint32_t kernel_groups;
	uint64_t replays_left_out; /* replays beyond COLLECTIVES_REPLAYED_MAX */
	/* executable graphs whose kernels cannot be assigned to their calls */
	uint64_t ordered_execs;
	/* foreign: kernels of RCCL's calls without an RCCL name */
	uint64_t comm_kernels, unlinked, foreign;
	const char **kernel_names; /* of communication kernels; of the trace */
	size_t kernel_name_count, kernel_name_capacity;
	char stopped[256]; /* where and why matching by order stops; empty: it does not */
	uint64_t matched_until, order_longest;
	struct collectives_nodes nodes;
	int64_t from_ns, to_ns;	     /* first arrival and last end */
	struct idmap launch_of_call; /* by host_call_key() */
	float *heat;		     /* lanes x bins: mean lateness in ns; negative: no operation */
};

/* Returns 0 or -errno; query_error() has the reason unless it is -ENOMEM. @filter is copied, but
 * its text is borrowed. */
int collectives_new(const struct trace *trace, const struct collectives_filter *filter,
	struct collectives **ret);
void collectives_free_p(struct collectives **collectives);

/* The parts of collectives_new() in their order, each in a file of its own. */
int collectives_time(const struct trace *trace, struct collectives *c);
/*
 * Reads all dispatches and copies again after the launches are known. @hooks->span() is told what
 * each lane does (its lane is &c->lanes[i].sweep); the begin and end hooks are not used. @restart
 * is called if the file has to be read in another order, which voids everything that was told.
 * Returns 0 or -errno.
 */
int collectives_sweep(const struct trace *trace, struct collectives *c, const struct sweep *hooks,
	void (*restart)(void *context));
int collectives_match(struct collectives *c);
int collectives_order(struct collectives *c);
/* Makes a launch of an unknown call the part of @rank in the collective @seq of @comm. Returns 0 or
 * -ENOMEM. */
int collectives_add_kernel(struct collectives *c, const struct collectives_launch *launch,
	uint32_t comm, uint32_t rank, int64_t seq);
/* Groups the launches of unknown calls by the kernels that run together. Returns 0 or -ENOMEM. */
int collectives_group_kernels(struct collectives *c);
int collectives_nodes(const struct trace *trace, struct collectives *c);
int collectives_rank(struct collectives *c);
/* collectives_load.c: the part of collectives_new() that loads the calls. */
int collectives_load_calls(const struct trace *trace, struct collectives *c);
/* graph_calls.c: adds the launches and events of replays. @captured has one event per captured
 * call. */
void collectives_add_replays(struct collectives *c, const struct collectives_event *captured);
/* Adds the entry that stands for a communicator where kernels are matched by order. Returns 0 or
 * -ENOMEM. */
void collectives_need_order(struct collectives *c);

/*
 * Finds @lane's communicator whose operations take longest compared with those of the same kind and
 * bytes of the other communicators of its size; COLLECTIVES_NONE: none takes 1.2 times as long.
 * Returns 0 or -ENOMEM.
 */
int collectives_slow_comm(
	const struct collectives *c, uint32_t lane, uint32_t *ret_comm, double *ret_ratio);

const struct collectives_process *collectives_process_of(
	const struct collectives *c, uint32_t launch);
/* Writes "rank 3", or "process 7" if its rank is unknown, with the GPU if the process has
 * several. */
void collectives_name_lane(const struct collectives *c, uint32_t lane, char *ret, size_t bytes);
void collectives_name_process(
	const struct collectives *c, uint32_t process, char *ret, size_t bytes);
const char *collectives_op_name(
	const struct collectives *c, const struct collectives_operation *operation);
