/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Determines the rank of each process of a session. A process gets one from its environment, its
 * largest RCCL communicator may give another, and processes that live at the same time on different
 * GPUs may have the same one: independent replicas, none of which gets it as `rank`.
 * docs/launchers.md is the guide for users. Store thread; ranks_resolve() is a pure function.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collectord/db/rows/writer.h"
#include "proto/wire/msg.h"

struct process;

/*
 * Number of ancestors that are kept, including the process itself: the server of an engine,
 * workers, their scripts.
 */
#define RANKS_ANCESTORS_MAX 16u
/*
 * Number of processes of a session that are compared: those that live, then those that have ended
 * and had a rank and a GPU, the newest first. Where there are more, what was found before stays. A
 * node runs a few hundred at a time.
 */
#define RANKS_COMPARED_MAX  1024u

struct rank_number_of {
	bool is_known;
	int64_t value;
};

/* One process. Unknown values are not compared. */
struct rank_claim {
	int64_t process_id;
	int64_t start_ns, end_ns; /* INT64_MAX: it is alive */
	struct rank_number_of declared, world_size, attempt;
	struct rank_number_of comm, comm_rank, comm_size;
	uint64_t gpus; /* GPUs to which it has dispatched, a bit each; ids above 63 count modulo
			* 64 */
	uint64_t ancestors[RANKS_ANCESTORS_MAX]; /* a hash of each, itself first */
	unsigned n_ancestors;
	/*
	 * Its result below stays, because others that it lived beside may be missing: it ended
	 * before the oldest living one began, or there are more than are compared.
	 */
	bool is_final;
	/* The result; before ranks_resolve() an earlier one, or none. */
	struct rank_number_of rank, rank_world_size, group, group_rank;
};

/* Fills in the results. -ENOMEM. */
int ranks_resolve(struct rank_claim *claims, size_t count);

/*
 * Resolves and stores the ranks of the processes of @session_id that live, or have lived at the
 * same time as one that does, in the open transaction; the results of the others are final. Returns
 * 1 if a result has changed, 0, -ENOMEM or database_errno().
 */
int ranks_update(struct writer *writer, int64_t session_id);

/* What a process has said of its rank after its Hello: the last message, which is complete. */
struct rank_said {
	struct rank_number_of rank, local_rank, world_size, attempt, comm, comm_rank, comm_size;
	char *launcher, *job; /* valid UTF-8; NULL: not said */
};

/* @said may be NULL. */
void ranks_free_said(struct rank_said *said);

/*
 * Writes it to the row of @process, if there is anything; also used for a file that replaces a
 * damaged one. database_errno().
 */
int ranks_put_said(struct writer *writer, struct process *process);

/* Takes the last rank in @defines. -EBADMSG, -ENOMEM, database_errno(). */
int ranks_take(struct writer *writer, struct process *process, const Rtl__Defines *defines);

/*
 * Reads the rank that ranks_update() has found for @process; rtl stat shows it. database_errno().
 */
int ranks_reload(struct writer *writer, struct process *process);

#define RANKS_ANCESTORS_BYTES (RANKS_ANCESTORS_MAX * 34u)

/*
 * Writes "PID.START,...", with @pid first and then its ancestors, as far as /proc shows them; "" if
 * it shows none.
 */
void ranks_read_ancestors(pid_t pid, uint64_t start_time, char ret[RANKS_ANCESTORS_BYTES]);
