// SPDX-License-Identifier: MIT
#include "cli/trace/replicas.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/base/array.h"
#include "proto/base/cleanup.h"

int replicas_load(struct query *query, struct replicas *ret)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(query, "replicas", &rows);

	*ret = (struct replicas){0};
	while (!r && (r = query_next(rows)) > 0) {
		struct replica_rank *grown = grow_by_one(ret->at, ret->count, sizeof(*grown));

		r = 0;
		if (!grown)
			return -ENOMEM;
		ret->at = grown;
		grown[ret->count++] = (struct replica_rank){
			.process_id = query_integer(rows, 0),
			.replica = query_integer(rows, 1),
			.rank = query_integer(rows, 2),
		};
	}
	return r;
}

void replicas_done(struct replicas *replicas)
{
	free(replicas->at);
	*replicas = (struct replicas){0};
}

struct replica_rank replicas_find(const struct replicas *replicas, int64_t process_id)
{
	size_t at = PARTITION_POINT(replicas->count, i, replicas->at[i].process_id < process_id);

	if (at < replicas->count && replicas->at[at].process_id == process_id)
		return replicas->at[at];
	return (struct replica_rank){0};
}

void replica_name(const struct replica_rank *rank, char ret[REPLICA_NAME_BYTES])
{
	snprintf(ret, REPLICA_NAME_BYTES, "replica %" PRId64 ", rank %" PRId64, rank->replica,
		rank->rank);
}
