// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>

#include "cli/base/array.h"
#include "cli/import/rows/trace_process.h"
#include "proto/base/cleanup.h"

/* ---- nesting of intervals ---- */

/* The open intervals of a thread, outer ones first. */
struct thread {
	int64_t tid;
	uint32_t *open;
	size_t count, capacity;
};

struct threads {
	struct thread *at;
	size_t count, capacity, last;
};

static void threads_done(struct threads *threads)
{
	for (size_t i = 0; i < threads->count; i++)
		free(threads->at[i].open);
	free(threads->at);
}

static struct thread *find_thread(struct threads *threads, int64_t tid)
{
	size_t i = threads->last;

	if (i >= threads->count || threads->at[i].tid != tid)
		for (i = 0; i < threads->count && threads->at[i].tid != tid; i++)
			;
	if (i == threads->count) {
		if (GROW(threads->at, threads->count, threads->capacity))
			return NULL;
		threads->at[threads->count++] = (struct thread){.tid = tid};
	}
	threads->last = i;
	return threads->at + i;
}

/* Sorts by start, outer ones first. Of equal intervals, ranges are around operations, and
 * operations around calls. */
static int compare_hosts(const void *left, const void *right)
{
	const struct trace_host *a = left, *b = right;
	static const uint8_t outer[] = {[TRACE_CALL] = 3,
		[TRACE_SUBMIT] = 4,
		[TRACE_RANGE] = 0,
		[TRACE_OP] = 2,
		[TRACE_PYTHON] = 1};

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns > b->end_ns ? -1 : 1;
	if (a->kind != b->kind)
		return outer[a->kind] < outer[b->kind] ? -1 : 1;
	return (a->detail > b->detail) - (a->detail < b->detail);
}

/* Closes intervals that end before @host begins or within it: nothing that follows is inside
 * them. */
static void leave(
	const struct trace_process *p, struct thread *thread, const struct trace_host *host)
{
	while (thread->count) {
		const struct trace_host *last = p->hosts + thread->open[thread->count - 1];

		if (last->end_ns > host->start_ns && last->end_ns >= host->end_ns)
			return;
		/* An interval without length may be at the end of another. */
		if (last->end_ns == host->start_ns && host->end_ns == host->start_ns &&
			last->start_ns < last->end_ns)
			return;
		thread->count--;
	}
}

static void note_around(
	const struct trace_process *p, const struct thread *thread, struct trace_host *host)
{
	const struct trace_host *around;

	if (!thread->count)
		return;
	around = p->hosts + thread->open[thread->count - 1];
	host->call = around->kind == TRACE_CALL ? around->number : around->call;
	host->op = around->kind == TRACE_OP || around->kind == TRACE_PYTHON ? around->number
									    : around->op;
	host->range = around->kind == TRACE_RANGE ? around->number : around->range;
}

int trace_links_nest(struct trace_process *process)
{
	CLEANUP(threads_done) struct threads threads = {0};
	uint32_t numbers[TRACE_PYTHON + 1] = {0}, graphs = 0;

	if (process->host_count)
		qsort(process->hosts, process->host_count, sizeof(*process->hosts), compare_hosts);
	for (size_t i = 0; i < process->host_count; i++) {
		struct trace_host *host = process->hosts + i;
		struct thread *thread = find_thread(&threads, host->tid);

		if (!thread)
			return -ENOMEM;
		/* Frames of Python are operations as well, and share their numbers. */
		host->number = ++numbers[host->kind == TRACE_PYTHON ? TRACE_OP : host->kind];
		if (host->is_graph_launch)
			host->launch = graphs++;
		leave(process, thread, host);
		note_around(process, thread, host);
		if (host->kind == TRACE_SUBMIT)
			continue;
		if (GROW(thread->open, thread->count, thread->capacity))
			return -ENOMEM;
		thread->open[thread->count++] = (uint32_t)i;
	}
	return 0;
}

/* ---- links from work to calls ---- */

static int compare_foreign(const void *left, const void *right, void *data)
{
	const struct trace_process *p = data;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	int64_t x = p->hosts[a].foreign, y = p->hosts[b].foreign;

	if (x != y)
		return x < y ? -1 : 1;
	return (a > b) - (a < b);
}

int trace_links_index(const struct trace_process *process, struct trace_index *ret)
{
	size_t count = 0;

	for (size_t i = 0; i < process->host_count; i++)
		count += process->hosts[i].foreign != TRACE_NO_NUMBER;
	*ret = (struct trace_index){
		.process = process, .by_foreign = calloc(count + 1, sizeof(*ret->by_foreign))};
	if (!ret->by_foreign)
		return -ENOMEM;
	for (size_t i = 0; i < process->host_count; i++)
		if (process->hosts[i].foreign != TRACE_NO_NUMBER)
			ret->by_foreign[ret->count++] = (uint32_t)i;
	qsort_r(ret->by_foreign, count, sizeof(*ret->by_foreign), compare_foreign, (void *)process);
	return 0;
}

void trace_index_done(struct trace_index *index)
{
	free(index->by_foreign);
}

uint32_t trace_links_find(const struct trace_index *index, int64_t foreign, int64_t start_ns)
{
	const struct trace_host *hosts = index->process->hosts;
	size_t low = 0, high = index->count;

	if (foreign == TRACE_NO_NUMBER)
		return TRACE_NONE;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (hosts[index->by_foreign[middle]].foreign < foreign)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == index->count || hosts[index->by_foreign[low]].foreign != foreign)
		return TRACE_NONE;
	while (low + 1 < index->count && hosts[index->by_foreign[low + 1]].foreign == foreign &&
		hosts[index->by_foreign[low + 1]].start_ns <= start_ns)
		low++;
	return index->by_foreign[low];
}
