// SPDX-License-Identifier: MIT
/* What the same work at the same place of a step takes on other ranks. */
#include <errno.h>
#include <stdlib.h>

#include "cli/base/wrapping.h"
#include "cli/trace/id_map.h"
#include "cli/whatif/whatif.h"
#include "proto/base/cleanup.h"

/* One time of one rank, or of one communicator. */
struct sample {
	uint64_t work; /* a kind of work, of ranks that communicators connect */
	uint32_t step, place, of;
	uint32_t index;
	int64_t ns;
};

void whatif_peers_done(struct whatif_peers *peers)
{
	free(peers->op_ns);
	free(peers->op_all_ns);
	free(peers->host_ns);
	free(peers->transfer_ns);
	free(peers->other_transfer_ns);
	*peers = (struct whatif_peers){0};
}

static uint64_t key_of(const struct whatif_job *job, uint32_t process, uint32_t kind, uint32_t work)
{
	return (uint64_t)job->processes[process].peers << 34 | (uint64_t)kind << 32 | work;
}

static bool is_same_place(const struct sample *a, const struct sample *b)
{
	return a->work == b->work && a->step == b->step && a->place == b->place;
}

static int compare_samples(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	if (x->work != y->work)
		return x->work < y->work ? -1 : 1;
	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return (x->of > y->of) - (x->of < y->of);
}

/* Returns the median of all samples but one; they are sorted. */
static int64_t median_without(const struct sample *samples, size_t count, size_t except)
{
	size_t low = (count - 2) / 2, high = (count - 1) / 2;
	int64_t a = samples[low + (low >= except)].ns, b = samples[high + (high >= except)].ns;

	return wrap_plus(a, wrap_minus(b, a) / 2);
}

/*
 * Sets @ret[index] to the median of the others at the same place, and @ret_all[index], if it is
 * asked for, to that of all: of an even number, the smaller of the two in the middle.
 */
static void find_medians(struct sample *samples, size_t count, int64_t *ret, int64_t *ret_all)
{
	qsort(samples, count, sizeof(*samples), compare_samples);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i; next < count && is_same_place(samples + next, samples + i);)
			next++;
		for (size_t k = i; k < next && next - i > 1; k++) {
			ret[samples[k].index] = median_without(samples + i, next - i, k - i);
			if (ret_all)
				ret_all[samples[k].index] = samples[i + (next - i - 1) / 2].ns;
		}
	}
}

static int64_t *new_unknown(size_t count)
{
	int64_t *ret = malloc((count + 1) * sizeof(*ret));

	for (size_t i = 0; ret && i < count; i++)
		ret[i] = WHATIF_UNKNOWN;
	return ret;
}

static int find_op_peers(const struct whatif_job *job, struct whatif_peers *ret)
{
	CLEANUP(free_p) struct sample *samples = calloc(job->op_count + 1, sizeof(*samples));
	size_t count = 0;

	ret->op_ns = new_unknown(job->op_count);
	ret->op_all_ns = new_unknown(job->op_count);
	if (!samples || !ret->op_ns || !ret->op_all_ns)
		return -ENOMEM;
	for (size_t i = 0; i < job->op_count; i++) {
		const struct whatif_op *op = job->ops + i;

		if (op->operation == WHATIF_NONE)
			samples[count++] = (struct sample){key_of(job, op->process, 0, op->work),
				op->step, op->place, op->process, (uint32_t)i,
				wrap_minus(op->end, op->start)};
	}
	find_medians(samples, count, ret->op_ns, ret->op_all_ns);
	return 0;
}

static int find_host_peers(
	const struct whatif_job *job, const struct whatif_graph *g, struct whatif_peers *ret)
{
	CLEANUP(free_p) struct sample *samples = calloc(g->host_count + 1, sizeof(*samples));
	size_t count = 0;

	ret->host_ns = new_unknown(g->host_count);
	if (!samples || !ret->host_ns)
		return -ENOMEM;
	for (size_t i = 0; i < g->host_count; i++) {
		const struct whatif_host *host = g->hosts + i;

		if (!host->is_bound)
			samples[count++] =
				(struct sample){key_of(job, host->process, host->kind, host->work),
					host->step, host->place, host->process, (uint32_t)i,
					g->nodes[g->first_host + i].length};
	}
	find_medians(samples, count, ret->host_ns, NULL);
	return 0;
}

/* Communicators do the same if they move as much by the same operation among as many ranks. */
static int add_transfer(const struct collectives *c, uint32_t index, struct idmap *counts,
	int64_t ns, uint32_t step, struct sample *ret)
{
	const struct collectives_operation *o = c->operations + index;
	uint64_t work = (((uint64_t)o->op * 1000003 + (uint64_t)o->bytes) * 1000003 + o->launches) *
			UINT64_C(0x9e3779b97f4a7c15);
	uint32_t *count =
		idmap_at(counts, (int64_t)((work + o->comm) * UINT64_C(0xff51afd7ed558ccd) + step));

	if (!count)
		return -ENOMEM;
	*count = *count == IDMAP_NONE ? 0 : *count + 1;
	*ret = (struct sample){work, step, *count, o->comm, index, ns};
	return 0;
}

static int find_transfer_peers(
	const struct whatif_job *job, const struct whatif_graph *g, struct whatif_peers *ret)
{
	const struct collectives *c = job->collectives;
	CLEANUP(free_p) struct sample *samples = calloc(c->operation_count + 1, sizeof(*samples));
	CLEANUP(free_p) uint32_t *steps = calloc(c->operation_count + 1, sizeof(*steps));
	CLEANUP(idmap_done) struct idmap counts = {0};
	size_t count = 0;
	int r = 0;

	ret->transfer_ns = new_unknown(c->operation_count);
	ret->other_transfer_ns = new_unknown(c->operation_count);
	if (!samples || !steps || !ret->transfer_ns || !ret->other_transfer_ns)
		return -ENOMEM;
	for (size_t i = 0; i < job->op_count; i++) {
		const struct whatif_op *op = job->ops + i;
		int64_t ns = g->nodes[whatif_end_of(i)].length;

		if (op->operation == WHATIF_NONE)
			continue;
		if (ns > ret->transfer_ns[op->operation])
			ret->transfer_ns[op->operation] = ns;
		steps[op->operation] = op->step;
	}
	for (size_t i = 0; i < c->operation_count && !r; i++)
		if (ret->transfer_ns[i] > 0)
			r = add_transfer(c, (uint32_t)i, &counts, ret->transfer_ns[i], steps[i],
				samples + count++);
	if (!r)
		find_medians(samples, count, ret->other_transfer_ns, NULL);
	return r;
}

int whatif_peers_find(
	const struct whatif_job *job, const struct whatif_graph *g, struct whatif_peers *ret)
{
	int r = find_op_peers(job, ret);

	if (!r)
		r = find_host_peers(job, g, ret);
	return r ? r : find_transfer_peers(job, g, ret);
}
