// SPDX-License-Identifier: MIT
#include "cli/summary.h"

#include <errno.h>
#include <stdlib.h>

#include "proto/cleanup.h"

static void copy_name(char *ret, size_t bytes, const struct query_rows *rows, int column)
{
	const char *text = query_text(rows, column);

	snprintf(ret, bytes, "%s", text ? text : "");
}

static int load_host_calls(struct query *query, struct summary *s)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(query, "host_calls", &rows);

	while (!r && (r = query_next(rows)) > 0) {
		struct summary_call *grown =
			reallocarray(s->calls, s->call_count + 1, sizeof(*grown));
		struct summary_call *call;

		if (!grown)
			return -ENOMEM;
		s->calls = grown;
		call = &grown[s->call_count++];
		*call = (struct summary_call){
			.calls = (uint64_t)query_integer(rows, 1),
			.total_ns = query_integer(rows, 2),
			.min_ns = query_integer(rows, 3),
			.max_ns = query_integer(rows, 4),
			.nonzero = (uint64_t)query_integer(rows, 5),
			.dispatches = (uint64_t)query_integer(rows, 6),
			.latency_ns = query_integer(rows, 7),
		};
		copy_name(call->name, sizeof(call->name), rows, 0);
		r = 0;
	}
	return r;
}

static int load_collectives(struct query *query, struct summary *s)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(query, "collectives", &rows);

	while (!r && (r = query_next(rows)) > 0) {
		struct summary_collective *grown =
			reallocarray(s->collectives, s->collective_count + 1, sizeof(*grown));
		struct summary_collective *one;

		if (!grown)
			return -ENOMEM;
		s->collectives = grown;
		one = &grown[s->collective_count++];
		*one = (struct summary_collective){
			.ranks = (uint64_t)query_integer(rows, 2),
			.calls = (uint64_t)query_integer(rows, 3),
			.bytes = (uint64_t)query_integer(rows, 4),
			.communicators = (uint64_t)query_integer(rows, 5),
			.processes = (uint64_t)query_integer(rows, 6),
		};
		copy_name(one->op, sizeof(one->op), rows, 0);
		copy_name(one->datatype, sizeof(one->datatype), rows, 1);
		r = 0;
	}
	return r;
}

static int load_unlinked(struct query *query, struct summary *s)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(query, "unlinked", &rows);

	if (!r && (r = query_next(rows)) > 0) {
		s->unlinked = query_integer(rows, 0);
		r = 0;
	}
	return r;
}

int summary_load_calls(struct query *query, struct summary *s)
{
	int r = load_host_calls(query, s);

	if (!r)
		r = load_collectives(query, s);
	return r ? r : load_unlinked(query, s);
}
