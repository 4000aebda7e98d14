// SPDX-License-Identifier: MIT
#include "cli/reason/slow_link.h"

#include <errno.h>
#include <stdlib.h>

#include "proto/base/cleanup.h"

/* From when both sides are there until both have left. */
struct transfer {
	double bytes;
	uint32_t lanes[2];
	int64_t ns;
};

/* The transfers of one size between two lanes. */
struct link {
	double bytes;
	uint32_t lanes[2];
	int64_t median_ns, all_ns;
};

static int compare_links(double a_bytes, const uint32_t *a, double b_bytes, const uint32_t *b)
{
	if (a_bytes != b_bytes)
		return a_bytes < b_bytes ? -1 : 1;
	if (a[0] != b[0])
		return a[0] < b[0] ? -1 : 1;
	return (a[1] > b[1]) - (a[1] < b[1]);
}

static int compare_transfers(const void *a, const void *b)
{
	const struct transfer *x = a, *y = b;
	int order = compare_links(x->bytes, x->lanes, y->bytes, y->lanes);

	return order ? order : (x->ns > y->ns) - (x->ns < y->ns);
}

/* Sorts links of one size by their times. */
static int compare_times(const void *a, const void *b)
{
	const struct link *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return (x->median_ns > y->median_ns) - (x->median_ns < y->median_ns);
}

static size_t take_transfers(const struct collectives *c, struct transfer *transfers)
{
	size_t count = 0;

	for (size_t i = 0; i < c->operation_count; i++) {
		const struct collectives_operation *o = c->operations + i;
		uint32_t a, b;

		if (!o->is_pairs || o->is_mixed || !o->is_timed || o->launches != 2)
			continue;
		a = c->launches[c->by_operation[o->first]].lane;
		b = c->launches[c->by_operation[o->first + 1]].lane;
		if (a == b)
			continue;
		transfers[count++] = (struct transfer){.bytes = o->bytes,
			.lanes = {a < b ? a : b, a < b ? b : a},
			.ns = o->stop_last - o->start_last};
	}
	return count;
}

/* Returns the number of links; the transfers are sorted. */
static size_t take_links(const struct transfer *transfers, size_t count, struct link *links)
{
	size_t found = 0;

	for (size_t i = 0, next; i < count; i = next) {
		const struct transfer *first = transfers + i;
		int64_t all_ns = 0;

		for (next = i;
			next < count && !compare_links(first->bytes, first->lanes,
						transfers[next].bytes, transfers[next].lanes);
			next++)
			all_ns += transfers[next].ns;
		if (next - i >= SLOW_LINK_LEAST)
			links[found++] = (struct link){.bytes = first->bytes,
				.lanes = {first->lanes[0], first->lanes[1]},
				.median_ns = transfers[i + (next - i) / 2].ns,
				.all_ns = all_ns};
	}
	return found;
}

int slow_link_find(const struct collectives *c, struct slow_link *ret)
{
	CLEANUP(free_p)
	struct transfer *transfers = calloc(c->operation_count + 1, sizeof(*transfers));
	CLEANUP(free_p) struct link *links = calloc(c->operation_count + 1, sizeof(*links));
	size_t count;

	*ret = (struct slow_link){.lanes = {COLLECTIVES_NONE, COLLECTIVES_NONE}};
	if (!transfers || !links)
		return -ENOMEM;
	count = take_transfers(c, transfers);
	qsort(transfers, count, sizeof(*transfers), compare_transfers);
	count = take_links(transfers, count, links);
	qsort(links, count, sizeof(*links), compare_times);
	for (size_t i = 0, next; i < count; i = next) {
		const struct link *middle, *last;
		double ratio;

		for (next = i; next < count && links[next].bytes == links[i].bytes;)
			next++;
		middle = links + i + (next - i - 1) / 2;
		last = links + next - 1;
		if (next - i < SLOW_LINK_LEAST || middle->median_ns <= 0)
			continue;
		ratio = (double)last->median_ns / (double)middle->median_ns;
		if (ratio < SLOW_LINK_RATIO || ratio <= ret->ratio)
			continue;
		*ret = (struct slow_link){.lanes = {last->lanes[0], last->lanes[1]},
			.ratio = ratio,
			.transfer_ns = last->all_ns};
	}
	return 0;
}
