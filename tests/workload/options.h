/* SPDX-License-Identifier: MIT */
/*
 * The command line of rtl-demo: parsed once by main, before any thread or fork; read-only after.
 * May not touch HSA. A wrong argument ends the process: one line on stderr, exit 2.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define OPTIONS_RANKS_MAX   4096
#define OPTIONS_LAYERS_MAX  1024
#define OPTIONS_BUCKETS_MAX 64
#define OPTIONS_THREADS_MAX 64
#define OPTIONS_QUEUE	    16384  /* packets, a power of two */
#define OPTIONS_QUEUE_MAX   131072 /* what ROCr gives at most */
#define OPTIONS_EXIT_USAGE  2

/* Why a job is slow, as planted. */
enum cause {
	CAUSE_NONE,
	CAUSE_SLOW_RANK,
	CAUSE_LATE_HOST,
	CAUSE_EXPOSED_COMM,
	CAUSE_SLOW_COPIES,
	CAUSE_LAUNCH_BOUND,
	CAUSE_LATE_RANK,
	CAUSE_LATE_IN_TURN,
	CAUSE_CHECKPOINT,
	CAUSE_COMPILE,
	CAUSE_SLOWS_DOWN,
	CAUSES,
};

enum exit_mode { EXIT_RETURN, EXIT_UNDERSCORE, EXIT_ABORT, EXIT_KILL };

/* -1 in a field of ranks or steps means "not given". */
struct options {
	int ranks;
	int gpus; /* 0: all that are visible */
	bool one_gpu_each;
	int straggler;	/* a rank */
	int fault_rank; /* the only rank that --hang-at and --exit-mode touch */

	enum cause cause;
	int steps;
	int layers;
	int buckets; /* all-reduces of a layer; 0: as the cause has it */
	int hang_at; /* a step */
	bool dispatches_given;
	uint64_t dispatches;
	uint64_t rate_hz; /* 0: as fast as they go */
	int threads;
	int batch; /* packets per doorbell */
	int queue_size;
	uint64_t signal_every;	/* 0: never */
	uint64_t signal_shared; /* 0: not; else dispatches with the same signal */

	enum exit_mode exit_mode;
	bool no_shutdown;
	bool no_wait;
	bool init_only;
	bool no_hsa;
	bool list_kernels;
	bool list_gpus;
	bool verbose;
};

/* Does not return on a wrong argument, --help, --usage and --version. */
void options_parse(int argc, char **argv, struct options *ret);

/* Whether --hang-at and --exit-mode are meant for @rank. */
static inline bool options_hits(const struct options *opt, int rank)
{
	return opt->fault_rank < 0 || opt->fault_rank == rank;
}
