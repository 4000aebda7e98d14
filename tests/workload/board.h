/* SPDX-License-Identifier: MIT */
/*
 * The board: memory that the forking parent shares with its ranks, so that it can tell what a
 * rank submitted even if the rank was killed, and where the ranks meet at the end of a step as
 * a job's gradient exchange makes them. A rank under a launcher has a board of its own.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "tests/workload/options.h"

/* Each written by one producer thread of the rank, before it rings; read by the parent.
 */
struct board_count {
	_Alignas(64) _Atomic uint64_t kernels;
};

/* What RCCL's ranks get of rank 0 to find each other. */
#define BOARD_ID_BYTES 128

enum board_state { BOARD_RUNNING, BOARD_GONE };

struct board_rank {
	_Atomic int gpu;   /* node-global, -1 until known; written by the rank */
	_Atomic int state; /* GONE: by the parent when it reaped the rank, or by the rank */
	_Atomic int steps; /* completed; written by the rank */
	struct board_count count[OPTIONS_THREADS_MAX];
};

struct board {
	int ranks;
	_Atomic uint32_t turn; /* futex; any rank's progress */
	_Atomic int has_id;
	char id[BOARD_ID_BYTES]; /* written by rank 0 before has_id */
	struct board_rank rank[];
};

/* A zeroed board that a child may inherit; its fd goes to @ret_fd. -errno. */
int board_new(int ranks, struct board **ret, int *ret_fd);

/* The board that this rank's parent left in the environment; -ENOENT without one, else -errno. */
int board_join(struct board **ret);

/* The environment variable that names the fd to board_join. */
extern const char board_env[];

uint64_t board_kernels(const struct board_rank *rank);
void board_leave(struct board *board, int rank);

/*
 * Rank 0 gives @id to the others, which wait for it. -ENOTSUP on a board that the ranks do not
 * share, -ESRCH if rank 0 is gone.
 */
int board_share_id(struct board *board, int rank, char id[BOARD_ID_BYTES]);

/* Returns when every rank that still lives has completed as many steps as @rank. */
void board_meet(struct board *board, int rank, int steps);
