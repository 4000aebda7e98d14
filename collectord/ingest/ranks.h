/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Which rank each process of a session has. A process says one (its environment), its largest RCCL
 * communicator may say another, and processes that live at once on different GPUs may say the same:
 * independent replicas, of which none has it as `rank`. docs/launchers.md is the reader's guide.
 * Store thread; ranks_resolve() is a pure function.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collectord/db/writer.h"
#include "proto/wire/msg.h"

struct process;

/* Of a process and what it descends from, itself first: an engine's server, workers, their scripts.
 */
#define RANKS_ANCESTORS_MAX 16u
/* The newest processes of a session are held against each other; a node runs a few hundred at once.
 */
#define RANKS_COMPARED_MAX  1024u

struct rank_number_of {
	bool is_known;
	int64_t value;
};

/* One process. What is not known is not compared. */
struct rank_claim {
	int64_t process_id;
	int64_t start_ns, end_ns; /* INT64_MAX: it lives */
	struct rank_number_of told, world_size, attempt;
	struct rank_number_of comm, comm_rank, comm_size;
	uint64_t gpus; /* those that it has dispatched to, a bit each; of ids past 63 modulo 64 */
	uint64_t ancestors[RANKS_ANCESTORS_MAX]; /* a number for each process */
	unsigned n_ancestors;
	/* The answer; before ranks_resolve() an earlier one, or nothing. */
	struct rank_number_of rank, rank_world_size, group, group_rank;
};

/* Fills in the answers. -ENOMEM. */
int ranks_resolve(struct rank_claim *claims, size_t count);

/*
 * Likewise for those processes of @session_id that live, or have lived beside one that does, in the
 * open transaction; of the others all is said. 1: some answer is another one now; 0; -ENOMEM,
 * database_errno().
 */
int ranks_update(struct writer *writer, int64_t session_id);

/* What a process has said of its rank since its Hello: the last time, all of it. */
struct rank_said {
	struct rank_number_of rank, local_rank, world_size, attempt, comm, comm_rank, comm_size;
	char *launcher, *job; /* clean; NULL: not said */
};

/* NULL is fine. */
void ranks_free_said(struct rank_said *said);

/* Into the row of @process, if it has said anything: of a file that takes the place of a damaged
 * one, too. database_errno(). */
int ranks_put_said(struct writer *writer, struct process *process);

/* Takes what @defines say of it, the last one. -EBADMSG, -ENOMEM, database_errno(). */
int ranks_take(struct writer *writer, struct process *process, const Rtl__Defines *defines);

/* What ranks_update() has found for @process is what rtl stat shows of it. database_errno(). */
int ranks_reload(struct writer *writer, struct process *process);

#define RANKS_ANCESTORS_BYTES (RANKS_ANCESTORS_MAX * 34u)

/* "PID.START,...", @pid first, nearest first, as far as /proc shows it; "" where it does not. */
void ranks_read_ancestors(pid_t pid, uint64_t start_time, char ret[RANKS_ANCESTORS_BYTES]);
