// SPDX-License-Identifier: MIT
#include "cli/collectives/waiting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/trace/kernels/leaders.h"
#include "cli/base/wrapping.h"
#include "proto/base/cleanup.h"
#include "proto/names/collectives.h"

enum interval_kind {
	INTERVAL_WAIT,
	INTERVAL_TRANSFER, /* all sides are there */
	INTERVAL_PAIR_WAIT,
};

/* A time during which a lane waits in an operation, or takes part in its transfer. */
struct interval {
	int64_t start, end;
	enum interval_kind kind;
};

struct intervals {
	struct interval *at;
	size_t count, capacity;
	bool has_pairs; /* it sends or receives */
	size_t next;	/* first interval that ends after the last reported time */
	size_t window;	/* first window that ends after the last reported time */
	int64_t shift;	/* offset of the clock of the lane's node */
	int64_t end;	/* of all work */
};

struct work {
	struct waiting *waiting;
	struct collectives *c;
	struct intervals *of_lane;
};

static void work_done(struct work *work)
{
	for (size_t i = 0; work->of_lane && i < work->c->lane_count; i++)
		free(work->of_lane[i].at);
	free(work->of_lane);
}

void waiting_free_p(struct waiting **waiting)
{
	struct waiting *w = *waiting;

	if (!w)
		return;
	for (size_t i = 0; i < w->group_count; i++) {
		free(w->groups[i].lanes);
		free(w->groups[i].cuts);
		free(w->groups[i].numbers);
		free(w->groups[i].kinds);
		free(w->groups[i].cells);
	}
	free(w->groups);
	step_kinds_free_p(&w->kinds);
	free(w->group_of_lane);
	free(w->place_of_lane);
	free(w);
	*waiting = NULL;
}

void waiting_add(struct waiting_cell *to, const struct waiting_cell *from)
{
	for (int i = 0; i < SWEEP_CLASSES; i++)
		to->class_ns[i] = wrap_plus(to->class_ns[i], from->class_ns[i]);
	to->wait_ns = wrap_plus(to->wait_ns, from->wait_ns);
	to->pair_wait_ns = wrap_plus(to->pair_wait_ns, from->pair_wait_ns);
	to->hidden_wait_ns = wrap_plus(to->hidden_wait_ns, from->hidden_wait_ns);
	to->ended_ns = wrap_plus(to->ended_ns, from->ended_ns);
}

bool waiting_is_empty(const struct waiting_group *group, size_t window)
{
	for (size_t i = 0; i < group->lane_count; i++)
		if (!waiting_does_nothing(waiting_cell(group, i, window)))
			return false;
	return true;
}

/* ---- which lanes are connected ---- */

static uint32_t find_root(uint32_t *parent, uint32_t at)
{
	while (parent[at] != at)
		at = parent[at] = parent[parent[at]];
	return at;
}

static uint32_t lane_of(
	const struct collectives *c, const struct collectives_operation *o, uint32_t i)
{
	return c->launches[c->by_operation[o->first + i]].lane;
}

static int number_groups(struct waiting *w, uint32_t *parent, const bool *takes_part)
{
	size_t lanes = w->collectives->lane_count;

	for (uint32_t i = 0; i < lanes; i++)
		if (takes_part[i] && find_root(parent, i) == i)
			w->group_of_lane[i] = (uint32_t)w->group_count++;
	w->groups = calloc(w->group_count + 1, sizeof(*w->groups));
	if (!w->groups)
		return -ENOMEM;
	for (uint32_t i = 0; i < lanes; i++) {
		struct waiting_group *group;
		uint32_t *grown;

		if (!takes_part[i])
			continue;
		w->group_of_lane[i] = w->group_of_lane[find_root(parent, i)];
		group = w->groups + w->group_of_lane[i];
		grown = grow_by_one(group->lanes, group->lane_count, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		group->lanes = grown;
		w->place_of_lane[i] = (uint32_t)group->lane_count;
		grown[group->lane_count++] = i;
	}
	return 0;
}

static int find_groups(struct waiting *w)
{
	const struct collectives *c = w->collectives;
	CLEANUP(free_p) uint32_t *parent = calloc(c->lane_count + 1, sizeof(*parent));
	CLEANUP(free_p) bool *takes_part = calloc(c->lane_count + 1, sizeof(*takes_part));

	w->group_of_lane = calloc(c->lane_count + 1, sizeof(*w->group_of_lane));
	w->place_of_lane = calloc(c->lane_count + 1, sizeof(*w->place_of_lane));
	if (!parent || !takes_part || !w->group_of_lane || !w->place_of_lane)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->lane_count; i++) {
		parent[i] = i;
		w->group_of_lane[i] = w->place_of_lane[i] = COLLECTIVES_NONE;
	}
	for (size_t i = 0; i < c->operation_count; i++) {
		const struct collectives_operation *o = c->operations + i;

		for (uint32_t k = 1; o->is_timed && k < o->launches; k++) {
			uint32_t a = find_root(parent, lane_of(c, o, 0));
			uint32_t b = find_root(parent, lane_of(c, o, k));

			takes_part[lane_of(c, o, 0)] = takes_part[lane_of(c, o, k)] = true;
			parent[a > b ? a : b] = a > b ? b : a;
		}
	}
	return number_groups(w, parent, takes_part);
}

/* Makes one group of the GPUs of the only process. */
static int group_alone(struct waiting *w)
{
	const struct collectives *c = w->collectives;
	CLEANUP(free_p) bool *takes_part = calloc(c->lane_count + 1, sizeof(*takes_part));
	CLEANUP(free_p) uint32_t *parent = calloc(c->lane_count + 1, sizeof(*parent));
	uint32_t first = COLLECTIVES_NONE;
	int r;

	if (!takes_part || !parent)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->lane_count; i++) {
		parent[i] = i;
		if (!leaders_leads(c->filter.leaders, c->processes[c->lanes[i].process].id))
			continue;
		first = first == COLLECTIVES_NONE ? i : first;
		parent[i] = first;
		takes_part[i] = true;
		if (c->lanes[i].process != c->lanes[first].process)
			return 0;
	}
	r = number_groups(w, parent, takes_part);
	for (size_t i = 0; i < w->group_count && !r; i++)
		w->groups[i].is_alone = true;
	return r;
}

/* ---- windows ---- */

static int compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Returns the step @number, or NULL if the process has none. Numbers ascend, usually by one, so the
 * search starts there. */
static const struct step *find_step(const struct steps_process *process, int64_t number)
{
	int64_t guess = process && process->count ? wrap_minus(number, process->at->number) : -1;

	if (guess >= 0 && (size_t)guess < process->count && process->at[guess].number == number)
		return process->at + guess;
	for (size_t i = 0; process && i < process->count; i++)
		if (process->at[i].number == number)
			return process->at + i;
	return NULL;
}

/* Computes the median of the times that the lanes' processes report, on the clock of the first
 * node. Returns false if at most half of the lanes report one. */
static bool median_of_step(const struct work *work, const struct waiting_group *group,
	const struct steps *steps, int64_t number, bool is_end, int64_t *buffer, int64_t *ret)
{
	const struct collectives *c = work->c;
	size_t count = 0;

	for (size_t i = 0; i < group->lane_count; i++) {
		const struct collectives_lane *lane = c->lanes + group->lanes[i];
		const struct step *step =
			find_step(steps_of(steps, c->processes[lane->process].id), number);

		if (step)
			buffer[count++] = wrap_plus(is_end ? step->end_ns : step->start_ns,
				work->of_lane[group->lanes[i]].shift);
	}
	if (count * 2 <= group->lane_count)
		return false;
	qsort(buffer, count, sizeof(*buffer), compare_times);
	*ret = buffer[(count - 1) / 2];
	return true;
}

/* Steps that a period in the kernels shows have no names and are counted. They are the same steps
 * only if all ranks have equally many. */
static bool are_alike(
	const struct work *work, const struct waiting_group *group, const struct steps *steps)
{
	const struct collectives *c = work->c;
	size_t count = 0;

	if (steps->source == STEPS_MARKERS)
		return true;
	for (size_t i = 0; i < group->lane_count; i++) {
		const struct steps_process *process =
			steps_of(steps, c->processes[c->lanes[group->lanes[i]].process].id);

		if (!process || process->is_whole || (i && process->count != count))
			return false;
		count = process->count;
	}
	return true;
}

/* A period in the kernels may begin anywhere in a step, so that what follows the last begin is only
 * the rest of one: the waiting without its work, or the work without its waiting. Leaves that out.
 */
static void drop_rest(struct waiting_group *group, int64_t *buffer)
{
	size_t windows = group->windows;

	if (windows < 4)
		return;
	for (size_t i = 0; i < windows; i++)
		buffer[i] = group->cuts[i + 1] - group->cuts[i];
	qsort(buffer, windows, sizeof(*buffer), compare_times);
	group->windows -=
		(group->cuts[windows] - group->cuts[windows - 1]) * 4 < buffer[windows / 2] * 3;
}

/*
 * Returns true if all lanes did something before the first window for as long as a step takes. A
 * period in the kernels may begin with the last kernel of the step that warms up.
 */
static bool has_warmed_up(const struct work *work, const struct waiting_group *group,
	const struct steps *steps, int64_t *buffer)
{
	const struct collectives *c = work->c;
	int64_t first = INT64_MIN;

	if (!group->windows)
		return false;
	for (size_t i = 0; i < group->lane_count; i++) {
		uint32_t lane = group->lanes[i];
		const struct steps_process *process =
			steps_of(steps, c->processes[c->lanes[lane].process].id);
		int64_t at;

		if (!process || !process->has_events)
			return false;
		at = wrap_plus(process->first_ns, work->of_lane[lane].shift);
		first = at > first ? at : first;
	}
	for (size_t i = 0; i < group->windows; i++)
		buffer[i] = group->cuts[i + 1] - group->cuts[i];
	qsort(buffer, group->windows, sizeof(*buffer), compare_times);
	return (double)wrap_minus(group->cuts[0], first) * 4 >=
	       (double)buffer[group->windows / 2] * 3;
}

static int cut_by_steps(
	const struct work *work, struct waiting_group *group, const struct steps *steps)
{
	const struct collectives *c = work->c;
	CLEANUP(free_p) int64_t *buffer = calloc(group->lane_count + 1, sizeof(*buffer));
	CLEANUP(free_p) int64_t *lengths = NULL;
	const struct steps_process *longest = NULL;
	int64_t end;

	for (size_t i = 0; i < group->lane_count; i++) {
		const struct steps_process *process =
			steps_of(steps, c->processes[c->lanes[group->lanes[i]].process].id);

		if (process && (!longest || process->count > longest->count))
			longest = process;
	}
	if (!longest || longest->count < 2)
		return 0;
	group->cuts = calloc(longest->count + 1, sizeof(*group->cuts));
	group->numbers = calloc(longest->count + 1, sizeof(*group->numbers));
	lengths = calloc(longest->count + 1, sizeof(*lengths));
	if (!buffer || !lengths || !group->cuts || !group->numbers)
		return -ENOMEM;
	for (size_t i = 0; i < longest->count; i++) {
		int64_t number = longest->at[i].number, at;

		if (!median_of_step(work, group, steps, number, false, buffer, &at) ||
			(group->windows && at <= group->cuts[group->windows - 1]))
			continue;
		group->numbers[group->windows] = number;
		group->cuts[group->windows++] = at;
	}
	if (!group->windows)
		return 0;
	if (!median_of_step(
		    work, group, steps, group->numbers[group->windows - 1], true, buffer, &end) ||
		end <= group->cuts[group->windows - 1])
		group->windows--; /* the start of this step ends the window before */
	else
		group->cuts[group->windows] = end;
	if (steps->source != STEPS_MARKERS) {
		drop_rest(group, lengths);
		group->is_warm = has_warmed_up(work, group, steps, lengths);
	}
	group->source = WAITING_BY_STEPS;
	return 0;
}

/* Returns the lane's communicator with the fewest operations, at least WAITING_OPERATIONS_LEAST. It
 * usually runs once per step. */
static uint32_t find_rarest_comm(
	const struct collectives *c, uint32_t lane, size_t *ret_comms, size_t *counts)
{
	uint32_t rarest = COLLECTIVES_NONE;

	memset(counts, 0, c->comm_count * sizeof(*counts));
	for (size_t i = 0; i < c->operation_count; i++) {
		const struct collectives_operation *o = c->operations + i;

		for (uint32_t k = 0; o->is_timed && !o->is_pairs && k < o->launches; k++)
			counts[o->comm] += lane_of(c, o, k) == lane;
	}
	*ret_comms = 0;
	for (uint32_t i = 0; i < c->comm_count; i++) {
		*ret_comms += counts[i] > 0;
		if (counts[i] >= WAITING_OPERATIONS_LEAST &&
			(rarest == COLLECTIVES_NONE || counts[i] < counts[rarest]))
			rarest = i;
	}
	return rarest;
}

static bool is_cut(const struct collectives_operation *o, uint32_t comm)
{
	return o->is_timed && !o->is_pairs && o->comm == comm;
}

/*
 * When the last rank comes, all ranks are at the same place of the program. Between two such
 * moments they need not do the same piece of work if they also compute, so with many operations a
 * window lasts until one that is further away.
 */
static int cut_by_collectives(const struct work *work, struct waiting_group *group)
{
	const struct collectives *c = work->c;
	CLEANUP(free_p) size_t *counts = calloc(c->comm_count + 1, sizeof(*counts));
	size_t count = 0, kept = 0, comms, parts, stride;
	uint32_t comm;

	if (!counts)
		return -ENOMEM;
	comm = find_rarest_comm(c, group->lanes[0], &comms, counts);
	if (comm == COLLECTIVES_NONE)
		return 0;
	/* This may be more than the lane takes part in, if that was in groups of calls only. */
	for (size_t i = 0; i < c->operation_count; i++)
		count += is_cut(c->operations + i, comm);
	group->cuts = calloc(count + 1, sizeof(*group->cuts));
	if (!group->cuts)
		return -ENOMEM;
	count = 0;
	for (size_t i = 0; i < c->operation_count; i++)
		if (is_cut(c->operations + i, comm))
			group->cuts[count++] = c->operations[i].start_last;
	qsort(group->cuts, count, sizeof(*group->cuts), compare_times);
	parts = comms > 1 ? WAITING_PARTS_MAX : WAITING_PARTS;
	if (parts > WAITING_CELLS_MAX / group->lane_count)
		parts = WAITING_CELLS_MAX / group->lane_count + 1;
	stride = count / parts + 1;
	for (size_t i = 0; i < count; i += stride)
		if (!kept || group->cuts[i] > group->cuts[kept - 1])
			group->cuts[kept++] = group->cuts[i];
	group->windows = kept - 1;
	group->source = WAITING_BY_COLLECTIVES;
	return 0;
}

static int cut_by_slices(const struct work *work, struct waiting_group *group, size_t id)
{
	const struct collectives *c = work->c;
	int64_t from = 0, to = 0;
	bool has = false;

	for (size_t i = 0; i < c->operation_count; i++) {
		const struct collectives_operation *o = c->operations + i;

		if (!o->is_timed || work->waiting->group_of_lane[lane_of(c, o, 0)] != id)
			continue;
		if (!has || o->start_first < from)
			from = o->start_first;
		if (!has || o->stop_last > to)
			to = o->stop_last;
		has = true;
	}
	group->source = WAITING_BY_SLICES;
	group->cuts = calloc(WAITING_SLICES + 1, sizeof(*group->cuts));
	if (!group->cuts)
		return -ENOMEM;
	if (!has || wrap_minus(to, from) < WAITING_SLICES)
		return 0;
	for (int64_t i = 0; i <= WAITING_SLICES; i++)
		group->cuts[i] = from + wrap_minus(to, from) / WAITING_SLICES * i;
	group->cuts[WAITING_SLICES] = to;
	group->windows = WAITING_SLICES;
	return 0;
}

static void forget_cuts(struct waiting_group *group)
{
	free(group->cuts);
	free(group->numbers);
	group->cuts = group->numbers = NULL;
	group->windows = 0;
	group->is_warm = false;
}

static int cut(const struct work *work, size_t id, const struct steps *steps)
{
	struct waiting_group *group = work->waiting->groups + id;
	int r = 0;

	if (steps && steps->source != STEPS_WHOLE && are_alike(work, group, steps))
		r = cut_by_steps(work, group, steps);
	if (!r && group->windows * work->c->lane_count > WAITING_CELLS_MAX)
		group->windows = 0;
	if (!r && group->windows < 2) {
		forget_cuts(group);
		r = cut_by_collectives(work, group);
	}
	if (!r && !group->windows) {
		forget_cuts(group);
		r = cut_by_slices(work, group, id);
	}
	if (r)
		return r;
	group->cells = calloc(group->lane_count * group->windows + 1, sizeof(*group->cells));
	return group->cells ? 0 : -ENOMEM;
}

/* The kind of a window's step is that of most lanes: one lane that launches other kernels does not
 * make it another kind. */
static uint8_t kind_of_step(const struct work *work, const struct waiting_group *group,
	const struct steps *steps, int64_t number)
{
	const struct collectives *c = work->c;
	size_t lanes[STEP_KINDS_MAX] = {0};
	uint8_t most = 0;

	for (size_t i = 0; i < group->lane_count; i++) {
		const struct steps_process *process =
			steps_of(steps, c->processes[c->lanes[group->lanes[i]].process].id);
		const struct step *step = find_step(process, number);

		if (step)
			lanes[work->waiting->kinds->of_process[process - steps->processes]
							      [step - process->at]]++;
	}
	for (uint8_t kind = 1; kind < STEP_KINDS_MAX; kind++)
		if (lanes[kind] > lanes[most])
			most = kind;
	return most;
}

static int sort_windows(struct work *work, const struct trace *trace, const struct steps *steps)
{
	struct waiting *w = work->waiting;
	bool has_steps = false;
	int r;

	for (size_t i = 0; i < w->group_count; i++)
		has_steps |= w->groups[i].source == WAITING_BY_STEPS;
	if (!has_steps)
		return 0;
	r = step_kinds_new(trace, steps, &w->kinds);
	for (size_t i = 0; i < w->group_count && !r && w->kinds->count > 1; i++) {
		struct waiting_group *group = w->groups + i;

		if (group->source != WAITING_BY_STEPS)
			continue;
		group->kinds = calloc(group->windows + 1, sizeof(*group->kinds));
		if (!group->kinds)
			return -ENOMEM;
		for (size_t k = 0; k < group->windows; k++)
			group->kinds[k] = kind_of_step(work, group, steps, group->numbers[k]);
	}
	return r;
}

/* ---- waits in operations ---- */

static int64_t error_of(const struct collectives *c, uint32_t lane)
{
	return c->lanes[lane].error_ns > 0 ? c->lanes[lane].error_ns : 0;
}

static int64_t error_between(const struct collectives *c, uint32_t a, uint32_t b)
{
	int64_t error = wrap_plus(error_of(c, a), error_of(c, b));

	if (c->processes[c->lanes[a].process].node != c->processes[c->lanes[b].process].node)
		error = wrap_plus(error, c->nodes.bound_ns > 0 ? c->nodes.bound_ns : 0);
	return error;
}

enum waiting_direction waiting_direction_of(
	const struct collectives *c, const struct collectives_operation *o)
{
	if (o->is_mixed || o->is_pairs)
		return WAITING_FROM_ALL;
	switch (o->op) {
	case RTL_COLLECTIVE_ncclBroadcast:
	case RTL_COLLECTIVE_ncclBcast:
	case RTL_COLLECTIVE_ncclScatter:
		return WAITING_FROM_ROOT;
	case RTL_COLLECTIVE_ncclReduce:
	case RTL_COLLECTIVE_ncclGather:
		return WAITING_TO_ROOT;
	case COLLECTIVES_OP_KERNEL:
		return strstr(collectives_op_name(c, o), "Broadcast") ? WAITING_FROM_ROOT
								      : WAITING_FROM_ALL;
	default:
		return WAITING_FROM_ALL;
	}
}

uint32_t waiting_root_launch(const struct collectives *c, const struct collectives_operation *o)
{
	for (uint32_t i = 0; i < o->launches; i++) {
		uint32_t launch = c->by_operation[o->first + i];
		const struct collectives_event *event = c->events + c->launches[launch].event;

		if (c->launches[launch].has_event && event->root >= 0 &&
			(uint32_t)event->root == event->rank)
			return launch;
	}
	return COLLECTIVES_NONE;
}

static int add_interval(struct intervals *list, int64_t start, int64_t end, enum interval_kind kind)
{
	if (end <= start)
		return 0;
	if (GROW(list->at, list->count, list->capacity))
		return -ENOMEM;
	list->at[list->count++] = (struct interval){start, end, kind};
	return 0;
}

/* Divides the time of a launch: it waits until @until, and takes part in the transfer then. */
static int add_launch(struct work *work, uint32_t launch, int64_t until, bool is_pair)
{
	const struct collectives_launch *l = work->c->launches + launch;
	struct intervals *list = work->of_lane + l->lane;
	int r;

	if (until > l->stop)
		until = l->stop;
	if (until < l->start)
		until = l->start;
	r = add_interval(list, l->start, until, is_pair ? INTERVAL_PAIR_WAIT : INTERVAL_WAIT);
	return r || !list->has_pairs ? r : add_interval(list, until, l->stop, INTERVAL_TRANSFER);
}

/* Adds the wait from the launch's own start to the start of @for_launch, at most @most_ns. A wait
 * within the error of the clocks does not count. */
static int add_wait(
	struct work *work, uint32_t launch, uint32_t for_launch, int64_t most_ns, bool is_pair)
{
	const struct collectives *c = work->c;
	const struct collectives_launch *own = c->launches + launch,
					*other = c->launches + for_launch;
	int64_t late_ns = wrap_minus(other->start, own->start);

	if (late_ns <= error_between(c, own->lane, other->lane))
		late_ns = 0;
	if (late_ns > most_ns)
		late_ns = most_ns;
	return add_launch(work, launch, wrap_plus(own->start, late_ns), is_pair);
}

/*
 * A rank that waits for all others leaves when they do, so it is in the operation longer than the
 * last rank by the time that it waits. If it is not, it left as much earlier as it came and waited
 * for no rank: the clocks are wrong, or the ranks do not meet.
 */
static int64_t longest_wait(const struct collectives *c, const struct collectives_operation *o,
	enum waiting_direction direction, uint32_t launch)
{
	const struct collectives_launch *own = c->launches + launch;

	if (direction != WAITING_FROM_ALL || o->is_pairs)
		return INT64_MAX;
	return wrap_minus(wrap_minus(own->stop, own->start), o->min_ns);
}

static uint32_t find_last(
	const struct collectives *c, const struct collectives_operation *o, uint32_t except)
{
	uint32_t last = COLLECTIVES_NONE;

	for (uint32_t i = 0; i < o->launches; i++) {
		uint32_t launch = c->by_operation[o->first + i];

		if (launch != except &&
			(last == COLLECTIVES_NONE ||
				c->launches[launch].start > c->launches[last].start))
			last = launch;
	}
	return last;
}

static int add_operation(struct work *work, const struct collectives_operation *o)
{
	const struct collectives *c = work->c;
	enum waiting_direction direction = waiting_direction_of(c, o);
	uint32_t root =
		direction == WAITING_FROM_ALL ? COLLECTIVES_NONE : waiting_root_launch(c, o);
	uint32_t last = find_last(c, o, COLLECTIVES_NONE);
	int r = 0;

	/* It is unknown which rank the others wait for. */
	if (direction != WAITING_FROM_ALL && root == COLLECTIVES_NONE)
		return 0;
	if (direction == WAITING_TO_ROOT) {
		last = find_last(c, o, root);
		return last == COLLECTIVES_NONE ? 0 : add_wait(work, root, last, INT64_MAX, false);
	}
	for (uint32_t i = 0; i < o->launches && !r; i++) {
		uint32_t launch = c->by_operation[o->first + i];

		r = add_wait(work, launch, direction == WAITING_FROM_ROOT ? root : last,
			longest_wait(c, o, direction, launch), o->is_pairs);
	}
	return r;
}

static int compare_intervals(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end);
}

/* Makes a list of what @from, which is sorted, has of @kind and before it: disjoint and in order.
 */
static int unite_until(const struct intervals *from, enum interval_kind kind, struct intervals *ret)
{
	int64_t reach = INT64_MIN;

	for (size_t i = 0; i < from->count; i++) {
		const struct interval *one = from->at + i;
		int r = 0;

		if (one->kind > kind)
			continue;
		r = add_interval(
			ret, one->start > reach ? one->start : reach, one->end, INTERVAL_WAIT);
		if (r)
			return r;
		reach = one->end > reach ? one->end : reach;
	}
	return 0;
}

/*
 * Adds to @ret when @from, which is sorted, waits for a partner. @busy is when it waits in
 * collectives, or transfers: a receive that is posted early does not wait meanwhile, as while the
 * GPU computes.
 */
static int add_pair_waits(
	const struct intervals *from, const struct intervals *busy, struct intervals *ret)
{
	int64_t reach = INT64_MIN;
	size_t at = 0;

	for (size_t i = 0; i < from->count; i++) {
		const struct interval *one = from->at + i;
		int64_t start = one->start > reach ? one->start : reach;

		if (one->kind != INTERVAL_PAIR_WAIT)
			continue;
		while (at < busy->count && busy->at[at].end <= start)
			at++;
		for (size_t k = at; start < one->end; k++) {
			bool is_last = k == busy->count || busy->at[k].start >= one->end;

			if (add_interval(ret, start, is_last ? one->end : busy->at[k].start,
				    INTERVAL_PAIR_WAIT))
				return -ENOMEM;
			if (is_last)
				break;
			start = busy->at[k].end;
		}
		reach = one->end > reach ? one->end : reach;
	}
	return 0;
}

/* Makes the waits of a lane disjoint, so that each instant counts once. A collective takes
 * precedence over a send or receive. */
static int unite(struct intervals *list)
{
	struct intervals waits = {.shift = list->shift}, busy = {0};
	int r = 0;

	if (!list->count)
		return 0;
	qsort(list->at, list->count, sizeof(*list->at), compare_intervals);
	r = unite_until(list, INTERVAL_WAIT, &waits);
	if (!r && list->has_pairs)
		r = unite_until(list, INTERVAL_TRANSFER, &busy);
	if (!r && list->has_pairs)
		r = add_pair_waits(list, &busy, &waits);
	free(busy.at);
	free(list->at);
	*list = waits;
	if (list->count)
		qsort(list->at, list->count, sizeof(*list->at), compare_intervals);
	return r;
}

/* Notes whether a communicator's first operation lies in the first two windows of its group: stages
 * of a pipeline may end the step that warms up when others are in the next one. */
static void note_first(struct work *work, const struct collectives_operation *o)
{
	struct waiting_group *group =
		work->waiting->groups + work->waiting->group_of_lane[lane_of(work->c, o, 0)];
	size_t last = group->windows < 2 ? group->windows : 2;

	for (size_t i = group->met_windows; i < last; i++)
		if (o->start_last >= group->cuts[i] && o->start_last < group->cuts[i + 1])
			group->met_windows = i + 1;
}

static int find_intervals(struct work *work)
{
	struct collectives *c = work->c;
	CLEANUP(free_p) int64_t *first = calloc(c->comm_count + 1, sizeof(*first));
	int r = 0;

	if (!first)
		return -ENOMEM;
	for (size_t i = 0; i < c->comm_count; i++)
		first[i] = INT64_MAX;
	for (size_t i = 0; i < c->operation_count; i++) {
		const struct collectives_operation *o = c->operations + i;

		if (o->is_timed && !o->is_pairs && o->start_first < first[o->comm])
			first[o->comm] = o->start_first;
		for (uint32_t k = 0; o->is_timed && o->is_pairs && k < o->launches; k++)
			work->of_lane[lane_of(c, o, k)].has_pairs = true;
	}
	for (size_t i = 0; i < c->operation_count && !r; i++) {
		const struct collectives_operation *o = c->operations + i;

		if (!o->is_timed || o->launches < 2)
			continue;
		/* Before a communicator's first operation its ranks initialise and compile. */
		if (!o->is_pairs && o->start_first == first[o->comm])
			note_first(work, o);
		else
			r = add_operation(work, o);
	}
	for (size_t i = 0; i < c->lane_count && !r; i++)
		r = unite(work->of_lane + i);
	return r;
}

/* ---- what lanes do ---- */

static void add_waits(
	struct intervals *list, struct waiting_cell *cell, bool is_hidden, int64_t from, int64_t to)
{
	while (list->next < list->count && list->at[list->next].end <= from)
		list->next++;
	for (size_t i = list->next; i < list->count && list->at[i].start < to; i++) {
		const struct interval *wait = list->at + i;
		int64_t start = wait->start > from ? wait->start : from;
		int64_t end = wait->end < to ? wait->end : to;

		if (is_hidden)
			cell->hidden_wait_ns += end - start;
		else if (wait->kind == INTERVAL_PAIR_WAIT)
			cell->pair_wait_ns += end - start;
		else
			cell->wait_ns += end - start;
	}
}

static void span(
	void *context, struct sweep_lane *sweep, enum sweep_class class, int64_t from, int64_t to)
{
	struct work *work = context;
	const struct collectives_lane *lane =
		(const void *)((const char *)sweep - offsetof(struct collectives_lane, sweep));
	size_t index = (size_t)(lane - work->c->lanes);
	uint32_t id = work->waiting->group_of_lane[index];
	struct intervals *list = work->of_lane + index;
	struct waiting_group *group;
	struct waiting_cell *cells;

	if (id == COLLECTIVES_NONE)
		return;
	group = work->waiting->groups + id;
	cells = group->cells + work->waiting->place_of_lane[index] * group->windows;
	from = wrap_plus(from, list->shift);
	to = wrap_plus(to, list->shift);
	list->end = to > list->end ? to : list->end;
	while (list->window < group->windows && group->cuts[list->window + 1] <= from)
		list->window++;
	for (size_t i = list->window; i < group->windows && group->cuts[i] < to; i++) {
		int64_t start = group->cuts[i] > from ? group->cuts[i] : from;
		int64_t end = group->cuts[i + 1] < to ? group->cuts[i + 1] : to;

		cells[i].class_ns[class] += end - start;
		if (class == SWEEP_COMM || class == SWEEP_COMPUTE || class == SWEEP_COPY)
			add_waits(list, cells + i, class != SWEEP_COMM, start, end);
	}
}

static void restart(void *context)
{
	struct work *work = context;

	for (size_t i = 0; i < work->waiting->group_count; i++) {
		struct waiting_group *group = work->waiting->groups + i;

		memset(group->cells, 0, group->lane_count * group->windows * sizeof(*group->cells));
	}
	for (size_t i = 0; i < work->c->lane_count; i++) {
		struct intervals *list = work->of_lane + i;

		list->next = list->window = 0;
		list->end = INT64_MIN;
	}
}

/* Before its first and after its last operation a lane does nothing that was recorded, so it is
 * idle for an unknown reason. This makes the parts of each window add up to the whole. */
static void fill_up(const struct work *work, struct waiting_group *group)
{
	for (size_t lane = 0; lane < group->lane_count; lane++)
		for (size_t i = 0; i < group->windows; i++) {
			struct waiting_cell *cell = group->cells + lane * group->windows + i;
			int64_t end = work->of_lane[group->lanes[lane]].end;
			int64_t sum = 0;

			for (int k = 0; k < SWEEP_CLASSES; k++)
				sum += cell->class_ns[k];
			cell->class_ns[SWEEP_UNKNOWN] += group->cuts[i + 1] - group->cuts[i] - sum;
			if (end < group->cuts[i + 1])
				cell->ended_ns = group->cuts[i + 1] -
						 (end > group->cuts[i] ? end : group->cuts[i]);
		}
}

static int make(const struct trace *trace, struct collectives *collectives,
	const struct steps *steps, bool is_alone, struct waiting **ret)
{
	CLEANUP(waiting_free_p) struct waiting *w = calloc(1, sizeof(*w));
	CLEANUP(work_done) struct work work = {.waiting = w, .c = collectives};
	struct sweep hooks = {.span = span, .context = &work};
	int r;

	work.of_lane = calloc(collectives->lane_count + 1, sizeof(*work.of_lane));
	if (!w || !work.of_lane)
		return -ENOMEM;
	w->collectives = collectives;
	w->impossible = collectives->impossible;
	for (size_t i = 0; i < collectives->lane_count && collectives->nodes.shift_ns; i++)
		work.of_lane[i].shift =
			collectives->nodes.shift_ns
				[collectives->processes[collectives->lanes[i].process].node];
	r = find_groups(w);
	if (!r && is_alone && !w->group_count) {
		free(w->groups);
		w->groups = NULL;
		r = group_alone(w);
	}
	for (size_t i = 0; i < w->group_count && !r; i++)
		r = cut(&work, i, steps);
	if (!r)
		r = sort_windows(&work, trace, steps);
	if (!r)
		r = find_intervals(&work);
	if (!r && w->group_count)
		r = collectives_sweep(trace, collectives, &hooks, restart);
	if (r)
		return r;
	for (size_t i = 0; i < w->group_count; i++)
		fill_up(&work, w->groups + i);
	*ret = TAKE(w);
	return 0;
}

int waiting_new(const struct trace *trace, struct collectives *collectives,
	const struct steps *steps, struct waiting **ret)
{
	return make(trace, collectives, steps, false, ret);
}

int waiting_new_alone(const struct trace *trace, struct collectives *collectives,
	const struct steps *steps, struct waiting **ret)
{
	return make(trace, collectives, steps, true, ret);
}
