// SPDX-License-Identifier: MIT
#include "cli/summary/cost.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cli/base/memory.h"
#include "cli/base/array.h"
#include "cli/base/escape.h"
#include "proto/base/cleanup.h"

void cost_done(struct cost *cost)
{
	free(cost->ranks);
	*cost = (struct cost){0};
}

int cost_load(struct query *query, struct cost *ret)
{
	int r = 0;

	QUERY_EACH (r, query, "costs", rows) {
		struct cost_rank *grown = grow_by_one(ret->ranks, ret->count, sizeof(*grown));
		struct cost_rank *rank;

		ret->ranks = grown;
		rank = grown + ret->count++;
		*rank = (struct cost_rank){
			.process_id = query_integer(rows, 0),
			.has_rank = !query_is_null(rows, 1),
			.rank = query_integer(rows, 1),
			.thread_ns = (uint64_t)query_integer(rows, 2) * 1000u,
			.dispatched = (uint64_t)query_integer(rows, 3),
			.time_ns = query_is_null(rows, 4) || query_integer(rows, 4) < 0
					   ? 0
					   : query_integer(rows, 4),
		};
		ret->thread_ns += rank->thread_ns;
		ret->dispatched += rank->dispatched;
	}
	return r;
}

/* Returns microseconds per dispatch, or a negative value if there were no dispatches. */
static double each_us(uint64_t thread_ns, uint64_t dispatched)
{
	return dispatched ? (double)thread_ns / 1e3 / (double)dispatched : -1;
}

/* Returns the percentage of one processor over the process's lifetime, or a negative value if the
 * lifetime is unknown. */
static double share_pct(const struct cost_rank *rank)
{
	return rank->time_ns > 0 ? 100.0 * (double)rank->thread_ns / (double)rank->time_ns : -1;
}

/* Returns the rank whose thread takes the largest share of a processor, or NULL if no share is
 * known. */
static const struct cost_rank *find_most(const struct cost *cost)
{
	const struct cost_rank *most = NULL;

	for (size_t i = 0; i < cost->count; i++)
		if (share_pct(cost->ranks + i) >= 0 &&
			(!most || share_pct(cost->ranks + i) > share_pct(most)))
			most = cost->ranks + i;
	return most;
}

void cost_put(const struct cost *cost, FILE *to)
{
	const struct cost_rank *most = find_most(cost);
	CLEANUP(free_p) char *text = NULL;
	FILE *line;

	if (!cost->count)
		return;
	line = xmemstream(&text);
	fprintf(line, "rtl's own thread took %.1f ms of processor time",
		(double)cost->thread_ns / 1e6);
	if (cost->dispatched)
		fprintf(line, ", %.2f us a dispatch", each_us(cost->thread_ns, cost->dispatched));
	if (most && cost->count > 1 && most->has_rank)
		fprintf(line, ", at most %.2f %% of a processor (rank %" PRId64 ")",
			share_pct(most), most->rank);
	else if (most)
		fprintf(line, ", %.2f %% of a processor", share_pct(most));
	xfclose(line);
	fputc('\n', to);
	render_put_reading(to, text, 0);
}

static json_t *positive_json(double value)
{
	return value >= 0 ? json_real(value) : json_null();
}

json_t *cost_json(const struct cost *cost)
{
	json_t *ranks;

	if (!cost->count)
		return json_null();
	ranks = json_array();
	for (size_t i = 0; i < cost->count; i++) {
		const struct cost_rank *rank = cost->ranks + i;

		json_array_append_new(
			ranks, json_pack("{s:I, s:o, s:I, s:I, s:o, s:o}", "process_id",
				       (json_int_t)rank->process_id, "rank",
				       rank->has_rank ? json_integer(rank->rank) : json_null(),
				       "thread_ns", (json_int_t)rank->thread_ns, "dispatched",
				       (json_int_t)rank->dispatched, "us_per_dispatch",
				       positive_json(each_us(rank->thread_ns, rank->dispatched)),
				       "processor_pct", positive_json(share_pct(rank))));
	}
	return json_pack("{s:I, s:I, s:o, s:o}", "thread_ns", (json_int_t)cost->thread_ns,
		"dispatched", (json_int_t)cost->dispatched, "us_per_dispatch",
		positive_json(each_us(cost->thread_ns, cost->dispatched)), "ranks", ranks);
}
