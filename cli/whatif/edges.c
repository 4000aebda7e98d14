// SPDX-License-Identifier: MIT
/* Makes the graph: walks through what each process submits and calls, in the order of time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/collectives/waiting.h"
#include "cli/whatif/whatif.h"
#include "proto/base/cleanup.h"

/* An event keeps at most so many operations: those of streams that a stream waits for at once. */
#define AWAITED_MAX 64
/* And a stream or a host waits for at most so many. */
#define SOURCES_MAX 1024
/* The sources among which a second edge from the same one is looked for. */
#define ALIKE_MAX   8

/* What a stream or an event waits for: a list that shares its tail with others. */
struct link {
	uint32_t op, next;
};

struct stream {
	uint32_t last;	  /* operation */
	uint32_t awaited; /* list: the next operation waits for these, too */
};

/* A call in which the host waits: its begin, and what it waits for. */
struct begun {
	uint32_t node, list;
};

enum entry_kind { ENTRY_CALL_END, ENTRY_OP, ENTRY_PACKET, ENTRY_CALL_BEGIN };

/* What is put into queues at one moment has an order in each queue: a rank, see compare_entries. */
struct entry {
	int64_t at, position;
	enum entry_kind kind;
	uint32_t queue, index;
};

struct walk {
	const struct whatif_job *job;
	struct whatif_graph *graph;
	bool hosts_wait;
	struct link *links;
	size_t link_count, link_capacity;
	struct stream *streams;
	size_t stream_count, stream_capacity;
	struct idmap stream_of_key, event_of_key; /* an event's value: list, index in links */
	uint32_t *last_of_queue;
	uint32_t *awaited_of_queue; /* lists, as of streams */
	struct begun *begun;	    /* by call */
	/* Of the process: */
	uint32_t *queues;
	size_t queue_count;
	struct idmap last_of_thread, waits_of_step;
	uint32_t last_submit, step; /* node; index */
	int64_t reach;		    /* the last end of what was submitted */
	struct entry *entries;
	size_t entry_count;
};

static void walk_done(struct walk *w)
{
	free(w->links);
	free(w->streams);
	free(w->last_of_queue);
	free(w->awaited_of_queue);
	free(w->begun);
	free(w->queues);
	free(w->entries);
	idmap_done(&w->stream_of_key);
	idmap_done(&w->event_of_key);
	idmap_done(&w->last_of_thread);
	idmap_done(&w->waits_of_step);
}

void whatif_graph_done(struct whatif_graph *graph)
{
	free(graph->nodes);
	free(graph->sources);
	free(graph->order);
	free(graph->hosts);
	*graph = (struct whatif_graph){0};
}

/* ---- nodes and their sources ---------------------------------------------------------------- */

static void begin_node(struct whatif_graph *g, uint32_t node, int64_t at)
{
	g->nodes[node] = (struct whatif_node){
		.at = at, .floor = WHATIF_UNKNOWN, .first_source = (uint32_t)g->source_count};
}

/* Adds a source to the node that was begun last. */
static int add_source(struct whatif_graph *g, uint32_t node, uint32_t source)
{
	if (source == WHATIF_NONE)
		return 0;
	for (uint32_t i = 0; i < g->nodes[node].sources && i < ALIKE_MAX; i++)
		if (g->sources[g->nodes[node].first_source + i] == source)
			return 0;
	if (GROW(g->sources, g->source_count, g->source_capacity))
		return -ENOMEM;
	g->sources[g->source_count++] = source;
	g->nodes[node].sources++;
	return 0;
}

static uint32_t end_of(uint32_t op)
{
	return op == WHATIF_NONE ? WHATIF_NONE : whatif_end_of(op);
}

static int add_list(struct walk *w, uint32_t node, uint32_t list)
{
	int r = 0;

	for (int i = 0; list != WHATIF_NONE && i < SOURCES_MAX && !r;
		list = w->links[list].next, i++)
		r = add_source(w->graph, node, end_of(w->links[list].op));
	return r;
}

/* Adds the last operation of each queue of the process. */
static int add_all_queues(struct walk *w, uint32_t node)
{
	int r = 0;

	for (size_t i = 0; i < w->queue_count && !r; i++)
		r = add_source(w->graph, node, end_of(w->last_of_queue[w->queues[i]]));
	return r;
}

/* ---- streams and events --------------------------------------------------------------------- */

static struct stream *find_stream(struct walk *w, int64_t key)
{
	uint32_t *at = idmap_at(&w->stream_of_key, key);

	if (!at)
		return NULL;
	if (*at == IDMAP_NONE) {
		if (GROW(w->streams, w->stream_count, w->stream_capacity))
			return NULL;
		*at = (uint32_t)w->stream_count;
		w->streams[w->stream_count++] = (struct stream){WHATIF_NONE, WHATIF_NONE};
	}
	return w->streams + *at;
}

static int put_before(struct walk *w, uint32_t op, uint32_t *list)
{
	if (op == WHATIF_NONE)
		return 0;
	if (GROW(w->links, w->link_count, w->link_capacity))
		return -ENOMEM;
	w->links[w->link_count] = (struct link){op, *list};
	*list = (uint32_t)w->link_count++;
	return 0;
}

/* What an event or a signal stands for: @last, and what the stream or queue waits for. */
static int record_event(struct walk *w, int64_t key, uint32_t last, uint32_t awaited)
{
	uint32_t *event = idmap_at(&w->event_of_key, key);

	if (!event || put_before(w, last, &awaited))
		return -ENOMEM;
	*event = awaited;
	return 0;
}

static int await_event(struct walk *w, int64_t key, uint32_t *awaited)
{
	uint32_t list = idmap_find(&w->event_of_key, key);

	for (int i = 0; list != IDMAP_NONE && i < AWAITED_MAX; i++) {
		if (put_before(w, w->links[list].op, awaited))
			return -ENOMEM;
		list = w->links[list].next;
	}
	return 0;
}

static int pass_packet(struct walk *w, const struct whatif_call *call)
{
	uint32_t *awaited = &w->awaited_of_queue[call->queue];

	return call->kind == WHATIF_AWAITS_EVENT
		       ? await_event(w, call->event, awaited)
		       : record_event(w, call->event, w->last_of_queue[call->queue], *awaited);
}

/* ---- the host ------------------------------------------------------------------------------- */

/*
 * Begins a node of the host. It follows what its thread did before, or the last submission of any
 * thread: threads of a framework hand over to each other, but none of them waits because another
 * one waits for the GPU.
 */
static int begin_host(
	struct walk *w, const struct whatif_host *host, int64_t at, int64_t tid, uint32_t *ret)
{
	struct whatif_graph *g = w->graph;
	uint32_t *last = idmap_at(&w->last_of_thread, tid), node = (uint32_t)g->node_count, before;

	if (!last || GROW(g->nodes, g->node_count, g->node_capacity) ||
		GROW(g->hosts, g->host_count, g->host_capacity))
		return -ENOMEM;
	before = *last;
	if (before == IDMAP_NONE || (w->last_submit != WHATIF_NONE && w->last_submit > before))
		before = w->last_submit;
	g->node_count++;
	g->hosts[g->host_count++] = *host;
	begin_node(g, node, at);
	*last = node;
	*ret = node;
	return add_source(g, node, before);
}

static int count_wait(struct walk *w, const struct whatif_call *call, struct whatif_host *host)
{
	uint32_t *count = idmap_at(&w->waits_of_step,
		(int64_t)((uint64_t)w->step << 32 | call->api << 2 | (uint32_t)host->kind));

	if (!count)
		return -ENOMEM;
	*count = *count == IDMAP_NONE ? 0 : *count + 1;
	host->place = *count;
	return 0;
}

/* Lists what a call waits for, as of now. */
static int list_waited_for(struct walk *w, const struct whatif_call *call, uint32_t *ret)
{
	const struct stream *stream;
	int r = 0;

	*ret = WHATIF_NONE;
	switch (call->kind) {
	case WHATIF_WAITS_FOR_STREAM:
		stream = find_stream(w, call->stream);
		if (!stream)
			return -ENOMEM;
		*ret = stream->awaited;
		return put_before(w, stream->last, ret);
	case WHATIF_WAITS_FOR_EVENT:
		*ret = idmap_find(&w->event_of_key, call->event);
		return 0;
	default:
		for (size_t i = 0; i < w->queue_count && !r; i++)
			r = put_before(w, w->last_of_queue[w->queues[i]], ret);
		return r;
	}
}

static int begin_wait(struct walk *w, uint32_t at)
{
	const struct whatif_call *call = w->job->calls + at;
	struct whatif_host host = {.process = call->process,
		.work = call->api,
		.step = w->step,
		.kind = WHATIF_WAIT_BEGIN};
	int r = count_wait(w, call, &host);

	if (!r)
		r = begin_host(w, &host, call->start, call->tid, &w->begun[at].node);
	return r ? r : list_waited_for(w, call, &w->begun[at].list);
}

static int end_wait(struct walk *w, uint32_t at)
{
	const struct whatif_call *call = w->job->calls + at;
	struct whatif_host host = {.process = call->process,
		.work = call->api,
		.step = w->step,
		.kind = WHATIF_WAIT_END,
		.is_bound = true};
	uint32_t node;
	int r = count_wait(w, call, &host);

	if (!r && call->kind == WHATIF_WAITS_FOR_ALL_AT_END)
		r = list_waited_for(w, call, &w->begun[at].list);
	/* It follows its own begin, which is the last of its thread. */
	if (!r)
		r = begin_host(w, &host, call->end, call->tid, &node);
	if (!r)
		r = add_source(w->graph, node, w->begun[at].node);
	return r ? r : add_list(w, node, w->begun[at].list);
}

static int submit(struct walk *w, const struct whatif_op *op, uint32_t *ret)
{
	struct whatif_host host = {.process = op->process,
		.work = op->work,
		.step = op->step,
		.place = op->place,
		.kind = WHATIF_SUBMIT};
	bool is_drained = w->reach != WHATIF_UNKNOWN && w->reach <= op->submit;
	int r;

	*ret = WHATIF_NONE;
	if (op->submit == WHATIF_UNKNOWN)
		return 0;
	r = begin_host(w, &host, op->submit, op->tid, ret);
	w->last_submit = *ret;
	if (!r && w->hosts_wait && is_drained && !w->job->processes[op->process].has_calls)
		r = add_all_queues(w, *ret);
	return r;
}

/* ---- operations ----------------------------------------------------------------------------- */

static struct stream *stream_of(struct walk *w, const struct whatif_op *op)
{
	uint32_t at = op->call ? idmap_find(&w->job->stream_of_call, op->call) : IDMAP_NONE;

	return at == IDMAP_NONE ? NULL : find_stream(w, w->job->streams[at]);
}

static int add_queue(struct walk *w, uint32_t queue)
{
	uint32_t *grown;

	if (w->last_of_queue[queue] != WHATIF_NONE)
		return 0;
	grown = grow_by_one(w->queues, w->queue_count, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	w->queues = grown;
	w->queues[w->queue_count++] = queue;
	return 0;
}

static int add_op(struct walk *w, uint32_t at)
{
	const struct whatif_op *op = w->job->ops + at;
	struct whatif_graph *g = w->graph;
	uint32_t start = whatif_start_of(at), host;
	struct stream *stream = stream_of(w, op);
	int r = submit(w, op, &host);

	begin_node(g, start, op->start);
	if (!r)
		r = add_source(g, start, host);
	if (!r)
		r = add_source(g, start, end_of(w->last_of_queue[op->queue]));
	if (!r)
		r = add_list(w, start, w->awaited_of_queue[op->queue]);
	if (!r && stream)
		r = add_source(g, start, end_of(stream->last));
	if (!r && stream)
		r = add_list(w, start, stream->awaited);
	if (!r)
		r = add_queue(w, op->queue);
	if (stream)
		*stream = (struct stream){at, WHATIF_NONE};
	w->last_of_queue[op->queue] = at;
	w->awaited_of_queue[op->queue] = WHATIF_NONE;
	w->step = op->step;
	if (op->end > w->reach)
		w->reach = op->end;
	return r;
}

/* ---- the walk ------------------------------------------------------------------------------- */

static int class_of(const struct entry *entry)
{
	return entry->kind == ENTRY_CALL_END ? 0 : entry->kind == ENTRY_CALL_BEGIN ? 2 : 1;
}

/* A packet that stands where a kernel does comes before that. */
static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (class_of(x) != class_of(y))
		return class_of(x) < class_of(y) ? -1 : 1;
	if (x->queue != y->queue)
		return x->queue < y->queue ? -1 : 1;
	if (x->position != y->position)
		return x->position < y->position ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind > y->kind ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static bool waits(const struct whatif_call *call)
{
	return call->kind >= WHATIF_WAITS_FOR_STREAM && call->end > call->start;
}

static void collect(struct walk *w, uint32_t process, size_t *op, size_t *call)
{
	const struct whatif_job *job = w->job;

	w->entry_count = 0;
	for (; *op < job->op_count && job->ops[*op].process == process; ++*op) {
		const struct whatif_op *o = job->ops + *op;

		w->entries[w->entry_count++] =
			(struct entry){.at = o->submit == WHATIF_UNKNOWN ? o->start : o->submit,
				.position = o->sequence,
				.kind = ENTRY_OP,
				.queue = o->queue,
				.index = (uint32_t)*op};
	}
	for (; *call < job->call_count && job->calls[*call].process == process; ++*call) {
		const struct whatif_call *c = job->calls + *call;

		w->entries[w->entry_count++] = (struct entry){.at = c->start,
			.position = c->position,
			.kind = c->queue == WHATIF_NONE ? ENTRY_CALL_BEGIN : ENTRY_PACKET,
			.queue = c->queue,
			.index = (uint32_t)*call};
		if (waits(c))
			w->entries[w->entry_count++] = (struct entry){
				.at = c->end, .kind = ENTRY_CALL_END, .index = (uint32_t)*call};
	}
	qsort(w->entries, w->entry_count, sizeof(*w->entries), compare_entries);
}

static int begin_call(struct walk *w, uint32_t at)
{
	const struct whatif_call *call = w->job->calls + at;
	struct stream *stream;

	if (call->kind != WHATIF_RECORDS_EVENT && call->kind != WHATIF_AWAITS_EVENT)
		return waits(call) ? begin_wait(w, at) : 0;
	stream = find_stream(w, call->stream);
	if (!stream)
		return -ENOMEM;
	return call->kind == WHATIF_AWAITS_EVENT
		       ? await_event(w, call->event, &stream->awaited)
		       : record_event(w, call->event, stream->last, stream->awaited);
}

static int pass_entry(struct walk *w, const struct entry *entry)
{
	switch (entry->kind) {
	case ENTRY_CALL_END:
		return end_wait(w, entry->index);
	case ENTRY_OP:
		return add_op(w, entry->index);
	case ENTRY_PACKET:
		return pass_packet(w, w->job->calls + entry->index);
	case ENTRY_CALL_BEGIN:
		return begin_call(w, entry->index);
	}
	return 0;
}

static int walk_process(struct walk *w)
{
	int r = 0;

	w->queue_count = 0;
	free(w->queues);
	w->queues = NULL;
	idmap_done(&w->last_of_thread);
	idmap_done(&w->waits_of_step);
	w->last_of_thread = w->waits_of_step = (struct idmap){0};
	w->last_submit = w->step = WHATIF_NONE;
	w->reach = WHATIF_UNKNOWN;
	for (size_t i = 0; i < w->entry_count && !r; i++)
		r = pass_entry(w, w->entries + i);
	return r;
}

/* ---- collectives ---------------------------------------------------------------------------- */

/* The moment at which all ranks that a collective waits for have started it. */
static int add_meetings(const struct whatif_job *job, struct whatif_graph *g)
{
	const struct collectives *c = job->collectives;
	CLEANUP(free_p) uint32_t *next = calloc(job->op_count + 1, sizeof(*next));
	CLEANUP(free_p) uint32_t *first = calloc(c->operation_count + 1, sizeof(*first));
	int r = 0;

	if (!next || !first)
		return -ENOMEM;
	memset(first, 0xff, (c->operation_count + 1) * sizeof(*first));
	for (size_t i = job->op_count; i-- > 0;) {
		if (job->ops[i].operation == WHATIF_NONE)
			continue;
		next[i] = first[job->ops[i].operation];
		first[job->ops[i].operation] = (uint32_t)i;
	}
	for (size_t i = 0; i < c->operation_count && !r; i++) {
		const struct collectives_operation *o = c->operations + i;
		uint32_t node = g->first_meeting + (uint32_t)i;
		/* What has no times has no kernels that could tell its direction. */
		bool has_root = o->is_timed && waiting_direction_of(c, o) == WAITING_FROM_ROOT;
		uint32_t root = has_root ? waiting_root_launch(c, o) : COLLECTIVES_NONE;

		begin_node(g, node, o->start_first);
		for (uint32_t op = first[i]; op != WHATIF_NONE && !r; op = next[op]) {
			if (has_root && root != COLLECTIVES_NONE && job->ops[op].launch != root)
				continue;
			r = add_source(g, node, whatif_start_of(op));
			if (job->ops[op].start > g->nodes[node].at)
				g->nodes[node].at = job->ops[op].start;
		}
	}
	return r;
}

static int add_ends(const struct whatif_job *job, struct whatif_graph *g)
{
	const struct collectives *c = job->collectives;
	int r = 0;

	for (size_t i = 0; i < job->op_count && !r; i++) {
		const struct whatif_op *op = job->ops + i;
		const struct collectives_operation *o =
			op->operation == WHATIF_NONE ? NULL : c->operations + op->operation;

		begin_node(g, whatif_end_of(i), op->end);
		r = add_source(g, whatif_end_of(i), whatif_start_of(i));
		if (r || !o)
			continue;
		if (waiting_direction_of(c, o) == WAITING_TO_ROOT &&
			waiting_root_launch(c, o) != op->launch)
			continue; /* it does not wait for the others */
		r = add_source(g, whatif_end_of(i), g->first_meeting + op->operation);
	}
	return r;
}

int whatif_graph_make(const struct whatif_job *job, bool hosts_wait, struct whatif_graph *ret)
{
	CLEANUP(walk_done) struct walk w = {.job = job, .graph = ret, .hosts_wait = hosts_wait};
	size_t op = 0, call = 0;
	int r = 0;

	*ret = (struct whatif_graph){.first_meeting = (uint32_t)(2 * job->op_count)};
	ret->first_host = ret->first_meeting + (uint32_t)job->collectives->operation_count;
	ret->node_count = ret->node_capacity = ret->first_host;
	ret->nodes = calloc(ret->node_count + 1, sizeof(*ret->nodes));
	w.last_of_queue = malloc((job->queue_count + 1) * sizeof(*w.last_of_queue));
	w.awaited_of_queue = malloc((job->queue_count + 1) * sizeof(*w.awaited_of_queue));
	w.begun = calloc(job->call_count + 1, sizeof(*w.begun));
	w.entries = calloc(job->op_count + 2 * job->call_count + 1, sizeof(*w.entries));
	if (!ret->nodes || !w.last_of_queue || !w.awaited_of_queue || !w.begun || !w.entries)
		return -ENOMEM;
	memset(w.last_of_queue, 0xff, (job->queue_count + 1) * sizeof(*w.last_of_queue));
	memset(w.awaited_of_queue, 0xff, (job->queue_count + 1) * sizeof(*w.awaited_of_queue));
	for (uint32_t i = 0; i < job->process_count && !r; i++) {
		collect(&w, i, &op, &call);
		r = walk_process(&w);
	}
	if (!r)
		r = add_meetings(job, ret);
	if (!r)
		r = add_ends(job, ret);
	return r ? r : whatif_graph_measure(job, ret);
}
