/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Processes that are a rank of one of several replicas, and so have no rank in the job
 * (docs/launchers.md): which replica it is, and its name in an answer.
 */
#include <stddef.h>
#include <stdint.h>

#include "cli/database/query.h"

/* "replica ", ", rank " and two numbers. */
#define REPLICA_NAME_BYTES 64u

struct replica_rank {
	int64_t process_id;
	int64_t replica; /* from 1, in the order of appearance; 0 if none */
	int64_t rank;	 /* rank in the replica */
};

struct replicas {
	struct replica_rank *at; /* sorted by process */
	size_t count;
};

/* Returns 0, -ENOMEM, or the errors of query_ask(). */
int replicas_load(struct query *query, struct replicas *ret);
void replicas_done(struct replicas *replicas);

/* Returns all zeros for a process that is in no replica. */
struct replica_rank replicas_find(const struct replicas *replicas, int64_t process_id);

/* Writes "replica 2, rank 3". */
void replica_name(const struct replica_rank *rank, char ret[REPLICA_NAME_BYTES]);
