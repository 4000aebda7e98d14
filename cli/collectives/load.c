// SPDX-License-Identifier: MIT
/* Finds when the kernels of each launch ran and what their GPU did before, in one pass over the
 * dispatches. */
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/trace/kernels/host_call_key.h"
#include "cli/collectives/collectives.h"
#include "cli/base/array.h"
#include "proto/base/cleanup.h"

/* What a lane had done when the last launch on a communicator ended. */
struct slot {
	uint32_t launch;
	int64_t sums[SWEEP_CLASSES];
};

struct shape {
	uint32_t lane, kernel; /* kernel: index in the names of communication kernels, or NONE */
	enum sweep_class class;
	bool is_custom; /* communication without RCCL */
};

struct timing {
	const struct trace *trace;
	struct collectives *c;
	struct idmap slot_of;
	struct shape *shapes; /* as those of the trace */
	struct slot *slots;
	size_t slot_count, slot_capacity;
	struct query_rows *copies;
	bool has_copy, is_inexact;
	bool is_again; /* second pass: the launches are known, so nothing is counted or created */
	struct sweep sweep;
};

static void timing_done(struct timing *t)
{
	idmap_done(&t->slot_of);
	free(t->shapes);
	free(t->slots);
	query_rows_free_p(&t->copies);
}

/* ---- at the start and the end of a communication kernel ---- */

static struct slot *slot_at(struct timing *t, uint32_t lane, uint32_t comm)
{
	uint32_t *at = idmap_at(&t->slot_of, (int64_t)((uint64_t)lane << 32 | comm));

	GROW(t->slots, t->slot_count, t->slot_capacity);
	if (*at == IDMAP_NONE) {
		*at = (uint32_t)t->slot_count;
		t->slots[t->slot_count++] = (struct slot){.launch = COLLECTIVES_NONE};
	}
	return t->slots + *at;
}

static uint32_t lane_index(const struct timing *t, const struct sweep_lane *sweep)
{
	const struct collectives_lane *lane =
		(const void *)((const char *)sweep - offsetof(struct collectives_lane, sweep));

	return (uint32_t)(lane - t->c->lanes);
}

/* Splits the time from the anchor's end to this start by what the lane did. */
static void begin(void *context, struct sweep_lane *sweep, const struct sweep_op *op)
{
	struct timing *t = context;
	struct collectives_launch *launch = t->c->launches + op->tag;
	uint32_t lane = lane_index(t, sweep);
	const struct slot *slot;

	if (launch->kernels++) { /* a further kernel of the launch */
		if (op->stop > launch->stop)
			launch->stop = op->stop;
		if (op->start < launch->start) /* on another GPU */
			launch->start = op->start;
		launch->is_spread |= launch->lane != lane;
		return;
	}
	launch->start = op->start;
	launch->stop = op->stop;
	launch->lane = lane;
	slot = slot_at(t, lane, launch->comm);
	if (!slot || slot->launch == COLLECTIVES_NONE)
		return;
	launch->anchor = slot->launch;
	for (int i = 0; i < SWEEP_CLASSES; i++)
		launch->window[i] = (int64_t)((uint64_t)sweep->sums[i] - (uint64_t)slot->sums[i]);
}

static void end(void *context, struct sweep_lane *sweep, uint32_t tag, int64_t at)
{
	struct timing *t = context;
	struct slot *slot = slot_at(t, lane_index(t, sweep), t->c->launches[tag].comm);

	(void)at; /* the launch has it */
	slot->launch = tag;
	memcpy(slot->sums, sweep->sums, sizeof(slot->sums));
}

/* ---- rows ---- */

static uint32_t find_lane(const struct collectives *c, int64_t process, int64_t gpu)
{
	const struct collectives_lane *lanes = c->lanes;
	const struct collectives_process *of = c->processes;
	size_t at = PARTITION_POINT(c->lane_count, i,
		of[lanes[i].process].id < process ||
			(of[lanes[i].process].id == process && lanes[i].gpu_id < gpu));

	return at < c->lane_count && of[lanes[at].process].id == process && lanes[at].gpu_id == gpu
		       ? (uint32_t)at
		       : COLLECTIVES_NONE;
}

/* Finds the index of a kernel's name among those of communication kernels. */
static void find_name(struct timing *t, const struct trace_kernel *kernel, uint32_t *ret)
{
	struct collectives *c = t->c;

	for (*ret = 0; *ret < c->kernel_name_count; ++*ret)
		if (c->kernel_names[*ret] == kernel->same->name)
			return;
	GROW(c->kernel_names, c->kernel_name_count, c->kernel_name_capacity);
	c->kernel_names[c->kernel_name_count++] = kernel->same->name;
}

/* RCCL's kernels have calls if calls were recorded; a communication kernel that is not RCCL's has
 * none. */
static void set_shape(struct timing *t, const struct trace_shape *from, struct shape *ret)
{
	static const enum sweep_class classes[] = {[CATEGORY_COMMUNICATION] = SWEEP_COMM,
		[CATEGORY_COPY] = SWEEP_COPY,
		[CATEGORY_COMPUTATION] = SWEEP_COMPUTE};

	*ret = (struct shape){.lane = find_lane(t->c, from->process_id, from->gpu_id),
		.kernel = COLLECTIVES_NONE,
		.class = classes[from->category->class]};
	if (ret->class != SWEEP_COMM)
		return;
	find_name(t, from->kernel, &ret->kernel);
	ret->is_custom = !strcasestr(from->kernel->name, "nccl");
	if (ret->is_custom)
		collectives_need_order(t->c);
}

static void set_shapes(struct timing *t)
{
	uint32_t name;

	t->shapes = xcalloc(t->trace->shape_count + 1, sizeof(*t->shapes));
	for (size_t i = 0; i < t->trace->kernel_count; i++)
		if (t->trace->kernels[i].category->class == CATEGORY_COMMUNICATION)
			find_name(t, t->trace->kernels + i, &name);
	for (size_t i = 0; i < t->trace->shape_count; i++)
		set_shape(t, t->trace->shapes + i, t->shapes + i);
}

/* Returns the launch of a dispatch, or NONE. */
static uint32_t find_launch(
	struct timing *t, const struct query_rows *rows, const struct collectives_lane *lane)
{
	const struct collectives *c = t->c;
	int64_t process = c->processes[lane->process].id, key;
	uint32_t replay, place;

	if ((!c->launch_of_call.count && !c->graphs.replay_count) || query_is_null(rows, 4))
		return COLLECTIVES_NONE;
	key = host_call_key(process, query_integer(rows, 4));
	replay = graph_replays_find(&c->graphs, key);
	if (replay == GRAPH_NONE)
		return idmap_find(&c->launch_of_call, key);
	place = query_is_null(rows, 5)
			? GRAPH_NONE
			: graph_replays_place(&c->graphs, replay, query_integer(rows, 5));
	if (place == GRAPH_NONE || c->first_of_replay[replay] == COLLECTIVES_NONE)
		return COLLECTIVES_NONE;
	return c->first_of_replay[replay] + place;
}

/* Adds a launch of its own for a kernel without a call, if kernels are matched by order. */
static void add_launch(struct timing *t, const struct shape *shape, uint32_t *ret)
{
	struct collectives *c = t->c;

	GROW(c->launches, c->launch_count, c->launch_capacity);
	c->launches[c->launch_count] = (struct collectives_launch){.lane = shape->lane,
		.kernel = shape->kernel,
		.comm = c->order_comm,
		.anchor = COLLECTIVES_NONE,
		.operation = COLLECTIVES_NONE};
	*ret = (uint32_t)c->launch_count++;
}

/* Returns false for a copy within one GPU, which must count once. A NULL column is the host, not
 * GPU 0. */
static bool has_two_ends(const struct query_rows *copies)
{
	return query_is_null(copies, 1) || query_is_null(copies, 2) ||
	       query_integer(copies, 1) != query_integer(copies, 2);
}

static void add_copy(struct timing *t, int64_t process, int column, const struct sweep_op *op)
{
	uint32_t lane;

	if (query_is_null(t->copies, column))
		return;
	lane = find_lane(t->c, process, query_integer(t->copies, column));
	if (lane != COLLECTIVES_NONE)
		sweep_add(&t->sweep, &t->c->lanes[lane].sweep, op);
}

/* Adds the copies that start no later than @until. They are sorted by time. */
static int add_copies(struct timing *t, int64_t until)
{
	int r = 0;

	while (!r && t->has_copy && query_integer(t->copies, 3) <= until) {
		int64_t process = query_integer(t->copies, 0);
		struct sweep_op op = {.start = query_integer(t->copies, 3),
			.stop = query_integer(t->copies, 4),
			.submit = query_is_null(t->copies, 5) ? SWEEP_NO_SUBMIT
							      : query_integer(t->copies, 5),
			.tag = SWEEP_NO_TAG,
			.class = SWEEP_COPY};

		add_copy(t, process, 1, &op);
		if (has_two_ends(t->copies))
			add_copy(t, process, 2, &op);
		r = query_next(t->copies);
		t->has_copy = r > 0;
		r = r < 0 ? r : 0;
	}
	return r;
}

static int add_row(struct timing *t, const struct query_rows *rows)
{
	size_t at = trace_shape(t->trace, query_integer(rows, 0));
	const struct shape *shape = t->shapes + at;
	struct sweep_op op = {.tag = SWEEP_NO_TAG};
	bool is_named;
	int r;

	if (at == t->trace->shape_count || shape->lane == COLLECTIVES_NONE) /* a damaged file */
		return 0;
	is_named = shape->kernel != COLLECTIVES_NONE;
	op.tag = find_launch(t, rows, t->c->lanes + shape->lane);
	if (!t->is_again) {
		t->c->comm_kernels += is_named;
		t->c->unlinked += is_named && op.tag == SWEEP_NO_TAG;
		t->c->foreign += !is_named && op.tag != SWEEP_NO_TAG;
		if (is_named && op.tag == SWEEP_NO_TAG &&
			(t->c->matched == COLLECTIVES_BY_ORDER || t->c->has_blind_graphs ||
				shape->is_custom))
			add_launch(t, shape, &op.tag);
		else if (op.tag != SWEEP_NO_TAG)
			t->c->launches[op.tag].kernel = shape->kernel;
	}
	op.class = op.tag == SWEEP_NO_TAG ? shape->class : SWEEP_COMM;
	if (query_is_null(rows, 1)) {
		if (op.tag != SWEEP_NO_TAG && !t->is_again)
			t->c->launches[op.tag].untimed++;
		return 0;
	}
	if (t->is_again)
		op.tag = SWEEP_NO_TAG;
	op.start = query_integer(rows, 1);
	op.stop = (int64_t)((uint64_t)op.start + (uint64_t)query_integer(rows, 2));
	op.submit = query_is_null(rows, 3)
			    ? SWEEP_NO_SUBMIT
			    : (int64_t)((uint64_t)op.start - (uint64_t)query_integer(rows, 3));
	r = add_copies(t, op.start);
	if (!r)
		sweep_add(&t->sweep, &t->c->lanes[shape->lane].sweep, &op);
	return r;
}

static bool is_inexact(const struct collectives *c)
{
	for (size_t i = 0; i < c->lane_count; i++)
		if (c->lanes[i].sweep.is_inexact)
			return true;
	return false;
}

static int pass(struct timing *t, const char *name)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	struct collectives *c = t->c;
	uint64_t row = 0;
	int r = query_ask(t->trace->query, "copy_lanes", &t->copies);

	if (!r)
		r = query_next(t->copies);
	t->has_copy = r > 0;
	r = r < 0 ? r : query_ask(t->trace->query, name, &rows);
	while (!r && (r = query_next(rows)) > 0) {
		r = add_row(t, rows);
		/* Stops early, because the caller will read the sorted rows instead. */
		if (!(++row & 0xffff) && is_inexact(c))
			return r;
	}
	if (!r)
		r = add_copies(t, INT64_MAX);
	for (size_t i = 0; i < c->lane_count && !r; i++)
		sweep_finish(&t->sweep, &c->lanes[i].sweep);
	return r;
}

static void start_again(void *context)
{
	struct timing *t = context;
	struct collectives *c = t->c;

	c->launch_count = c->known_launches;
	for (size_t i = 0; i < c->launch_count; i++) {
		struct collectives_launch *launch = c->launches + i;

		*launch = (struct collectives_launch){.id = launch->id,
			.comm = launch->comm,
			.anchor = COLLECTIVES_NONE,
			.lane = COLLECTIVES_NONE,
			.operation = COLLECTIVES_NONE};
	}
	c->comm_kernels = c->unlinked = c->foreign = 0;
	idmap_done(&t->slot_of);
	t->slot_count = 0;
}

/* Reads everything once, or again in the order of time, before which @restart is called. */
static int pass_all(struct timing *t, void (*restart)(void *context))
{
	struct collectives *c = t->c;
	int r;

	set_shapes(t);
	t->sweep.held_max = SWEEP_HELD_MAX / (c->lane_count + 1);
	if (t->sweep.held_max < 1024)
		t->sweep.held_max = 1024;
	r = pass(t, "lane_rows");
	if (!r && is_inexact(c)) {
		for (size_t i = 0; i < c->lane_count; i++)
			sweep_lane_done(&c->lanes[i].sweep);
		query_rows_free_p(&t->copies);
		restart(t->sweep.context);
		r = pass(t, "lane_rows_sorted");
	}
	for (size_t i = 0; i < c->lane_count; i++)
		sweep_lane_done(&c->lanes[i].sweep);
	return r;
}

int collectives_time(const struct trace *trace, struct collectives *c)
{
	CLEANUP(timing_done)
	struct timing t = {.trace = trace, .c = c, .sweep = {.begin = begin, .end = end}};

	t.sweep.context = &t;
	return pass_all(&t, start_again);
}

int collectives_sweep(const struct trace *trace, struct collectives *c, const struct sweep *hooks,
	void (*restart)(void *context))
{
	CLEANUP(timing_done)
	struct timing t = {
		.trace = trace,
		.c = c,
		.is_again = true,
		.sweep = {.span = hooks->span, .context = hooks->context},
	};

	return pass_all(&t, restart);
}
