// SPDX-License-Identifier: MIT
/* Finds which parts belong to one collective, which ranks lack theirs, and which launches are
 * connected. */
#include <stdlib.h>

#include "cli/base/memory.h"
#include "cli/collectives/collectives.h"
#include "cli/base/array.h"
#include "proto/base/cleanup.h"
#include "proto/names/collectives.h"

struct matching {
	struct collectives *c;
	uint32_t *parent;	/* a forest of the launches that are connected */
	uint64_t *sent, *other; /* bytes that a launch sends; those to other ranks */
	bool *sends;
	size_t missing_capacity;
	struct idmap range_of_call; /* by communicator, rank and the number of a captured call */
	struct replay_range *ranges;
	size_t range_count, range_capacity;
};

/* The replays of a captured call that a member has. Those of one executable graph are
 * consecutive. */
struct replay_range {
	uint32_t first_exec, last_exec;
	int64_t first, last;
};

static void matching_done(struct matching *m)
{
	free(m->parent);
	free(m->sent);
	free(m->other);
	free(m->sends);
	free(m->ranges);
	idmap_done(&m->range_of_call);
}

/* ---- order ---- */

#define COMPARE(x, y)                                                                              \
	do {                                                                                       \
		if ((x) != (y))                                                                    \
			return (x) < (y) ? -1 : 1;                                                 \
	} while (0)

/* Sorts the parts of one collective together, by rank, and a send before its receive. */
static int compare_events(const void *a, const void *b)
{
	const struct collectives_event *x = a, *y = b;

	COMPARE(x->comm, y->comm);
	COMPARE(x->is_pair, y->is_pair);
	COMPARE(x->from, y->from);
	COMPARE(x->to, y->to);
	COMPARE(x->seq, y->seq);
	COMPARE(x->exec, y->exec);
	COMPARE(x->replay, y->replay);
	if (x->is_pair)
		COMPARE(x->op, y->op);
	COMPARE(x->rank, y->rank);
	COMPARE(x->launch, y->launch);
	return 0;
}

static bool is_same(const struct collectives_event *a, const struct collectives_event *b)
{
	return a->comm == b->comm && a->is_pair == b->is_pair && a->from == b->from &&
	       a->to == b->to && a->seq == b->seq && a->exec == b->exec && a->replay == b->replay;
}

/* ---- members of communicators ---- */

static int compare_members(const void *a, const void *b)
{
	const struct collectives_member *x = a, *y = b;

	COMPARE(x->comm, y->comm);
	COMPARE(x->rank, y->rank);
	return 0;
}

static void widen_member_range(
	struct collectives_member *member, const struct collectives_event *event)
{
	if (event->is_pair)
		return;
	if (member->first_seq < 0 || event->seq < member->first_seq)
		member->first_seq = event->seq;
	if (event->seq > member->last_seq)
		member->last_seq = event->seq;
}

static int64_t range_key(const struct collectives_event *event, uint32_t rank)
{
	return (int64_t)(((uint64_t)event->comm << 20 ^ rank) << 32 ^ (uint64_t)event->seq);
}

static void see_replay(struct matching *m, const struct collectives_event *event)
{
	uint32_t *at;
	struct replay_range *range;

	if (!event->replay || event->is_pair)
		return;
	at = idmap_at(&m->range_of_call, range_key(event, event->rank));
	/* Events come in order. */
	if (*at == IDMAP_NONE) {
		GROW(m->ranges, m->range_count, m->range_capacity);
		*at = (uint32_t)m->range_count++;
		m->ranges[*at] =
			(struct replay_range){.first_exec = event->exec, .first = event->replay};
	}
	range = m->ranges + *at;
	range->last_exec = event->exec;
	range->last = event->replay;
}

static void find_members(struct matching *m)
{
	CLEANUP(idmap_done) struct idmap known = {0};
	struct collectives *c = m->c;
	size_t capacity = 0;

	for (size_t i = 0; i < c->event_count; i++) {
		const struct collectives_event *event = c->events + i;
		uint32_t *at =
			idmap_at(&known, (int64_t)((uint64_t)event->comm << 32 | event->rank));

		if (*at == IDMAP_NONE) {
			GROW(c->members, c->member_count, capacity);
			*at = (uint32_t)c->member_count++;
			c->members[*at] = (struct collectives_member){.comm = event->comm,
				.rank = event->rank,
				.process = event->process,
				.first_seq = -1,
				.last_seq = -1};
		}
		widen_member_range(c->members + *at, event);
		see_replay(m, event);
	}
	if (c->member_count)
		qsort(c->members, c->member_count, sizeof(*c->members), compare_members);
	for (size_t i = c->member_count; i--;) {
		c->comms[c->members[i].comm].first_member = (uint32_t)i;
		c->comms[c->members[i].comm].members++;
	}
	/* No call says how many ranks take part in replays that are matched by order. */
	if (c->order_comm != COLLECTIVES_NONE && !c->comms[c->order_comm].size)
		c->comms[c->order_comm].size = c->comms[c->order_comm].members;
}

/* ---- what is missing ---- */

static void add_missing(struct matching *m, const struct collectives_missing *missing)
{
	struct collectives *c = m->c;

	c->missing_total++;
	if (c->missing_count == COLLECTIVES_MISSING_MAX)
		return;
	GROW(c->missing, c->missing_count, m->missing_capacity);
	c->missing[c->missing_count++] = *missing;
}

/* Says where @event would stand among those that the member has. */
static enum collectives_missing_kind kind_of(const struct matching *m,
	const struct collectives_member *member, const struct collectives_event *event)
{
	uint32_t at = event->replay ? idmap_find(&m->range_of_call, range_key(event, member->rank))
				    : IDMAP_NONE;
	const struct replay_range *range = at == IDMAP_NONE ? NULL : m->ranges + at;

	if (range && (event->exec < range->first_exec ||
			     (event->exec == range->first_exec && event->replay < range->first)))
		return COLLECTIVES_BEFORE;
	if (range && (event->exec > range->last_exec ||
			     (event->exec == range->last_exec && event->replay > range->last)))
		return COLLECTIVES_AFTER;
	if (range)
		return COLLECTIVES_GAP;
	return event->seq < member->first_seq  ? COLLECTIVES_BEFORE
	       : event->seq > member->last_seq ? COLLECTIVES_AFTER
					       : COLLECTIVES_GAP;
}

/* @events and the members are sorted by rank. Returns the number of missing parts. */
static int compare_with_members(
	struct matching *m, const struct collectives_event *events, size_t count)
{
	const struct collectives_comm *comm = m->c->comms + events->comm;
	size_t at = 0;
	int missing = 0;

	for (uint32_t i = 0; i < comm->members; i++) {
		const struct collectives_member *member = m->c->members + comm->first_member + i;

		while (at < count && events[at].rank < member->rank)
			at++;
		if ((at < count && events[at].rank == member->rank) || member->last_seq < 0)
			continue;
		missing++;
		add_missing(m, &(struct collectives_missing){.comm = events->comm,
				       .process = member->process,
				       .rank = member->rank,
				       .op = events->op,
				       .seq = events->seq,
				       .replay = events->replay,
				       .kind = kind_of(m, member, events)});
	}
	return missing;
}

/* If the other side is a rank that was not recorded here, nothing is missing. */
static int compare_pair(struct matching *m, const struct collectives_event *events, size_t count)
{
	const struct collectives_comm *comm = m->c->comms + events->comm;
	uint32_t peer = events->op == RTL_COLLECTIVE_ncclSend ? events->to : events->from;

	if (count > 1)
		return 0;
	for (uint32_t i = 0; i < comm->members; i++) {
		const struct collectives_member *member = m->c->members + comm->first_member + i;

		if (member->rank != peer)
			continue;
		add_missing(m, &(struct collectives_missing){.comm = events->comm,
				       .process = member->process,
				       .rank = peer,
				       .op = events->op == RTL_COLLECTIVE_ncclSend
						     ? RTL_COLLECTIVE_ncclRecv
						     : RTL_COLLECTIVE_ncclSend,
				       .seq = events->seq,
				       .replay = events->replay,
				       .kind = COLLECTIVES_PEER});
		return 1;
	}
	return 0;
}

/* Returns true if all ranks run the same operation on the same amount, each rank once. */
static bool is_alike(const struct collectives_event *events, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		const struct collectives_event *a = events + i - 1, *b = events + i;
		bool bytes_differ = a->bytes != b->bytes && b->op != RTL_COLLECTIVE_ncclAllToAllv;

		if (a->datatype != b->datatype || bytes_differ)
			return false;
		if (a->is_pair ? a->op == b->op : a->op != b->op || a->rank == b->rank)
			return false;
	}
	return true;
}

/* ---- connected launches ---- */

static uint32_t find_root(uint32_t *parent, uint32_t at)
{
	while (parent[at] != at)
		at = parent[at] = parent[parent[at]];
	return at;
}

static void join(uint32_t *parent, uint32_t a, uint32_t b)
{
	a = find_root(parent, a);
	b = find_root(parent, b);
	if (a < b)
		parent[b] = a;
	else
		parent[a] = b;
}

/*
 * Return the factors that turn the contribution of one rank into the size S of nccl-tests, and S
 * into bus bytes (its doc/PERFORMANCE.md).
 */
static double bus_factor(uint8_t op, double n)
{
	switch (op) {
	case RTL_COLLECTIVE_ncclAllReduce:
		return 2 * (n - 1) / n;
	case RTL_COLLECTIVE_ncclAllGather:
	case RTL_COLLECTIVE_ncclReduceScatter:
	case RTL_COLLECTIVE_ncclAllToAll:
	case RTL_COLLECTIVE_ncclAllToAllv:
	case RTL_COLLECTIVE_ncclGather:
	case RTL_COLLECTIVE_ncclScatter:
		return (n - 1) / n;
	default:
		return 1;
	}
}

static double size_factor(uint8_t op, double n)
{
	return op == RTL_COLLECTIVE_ncclAllGather || op == RTL_COLLECTIVE_ncclGather ||
			       op == RTL_COLLECTIVE_ncclScatter
		       ? n
		       : 1;
}

static void add_bytes(struct matching *m, struct collectives_operation *operation,
	const struct collectives_event *events, size_t count)
{
	double n = m->c->comms[events->comm].size, sum = 0, size;

	if (events->is_pair) /* finish_sent() adds those of pairs */
		return;
	for (size_t i = 0; i < count; i++)
		sum += (double)events[i].bytes;
	size = sum / (double)count * size_factor(events->op, n);
	operation->bytes += size;
	operation->bus_bytes += n > 0 ? size * bus_factor(events->op, n) : 0;
}

static void add_sent(struct matching *m, const struct collectives_event *event)
{
	bool is_send = event->op == RTL_COLLECTIVE_ncclSend;

	if (!is_send && event->op != RTL_COLLECTIVE_ncclAllToAll &&
		event->op != RTL_COLLECTIVE_ncclAllToAllv)
		return;
	m->sends[event->launch] = true;
	m->sent[event->launch] += event->bytes;
	if (is_send && event->from != event->to)
		m->other[event->launch] += event->bytes;
}

/* Adds one collective or pair, which has @count parts. */
static void add_part(struct matching *m, struct collectives_operation *operation,
	const struct collectives_event *events, size_t count, bool is_incomplete)
{
	bool is_first = !operation->parts++;

	if (is_first) {
		operation->op = events->op;
		operation->datatype = events->datatype;
		operation->comm = events->comm;
		operation->seq = events->seq;
		operation->replay = events->replay;
		operation->is_pairs = events->is_pair;
	}
	if (events->is_pair != operation->is_pairs ||
		(!events->is_pair && events->op != operation->op))
		operation->is_mixed = true;
	operation->is_pairs &= events->is_pair;
	if (events->datatype != operation->datatype)
		operation->datatype = COLLECTIVES_DATATYPE_NONE;
	operation->is_incomplete |= is_incomplete;
	m->c->by_order += is_first && events->comm == m->c->order_comm;
	m->c->by_kernels += is_first && m->c->comms[events->comm].is_kernels;
	if (!is_alike(events, count)) {
		operation->is_mismatched = true;
		m->c->mismatched++;
	}
	add_bytes(m, operation, events, count);
	for (size_t i = 0; i < count; i++)
		add_sent(m, events + i);
}

/* Returns the number of consecutive parts that belong to one collective. */
static size_t run_length(const struct collectives *c, size_t at)
{
	size_t end = at + 1;

	while (end < c->event_count && is_same(c->events + at, c->events + end))
		end++;
	return end - at;
}

/* Numbers the trees of the forest and gives each launch its operation. */
static void number_operations(struct matching *m)
{
	struct collectives *c = m->c;
	size_t count = 0;

	for (uint32_t i = 0; i < c->launch_count; i++)
		if (find_root(m->parent, i) == i)
			c->launches[i].operation = (uint32_t)count++;
	for (uint32_t i = 0; i < c->launch_count; i++)
		c->launches[i].operation = c->launches[find_root(m->parent, i)].operation;
	c->operations = xcalloc(count + 1, sizeof(*c->operations));
	c->by_operation = xcalloc(c->launch_count + 1, sizeof(*c->by_operation));
	c->operation_count = count;
	for (size_t i = 0; i < c->launch_count; i++)
		c->operations[c->launches[i].operation].launches++;
	for (size_t i = 1; i < count; i++)
		c->operations[i].first = c->operations[i - 1].first + c->operations[i - 1].launches;
	for (size_t i = 0; i < count; i++)
		c->operations[i].launches = 0;
	for (uint32_t i = 0; i < c->launch_count; i++) {
		struct collectives_operation *operation = c->operations + c->launches[i].operation;

		c->by_operation[operation->first + operation->launches++] = i;
	}
}

/* The mean amount that a rank sends is the size of grouped sends. The ratio of the largest amount
 * to the mean shows how even they are. */
static void finish_sent(struct matching *m, struct collectives_operation *operation)
{
	double sum = 0, other = 0, most = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < operation->launches; i++) {
		uint32_t launch = m->c->by_operation[operation->first + i];

		if (!m->sends[launch])
			continue;
		n++;
		sum += (double)m->sent[launch];
		other += (double)m->other[launch];
		if ((double)m->sent[launch] > most)
			most = (double)m->sent[launch];
	}
	if (!n)
		return;
	operation->sent_max = n > 1 ? most : 0;
	operation->sent_mean = n > 1 ? sum / n : 0;
	operation->bytes += operation->is_pairs ? sum / n : 0;
	operation->bus_bytes += operation->is_pairs ? other / n : 0;
}

static int match(struct matching *m)
{
	struct collectives *c = m->c;
	size_t n;

	for (size_t i = 0; i < c->event_count; i += n) {
		n = run_length(c, i);
		for (size_t k = 1; k < n; k++)
			join(m->parent, c->events[i].launch, c->events[i + k].launch);
	}
	number_operations(m);
	for (size_t i = 0; i < c->event_count; i += n) {
		const struct collectives_event *events = c->events + i;
		int missing;

		n = run_length(c, i);
		missing = events->is_pair ? compare_pair(m, events, n)
					  : compare_with_members(m, events, n);
		if (missing < 0)
			return missing;
		add_part(m, c->operations + c->launches[events->launch].operation, events, n,
			missing > 0);
	}
	for (size_t i = 0; i < c->operation_count; i++)
		finish_sent(m, c->operations + i);
	return 0;
}

int collectives_match(struct collectives *c)
{
	CLEANUP(matching_done)
	struct matching m = {
		.c = c,
		.parent = xcalloc(c->launch_count + 1, sizeof(*m.parent)),
		.sent = xcalloc(c->launch_count + 1, sizeof(*m.sent)),
		.other = xcalloc(c->launch_count + 1, sizeof(*m.other)),
		.sends = xcalloc(c->launch_count + 1, sizeof(*m.sends)),
	};

	for (uint32_t i = 0; i < c->launch_count; i++)
		m.parent[i] = i;
	if (c->event_count)
		qsort(c->events, c->event_count, sizeof(*c->events), compare_events);
	for (uint32_t i = (uint32_t)c->event_count; i--;) {
		c->launches[c->events[i].launch].event = i;
		c->launches[c->events[i].launch].has_event = true;
	}
	find_members(&m);
	return match(&m);
}
