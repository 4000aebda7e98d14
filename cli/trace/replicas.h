/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Processes that are a rank of one of several replicas, and so none of the job (docs/launchers.md):
 * which replica, and what it is called in an answer.
 */
#include <stddef.h>
#include <stdint.h>

#include "cli/database/query.h"

/* "replica ", ", rank " and two numbers. */
#define REPLICA_NAME_BYTES 64u

struct replica_rank {
	int64_t process_id;
	int64_t replica; /* from 1 on, in the order in which they came; 0: none */
	int64_t rank;	 /* in it */
};

struct replicas {
	struct replica_rank *at; /* by process */
	size_t count;
};

/* -ENOMEM, or as query_ask(). */
int replicas_load(struct query *query, struct replicas *ret);
void replicas_done(struct replicas *replicas);

/* Of a process that is in none: all 0. */
struct replica_rank replicas_find(const struct replicas *replicas, int64_t process_id);

/* "replica 2, rank 3". */
void replica_name(const struct replica_rank *rank, char ret[REPLICA_NAME_BYTES]);
