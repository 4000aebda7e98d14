// SPDX-License-Identifier: MIT
/* Loads the kernels, copies, host calls and collectives of the processes that lead their ranks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/base/wrapping.h"
#include "cli/trace/kernels/host_call_key.h"
#include "cli/trace/kernels/leaders.h"
#include "cli/trace/steps/steps.h"
#include "cli/whatif/whatif.h"
#include "proto/base/cleanup.h"

struct shape {
	uint32_t queue, lane, work; /* work: WHATIF_NONE if its kernel has no name */
	int64_t total_ns;
	uint64_t calls;
};

struct loading {
	const struct trace *trace;
	struct whatif_job *job;
	char *refused;
	struct shape *shapes; /* as those of the trace */
	struct idmap work_of_hash, queue_of_hash, lane_of_hash, api_of_hash, queue_of_copy;
	struct steps *steps, *marked;
	struct leaders *leaders;
};

static void loading_done(struct loading *l)
{
	free(l->shapes);
	idmap_done(&l->work_of_hash);
	idmap_done(&l->queue_of_hash);
	idmap_done(&l->lane_of_hash);
	idmap_done(&l->api_of_hash);
	idmap_done(&l->queue_of_copy);
	steps_free_p(&l->steps);
	steps_free_p(&l->marked);
	leaders_free_p(&l->leaders);
}

void whatif_job_free_p(struct whatif_job **job)
{
	struct whatif_job *j = *job;

	if (!j)
		return;
	for (size_t i = 0; i < j->work_count; i++)
		free(j->works[i].name);
	free(j->works);
	free(j->processes);
	free(j->ops);
	free(j->calls);
	free(j->streams);
	idmap_done(&j->process_of_id);
	idmap_done(&j->stream_of_call);
	collectives_free_p(&j->collectives);
	free(j);
	*job = NULL;
}

/* FNV-1a, for keys of several numbers. */
static int64_t hash_numbers(const int64_t *numbers, size_t count)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < count; i++)
		for (int k = 0; k < 64; k += 8)
			hash = (hash ^ ((uint64_t)numbers[i] >> k & 0xff)) *
			       UINT64_C(1099511628211);
	return (int64_t)hash;
}

static int64_t hash_text(const char *text)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (; text && *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
	return (int64_t)hash;
}

/* Returns the number of @key, the next one if it is new; WHATIF_NONE if memory is short. */
static uint32_t number_of(struct idmap *map, int64_t key)
{
	uint32_t count = (uint32_t)map->count, *at = idmap_at(map, key);

	if (!at)
		return WHATIF_NONE;
	if (*at == IDMAP_NONE)
		*at = count;
	return *at;
}

static int find_work(
	struct loading *l, int64_t key, const char *name, bool is_communication, uint32_t *ret)
{
	struct whatif_job *job = l->job;

	*ret = number_of(&l->work_of_hash, key);
	if (*ret == WHATIF_NONE)
		return -ENOMEM;
	if (*ret < job->work_count)
		return 0;
	if (GROW(job->works, job->work_count, job->work_capacity))
		return -ENOMEM;
	job->works[job->work_count] =
		(struct whatif_work){strdup(name ? name : ""), is_communication};
	return job->works[job->work_count++].name ? 0 : -ENOMEM;
}

static int find_lane(struct loading *l, int64_t process_id, int64_t gpu_id, uint32_t *ret)
{
	*ret = number_of(&l->lane_of_hash, hash_numbers((int64_t[]){process_id, gpu_id}, 2));
	return *ret == WHATIF_NONE ? -ENOMEM : 0;
}

static int set_shape(struct loading *l, const struct trace_shape *from, struct shape *ret)
{
	int64_t key[1 + TRACE_SIZES] = {from->kernel_id};
	int64_t queue[] = {from->process_id, from->queue_id, 0};
	int r;

	ret->work = WHATIF_NONE;
	if (!from->kernel)
		return 0;
	memcpy(key + 1, from->size, sizeof(from->size));
	r = find_work(l, hash_numbers(key, 1 + TRACE_SIZES), from->kernel->name,
		from->category->class == CATEGORY_COMMUNICATION, &ret->work);
	ret->queue = number_of(&l->queue_of_hash, hash_numbers(queue, 3));
	if (!r && ret->queue == WHATIF_NONE)
		r = -ENOMEM;
	return r ? r : find_lane(l, from->process_id, from->gpu_id, &ret->lane);
}

static int set_shapes(struct loading *l)
{
	int r = 0;

	l->shapes = calloc(l->trace->shape_count + 1, sizeof(*l->shapes));
	if (!l->shapes)
		return -ENOMEM;
	for (size_t i = 0; i < l->trace->shape_count && !r; i++)
		r = set_shape(l, l->trace->shapes + i, l->shapes + i);
	return r;
}

/* ---- kernels and copies --------------------------------------------------------------------- */

static int add_op(struct loading *l, const struct whatif_op *op)
{
	struct whatif_job *job = l->job;

	if (job->op_count == WHATIF_OPERATIONS_MAX) {
		snprintf(l->refused, WHATIF_REASON_BYTES,
			"more than %d kernels and copies have times: record fewer steps "
			"(rtl run --steps)",
			WHATIF_OPERATIONS_MAX);
		return -E2BIG;
	}
	if (GROW(job->ops, job->op_count, job->op_capacity))
		return -ENOMEM;
	job->ops[job->op_count++] = *op;
	return 0;
}

/* Processes are not known yet, so an operation has the index of its shape. */
static int load_dispatches(struct loading *l)
{
	int r = 0;

	QUERY_EACH (r, l->trace->query, "whatif_dispatches", rows) {
		size_t at = trace_shape(l->trace, query_integer(rows, 0));
		struct whatif_op op = {.start = query_integer(rows, 2), .operation = WHATIF_NONE};
		struct shape *shape = l->shapes + at;

		if (at == l->trace->shape_count || shape->work == WHATIF_NONE ||
			query_is_null(rows, 2) || query_integer(rows, 3) < 0)
			continue;
		op.end = wrap_plus(op.start, query_integer(rows, 3));
		op.submit = query_is_null(rows, 4) ? WHATIF_UNKNOWN
						   : wrap_minus(op.start, query_integer(rows, 4));
		op.call = query_is_null(rows, 5) ? 0
						 : host_call_key(l->trace->shapes[at].process_id,
							   query_integer(rows, 5));
		op.sequence = query_integer(rows, 1);
		op.tid = query_integer(rows, 6);
		op.process = (uint32_t)at;
		op.work = shape->work;
		op.queue = shape->queue;
		op.lane = shape->lane;
		shape->total_ns = wrap_plus(shape->total_ns, query_integer(rows, 3));
		shape->calls++;
		r = add_op(l, &op);
	}
	return r;
}

/*
 * Copies have no queue: those of a stream follow each other, and so do those of a process and a
 * direction whose streams are not known, as if an engine took one at a time.
 */
static int add_copy(struct loading *l, uint32_t process, const struct query_rows *rows)
{
	int64_t process_id = query_integer(rows, 0);
	const char *direction = query_text(rows, 5);
	int64_t work[] = {hash_text(direction), query_integer(rows, 4)};
	int64_t gpu_id = query_integer(rows, query_is_null(rows, 9) ? 8 : 9);
	struct whatif_op op = {.start = query_integer(rows, 1),
		.end = query_integer(rows, 2),
		.submit = query_is_null(rows, 3) ? WHATIF_UNKNOWN : query_integer(rows, 3),
		.call = query_is_null(rows, 6) ? 0
					       : host_call_key(process_id, query_integer(rows, 6)),
		.sequence = query_integer(rows, 10),
		.tid = query_integer(rows, 7),
		.process = process,
		.operation = WHATIF_NONE};
	int64_t queue[] = {process_id, work[0], 1};
	char name[64];
	uint32_t *at;
	int r;

	if (op.end < op.start)
		return 0;
	snprintf(name, sizeof(name), "copy %.20s", direction ? direction : "");
	r = find_work(l, hash_numbers(work, 2), name, false, &op.work);
	op.queue = number_of(&l->queue_of_hash, hash_numbers(queue, 3));
	at = idmap_at(&l->queue_of_copy, hash_numbers((int64_t[]){process_id, op.sequence}, 2));
	if (r || !at || op.queue == WHATIF_NONE || find_lane(l, process_id, gpu_id, &op.lane))
		return -ENOMEM;
	*at = op.queue;
	return add_op(l, &op);
}

static int load_copies(struct loading *l)
{
	int r = 0;

	QUERY_EACH (r, l->trace->query, "whatif_copies", rows) {
		uint32_t process = idmap_find(&l->job->process_of_id, query_integer(rows, 0));

		r = process == IDMAP_NONE ? 0 : add_copy(l, process, rows);
	}
	return r;
}

/* ---- processes ------------------------------------------------------------------------------ */

static int find_leaders(struct loading *l)
{
	const struct trace *trace = l->trace;
	CLEANUP(free_p) struct leaders_sum *sums = calloc(trace->shape_count + 1, sizeof(*sums));
	struct whatif_job *job = l->job;
	size_t capacity = 0;
	int r;

	if (!sums)
		return -ENOMEM;
	for (size_t i = 0; i < trace->shape_count; i++)
		sums[i] = (struct leaders_sum){.process_id = trace->shapes[i].process_id,
			.total_ns = l->shapes[i].total_ns,
			.calls = l->shapes[i].calls,
			.is_communication =
				trace->shapes[i].category->class == CATEGORY_COMMUNICATION};
	r = leaders_new_of(trace, sums, trace->shape_count, l->steps, &l->leaders);
	for (size_t i = 0; !r && i < l->leaders->count; i++) {
		const struct leader *leader = l->leaders->at + i;
		uint32_t *at;

		if (!leader->leads)
			continue;
		at = idmap_at(&job->process_of_id, leader->process_id);
		if (!at || GROW(job->processes, job->process_count, capacity))
			return -ENOMEM;
		*at = (uint32_t)job->process_count;
		job->processes[job->process_count++] =
			(struct whatif_process){.id = leader->process_id,
				.rank = leader->rank,
				.has_rank = leader->has_rank,
				.pid = leader->pid};
	}
	return r;
}

static int find_tools(struct loading *l)
{
	struct whatif_job *job = l->job;
	int r = 0;

	QUERY_EACH (r, l->trace->query, "whatif_imported", rows) {
		uint32_t process = idmap_find(&job->process_of_id, query_integer(rows, 0));
		struct whatif_process *p = job->processes + process;

		if (process != IDMAP_NONE)
			snprintf(p->tool, sizeof(p->tool), "%s", query_text(rows, 1));
	}
	return r;
}

/* Replaces the index of the shape by that of the process, and drops what no leader did. */
static void keep_leaders(struct loading *l)
{
	struct whatif_job *job = l->job;
	size_t kept = 0;

	for (size_t i = 0; i < job->op_count; i++) {
		struct whatif_op op = job->ops[i];

		op.process =
			idmap_find(&job->process_of_id, l->trace->shapes[op.process].process_id);
		if (op.process != IDMAP_NONE)
			job->ops[kept++] = op;
	}
	job->op_count = kept;
}

static void shift_clocks(struct whatif_job *job)
{
	const struct collectives *c = job->collectives;

	for (size_t i = 0; c->nodes.shift_ns && i < c->process_count; i++) {
		uint32_t at = idmap_find(&job->process_of_id, c->processes[i].id);

		if (at != IDMAP_NONE)
			job->processes[at].shift_ns = c->nodes.shift_ns[c->processes[i].node];
	}
	for (size_t i = 0; i < job->op_count; i++) {
		struct whatif_op *op = job->ops + i;
		int64_t shift = job->processes[op->process].shift_ns;

		op->start = wrap_plus(op->start, shift);
		op->end = wrap_plus(op->end, shift);
		if (op->submit != WHATIF_UNKNOWN)
			op->submit = wrap_plus(op->submit, shift);
	}
	for (size_t i = 0; i < job->call_count; i++) {
		struct whatif_call *call = job->calls + i;

		call->start = wrap_plus(call->start, job->processes[call->process].shift_ns);
		call->end = wrap_plus(call->end, job->processes[call->process].shift_ns);
	}
}

/* ---- host calls ----------------------------------------------------------------------------- */

static bool begins(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static enum whatif_call_kind kind_of(const char *api)
{
	if (begins(api, "hipEventRecord"))
		return WHATIF_RECORDS_EVENT;
	if (begins(api, "hipStreamWaitEvent"))
		return WHATIF_AWAITS_EVENT;
	if (begins(api, "hipStreamSynchronize"))
		return WHATIF_WAITS_FOR_STREAM;
	if (begins(api, "hipEventSynchronize") || strcmp(api, "hsa_signal_wait") == 0)
		return WHATIF_WAITS_FOR_EVENT;
	if (begins(api, "hip") && strstr(api, "Synchronize"))
		return WHATIF_WAITS_FOR_ALL;
	if (!strstr(api, "Async") &&
		(begins(api, "hipMemcpy") || (begins(api, "hip") && strstr(api, "Free"))))
		return WHATIF_WAITS_FOR_ALL_AT_END;
	return WHATIF_LAUNCHES;
}

static int keep_stream(struct whatif_job *job, int64_t call, int64_t stream)
{
	uint32_t *at = idmap_at(&job->stream_of_call, call);

	if (!at || GROW(job->streams, job->stream_count, job->stream_capacity))
		return -ENOMEM;
	*at = (uint32_t)job->stream_count;
	job->streams[job->stream_count++] = stream;
	return 0;
}

static int load_calls(struct loading *l)
{
	struct whatif_job *job = l->job;
	int r = 0;

	QUERY_EACH (r, l->trace->query, "whatif_calls", rows) {
		uint32_t process = idmap_find(&job->process_of_id, query_integer(rows, 1));
		const char *api = query_text(rows, 6) ? query_text(rows, 6) : "";
		int64_t stream[] = {query_integer(rows, 1), query_integer(rows, 5)};
		int64_t event[] = {query_integer(rows, 1), hash_text(query_text(rows, 7)),
			begins(api, "hsa_")};
		struct whatif_call call = {.id = query_integer(rows, 0),
			.process = process,
			.tid = query_integer(rows, 2),
			.start = query_integer(rows, 3),
			.end = query_integer(rows, 4),
			.stream = hash_numbers(stream, 2),
			.event = hash_numbers(event, 3),
			.queue = WHATIF_NONE,
			.kind = kind_of(api),
			.api = number_of(&l->api_of_hash, hash_text(api))};

		if (process == IDMAP_NONE || call.end < call.start)
			continue;
		if (call.api == WHATIF_NONE)
			return -ENOMEM;
		job->processes[process].has_calls |= begins(api, "hip") || begins(api, "hsa_");
		job->processes[process].has_events |=
			call.kind == WHATIF_AWAITS_EVENT && !query_is_null(rows, 7);
		r = keep_stream(job, query_integer(rows, 0), call.stream);
		if (r || call.kind == WHATIF_LAUNCHES)
			continue;
		if (GROW(job->calls, job->call_count, job->call_capacity))
			return -ENOMEM;
		job->calls[job->call_count++] = call;
	}
	return r;
}

/*
 * Finds the queue of a packet or copy, and where it stands there. A copy without times is in none,
 * and gets one of its own: what follows it follows what it waits for.
 */
static int find_position(struct loading *l, const struct query_rows *rows, struct whatif_call *ret)
{
	int64_t queue[] = {query_integer(rows, 0), query_integer(rows, 4), 0};
	int64_t copy[] = {query_integer(rows, 0), query_integer(rows, 6), 2};
	bool completes = ret->kind == WHATIF_RECORDS_EVENT;

	ret->position = query_integer(rows, 5);
	if (query_is_null(rows, 6)) {
		ret->queue = number_of(&l->queue_of_hash, hash_numbers(queue, 3));
	} else {
		ret->queue = idmap_find(&l->queue_of_copy, hash_numbers(copy, 2));
		if (ret->queue == IDMAP_NONE)
			ret->queue = number_of(&l->queue_of_hash, hash_numbers(copy, 3));
		ret->position = wrap_plus(copy[1], completes);
	}
	return ret->queue == WHATIF_NONE ? -ENOMEM : 0;
}

/* Barrier packets, and others that complete a signal of the program or wait for some. */
static int load_signals(struct loading *l)
{
	struct whatif_job *job = l->job;
	int r = 0;

	QUERY_EACH (r, l->trace->query, "whatif_signals", rows) {
		int64_t signal[] = {query_integer(rows, 0), hash_text(query_text(rows, 3)), true};
		struct whatif_call call = {
			.process = idmap_find(&job->process_of_id, query_integer(rows, 0)),
			.start = query_integer(rows, 1),
			.end = query_integer(rows, 1),
			.event = hash_numbers(signal, 3),
			.kind = query_integer(rows, 2) ? WHATIF_AWAITS_EVENT
						       : WHATIF_RECORDS_EVENT};

		if (call.process == IDMAP_NONE)
			continue;
		r = find_position(l, rows, &call);
		if (r)
			return r;
		if (GROW(job->calls, job->call_count, job->call_capacity))
			return -ENOMEM;
		call.id = (int64_t)job->call_count;
		job->calls[job->call_count++] = call;
	}
	return r;
}

/* ---- order, steps and places ---------------------------------------------------------------- */

static int64_t submitted(const struct whatif_op *op)
{
	return op->submit == WHATIF_UNKNOWN ? op->start : op->submit;
}

static int compare_ops(const void *a, const void *b)
{
	const struct whatif_op *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (submitted(x) != submitted(y))
		return submitted(x) < submitted(y) ? -1 : 1;
	if (x->queue == y->queue && x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->queue > y->queue) - (x->queue < y->queue);
}

static int compare_calls(const void *a, const void *b)
{
	const struct whatif_call *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* Returns the index of the last step that began at or before a time; WHATIF_NONE: none had. */
static uint32_t step_at(const struct steps_process *process, int64_t time_ns)
{
	const struct step *step = process ? steps_begun(process, time_ns) : NULL;

	return step ? (uint32_t)(step - process->at) : WHATIF_NONE;
}

/*
 * A marker tells when the host began a step, so that what it submits from then on is of the step.
 * Without markers a step begins with a kernel. The first of three steps warms up; a last one
 * without work is none.
 */
static void find_steps(struct loading *l)
{
	struct whatif_job *job = l->job;
	bool is_marked = l->marked->source == STEPS_MARKERS;
	const struct steps *steps = is_marked ? l->marked : l->steps;

	job->has_steps = steps->source != STEPS_WHOLE;
	snprintf(job->steps_line, sizeof(job->steps_line), "%s", l->steps->line);
	for (size_t i = 0; i < job->op_count; i++) {
		struct whatif_op *op = job->ops + i;
		struct whatif_process *p = job->processes + op->process;
		int64_t at = is_marked ? submitted(op) : op->start;
		const struct steps_process *of = steps_of(steps, p->id);

		op->step = job->has_steps ? step_at(of, wrap_minus(at, p->shift_ns)) : 0;
		if (job->has_steps && op->step != WHATIF_NONE && of && op->step + 1 == of->count &&
			!of->at[op->step].is_open && !is_marked &&
			wrap_minus(at, p->shift_ns) >= of->at[op->step].end_ns)
			op->step++; /* after the last step */
		else if (op->step != WHATIF_NONE && op->step >= p->steps)
			p->steps = op->step + 1;
	}
	for (size_t i = 0; i < job->process_count; i++) {
		struct whatif_process *p = job->processes + i;

		p->first_step = p->steps > 2 ? 1 : 0;
		p->steps -= p->first_step;
	}
}

static int find_places(struct loading *l)
{
	struct whatif_job *job = l->job;
	CLEANUP(free_p) uint32_t *counts = calloc(job->work_count + 1, sizeof(*counts));
	CLEANUP(free_p) uint64_t *of_step = calloc(job->work_count + 1, sizeof(*of_step));

	if (!counts || !of_step)
		return -ENOMEM;
	for (size_t i = 0; i < job->op_count; i++) {
		struct whatif_op *op = job->ops + i;
		uint64_t key = ((uint64_t)op->process + 1) << 32 | op->step;

		if (of_step[op->work] != key) {
			of_step[op->work] = key;
			counts[op->work] = 0;
		}
		op->place = counts[op->work]++;
	}
	return 0;
}

static int count_queues(struct loading *l)
{
	struct whatif_job *job = l->job;
	CLEANUP(free_p) bool *seen = calloc(job->queue_count + 1, sizeof(*seen));

	if (!seen)
		return -ENOMEM;
	for (size_t i = 0; i < job->op_count; i++) {
		job->processes[job->ops[i].process].queues += !seen[job->ops[i].queue];
		seen[job->ops[i].queue] = true;
	}
	return 0;
}

/* ---- collectives ---------------------------------------------------------------------------- */

struct part {
	int64_t start, stop;
	uint32_t lane, launch, operation;
};

static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->stop > y->stop) - (x->stop < y->stop);
}

static struct part make_part(struct loading *l, uint32_t launch, uint32_t operation)
{
	const struct collectives *c = l->job->collectives;
	const struct collectives_launch *from = c->launches + launch;
	const struct collectives_lane *lane = c->lanes + from->lane;
	int64_t key[] = {c->processes[lane->process].id, lane->gpu_id};

	return (struct part){from->start, from->stop,
		idmap_find(&l->lane_of_hash, hash_numbers(key, 2)), launch, operation};
}

/* Assigns each collective's kernel on each rank by its lane and times. Of several kernels that a
 * rank has in one collective, the first has its start, so it stands for them. */
static int link_collectives(struct loading *l)
{
	struct whatif_job *job = l->job;
	const struct collectives *c = job->collectives;
	CLEANUP(free_p) struct part *parts = calloc(c->launch_count + 1, sizeof(*parts));
	size_t count = 0;

	if (!parts)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->operation_count; i++) {
		const struct collectives_operation *o = c->operations + i;

		for (uint32_t k = 0; o->is_timed && k < o->launches && count < c->launch_count; k++)
			parts[count++] = make_part(l, c->by_operation[o->first + k], i);
	}
	qsort(parts, count, sizeof(*parts), compare_parts);
	for (size_t i = 0; i < job->op_count; i++) {
		struct whatif_op *op = job->ops + i;
		struct part key = {.start = op->start, .stop = INT64_MIN, .lane = op->lane};
		size_t low = 0, high = count;

		while (low < high) {
			size_t middle = low + (high - low) / 2;

			if (compare_parts(parts + middle, &key) < 0)
				low = middle + 1;
			else
				high = middle;
		}
		for (; low < count && parts[low].lane == op->lane && parts[low].start == op->start;
			low++) {
			if (parts[low].stop < op->end || !job->works[op->work].is_communication ||
				parts[low].launch == COLLECTIVES_NONE)
				continue;
			op->launch = parts[low].launch;
			op->operation = parts[low].operation;
			parts[low].launch = COLLECTIVES_NONE;
			break;
		}
	}
	return 0;
}

static uint32_t find_peers(const struct whatif_job *job, uint32_t process)
{
	while (job->processes[process].peers != process)
		process = job->processes[process].peers;
	return process;
}

/* Servers that nothing connects may have other work to do, so they are not compared. */
static int connect_peers(struct whatif_job *job)
{
	size_t count = job->collectives->operation_count;
	CLEANUP(free_p) uint32_t *first = malloc((count + 1) * sizeof(*first));

	if (!first)
		return -ENOMEM;
	memset(first, 0xff, (count + 1) * sizeof(*first));
	for (uint32_t i = 0; i < job->process_count; i++)
		job->processes[i].peers = i;
	for (size_t i = 0; i < job->op_count; i++) {
		const struct whatif_op *op = job->ops + i;
		uint32_t a, b;

		if (op->operation == WHATIF_NONE)
			continue;
		if (first[op->operation] == WHATIF_NONE)
			first[op->operation] = op->process;
		a = find_peers(job, op->process);
		b = find_peers(job, first[op->operation]);
		job->processes[a > b ? a : b].peers = a > b ? b : a;
	}
	for (uint32_t i = 0; i < job->process_count; i++)
		job->processes[i].peers = find_peers(job, i);
	return 0;
}

int whatif_job_new(
	const struct trace *trace, char refused[WHATIF_REASON_BYTES], struct whatif_job **ret)
{
	CLEANUP(whatif_job_free_p) struct whatif_job *job = calloc(1, sizeof(*job));
	CLEANUP(loading_done)
	struct loading l = {.trace = trace, .job = job, .refused = refused};
	struct collectives_filter filter = {0};
	char error[QUERY_ERROR_BYTES];
	int r = job ? set_shapes(&l) : -ENOMEM;

	if (!r)
		r = load_dispatches(&l);
	if (!r)
		r = steps_new(trace, NULL, error, &l.steps);
	if (!r)
		r = steps_new_marked(trace->query, NULL, error, &l.marked);
	if (!r)
		r = find_leaders(&l);
	if (!r)
		r = find_tools(&l);
	if (!r) {
		keep_leaders(&l);
		r = load_copies(&l);
	}
	if (!r && !job->op_count)
		snprintf(refused, WHATIF_REASON_BYTES, "no kernel has a time");
	if (!r)
		r = load_calls(&l);
	if (!r)
		r = load_signals(&l);
	filter.leaders = l.leaders;
	if (!r)
		r = collectives_new(trace, &filter, &job->collectives);
	if (r == -E2BIG) { /* @refused says so */
		*ret = TAKE(job);
		return 0;
	}
	if (!r) {
		shift_clocks(job);
		if (job->op_count)
			qsort(job->ops, job->op_count, sizeof(*job->ops), compare_ops);
		if (job->call_count)
			qsort(job->calls, job->call_count, sizeof(*job->calls), compare_calls);
		job->queue_count = (uint32_t)l.queue_of_hash.count;
		find_steps(&l);
		r = find_places(&l);
	}
	if (!r)
		r = count_queues(&l);
	if (!r)
		r = link_collectives(&l);
	if (!r)
		r = connect_peers(job);
	if (!r)
		*ret = TAKE(job);
	return r;
}
