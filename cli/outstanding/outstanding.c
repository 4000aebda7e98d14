// SPDX-License-Identifier: MIT
#include "cli/outstanding/outstanding.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/base/array.h"
#include "cli/base/wrapping.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"

static void free_wait(struct outstanding_wait *wait)
{
	free(wait->kernel);
	free(wait->range);
	free(wait->op);
	free(wait->communication);
}

static void free_rank(struct outstanding_rank *rank)
{
	for (size_t i = 0; i < rank->wait_count; i++)
		free_wait(rank->waits + i);
	for (size_t i = 0; i < rank->called_count; i++)
		free(rank->called[i].op);
	free(rank->waits);
	free(rank->called);
	free(rank->ended);
	free(rank->range);
	free(rank->last);
}

void outstanding_free_p(struct outstanding **outstanding)
{
	struct outstanding *o = *outstanding;

	if (!o)
		return;
	for (size_t i = 0; i < o->count; i++)
		free_rank(o->ranks + i);
	verdict_free_p(&o->verdict);
	free(o->ranks);
	free(o->sentence);
	free(o->is_odd);
	free(o);
	*outstanding = NULL;
}

/* NULL stays NULL. */
static char *copy_text(const struct query_rows *rows, int column)
{
	const char *text = query_text(rows, column);

	return text ? xstrdup(text) : NULL;
}

/* ---- processes --------------------------------------------------------------------------- */

/* rtl_process.boot_id is hex without dashes. */
static bool is_this_boot(const char *boot_id)
{
	char text[64] = "", hex[64] = "";
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	size_t n = 0;

	if (!file)
		return false;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	for (const char *at = text; *at && *at != '\n'; at++)
		if (*at != '-')
			hex[n++] = *at;
	return boot_id && !strcmp(boot_id, hex);
}

/* Asks the kernel for the process that has this pid now. @is_stopped: by a signal or a debugger. */
static bool is_running(int64_t pid, int64_t start_time, bool *is_stopped)
{
	char path[64], line[1024] = "";
	const char *after;
	long long started = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRId64 "/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	fclose(file);
	/*
	 * The fields after the name, which may contain any character: state is field 3, the start
	 * time field 22.
	 */
	after = strrchr(line, ')');
	if (!after || after[1] != ' ' || after[2] == 'Z' || after[2] == 'X')
		return false;
	*is_stopped = after[2] == 'T' || after[2] == 't';
	for (int field = 2; after && field < 22; field++)
		after = strchr(after + 1, ' ');
	if (after)
		started = (long long)clock_machine_ticks(strtoull(after + 1, NULL, 10));
	return started == start_time;
}

static void add_rank(struct outstanding *o, const struct query_rows *rows)
{
	struct outstanding_rank *rank;

	o->ranks = grow_by_one(o->ranks, o->count, sizeof(*rank));
	rank = o->ranks + o->count++;
	*rank = (struct outstanding_rank){
		.process_id = query_integer(rows, 0),
		.has_rank = !query_is_null(rows, 1),
		.rank = query_integer(rows, 1),
		.pid = query_integer(rows, 2),
		.has_status = !query_is_null(rows, 6),
		.status = query_integer(rows, 6),
		.dispatched = query_integer(rows, 7),
	};
	rank->ended = copy_text(rows, 5);
	rank->is_alive = !rank->ended && query_is_null(rows, 8) &&
			 is_this_boot(query_text(rows, 3)) &&
			 is_running(rank->pid, query_integer(rows, 4), &rank->is_stopped);
	rank->is_unseen = !rank->ended && !rank->is_alive;
	o->is_live |= rank->is_alive;
	o->realtime_offset_ns = query_integer(rows, 9);
	if (rank->is_alive)
		rank->as_of_ns = (int64_t)clock_boottime_ns();
}

static struct outstanding_rank *find(const struct outstanding *o, int64_t process_id)
{
	for (size_t i = 0; i < o->count; i++)
		if (o->ranks[i].process_id == process_id)
			return o->ranks + i;
	return NULL;
}

static void take_end(struct outstanding *o, const struct query_rows *rows)
{
	struct outstanding_rank *rank = find(o, query_integer(rows, 0));

	if (!rank || rank->is_alive)
		return;
	rank->end_ns = query_integer(rows, 1);
	rank->as_of_ns = rank->end_ns ? rank->end_ns : query_integer(rows, 2);
}

/* ---- what ranks wait in ---------------------------------------------------------------- */

static void take_wait(struct outstanding *o, const struct query_rows *rows)
{
	struct outstanding_rank *rank = find(o, query_integer(rows, 0));
	struct outstanding_wait *wait;

	if (!rank)
		return;
	rank->waits = grow_by_one(rank->waits, rank->wait_count, sizeof(*wait));
	wait = rank->waits + rank->wait_count++;
	*wait = (struct outstanding_wait){
		.queue = query_integer(rows, 1),
		.seq = query_integer(rows, 2),
		.has_gpu = !query_is_null(rows, 3),
		.gpu = query_integer(rows, 3),
		.kernel_id = query_integer(rows, 4),
		.has_submit = !query_is_null(rows, 6),
		.submit_ns = query_integer(rows, 6),
		.for_ns = -1,
		.behind = query_integer(rows, 7),
		.has_collective = !query_is_null(rows, 9) && !query_is_null(rows, 10) &&
				  !query_is_null(rows, 11),
		.comm = query_integer(rows, 10),
		.comm_seq = query_integer(rows, 11),
		.bytes = query_integer(rows, 12),
		.has_comm_size = !query_is_null(rows, 13),
		.comm_size = query_integer(rows, 13),
		.collectives = query_integer(rows, 14),
	};
	if (wait->has_submit && rank->as_of_ns >= wait->submit_ns)
		wait->for_ns = wrap_minus(rank->as_of_ns, wait->submit_ns);
	wait->ran_ns = wait->for_ns;
	if (!query_is_null(rows, 15) && wait->for_ns >= 0 &&
		query_integer(rows, 15) > wait->submit_ns)
		wait->ran_ns = wrap_minus(rank->as_of_ns, query_integer(rows, 15));
	if (rank->is_alive)
		wait->taken_ns = query_integer(rows, 16);
	rank->unended = wrap_plus(rank->unended, wrap_plus(wait->behind, 1));
	wait->kernel = copy_text(rows, 5);
	wait->range = copy_text(rows, 8);
	wait->op = copy_text(rows, 9);
}

static void take_last(struct outstanding *o, const struct query_rows *rows)
{
	struct outstanding_rank *rank = find(o, query_integer(rows, 0));

	if (!rank)
		return;
	rank->has_last = true;
	rank->last_end_ns = query_integer(rows, 1);
	rank->last_seq = query_integer(rows, 4);
	rank->last = copy_text(rows, 5);
}

static void take_range(struct outstanding *o, const struct query_rows *rows)
{
	struct outstanding_rank *rank = find(o, query_integer(rows, 0));

	if (rank)
		rank->range = copy_text(rows, 2);
}

static void take_called(struct outstanding *o, const struct query_rows *rows)
{
	struct outstanding_rank *rank = find(o, query_integer(rows, 0));

	if (!rank)
		return;
	rank->called = grow_by_one(rank->called, rank->called_count, sizeof(*rank->called));
	rank->called[rank->called_count++] =
		(struct outstanding_collective){.comm = query_integer(rows, 1),
			.seq = query_integer(rows, 2),
			.op = copy_text(rows, 3)};
}

/* ---- communication without a collective --------------------------------------------------- */

/* Tells whether any wait needs the numbers of its rank's kernels. */
static bool find_communication(struct outstanding *o, const struct trace *trace)
{
	bool is_needed = false;

	for (size_t i = 0; i < o->count; i++)
		for (size_t w = 0; w < o->ranks[i].wait_count; w++) {
			struct outstanding_wait *wait = o->ranks[i].waits + w;
			const struct trace_kernel *kernel = trace_kernel(trace, wait->kernel_id);
			const struct category *category = kernel ? kernel->category : NULL;

			if (wait->has_collective || !category ||
				category->class != CATEGORY_COMMUNICATION)
				continue;
			wait->communication = xstrdup(
				category->collective[0] ? category->collective : category->name);
			wait->nth = 1;
			is_needed = true;
		}
	return is_needed;
}

/* A waiting kernel's number is one more than that of the last one of its kind that has ended. */
static void count_kernels(struct outstanding_rank *rank, const struct category *category, int64_t n)
{
	const char *name = category->collective[0] ? category->collective : category->name;

	if (category->class != CATEGORY_COMMUNICATION)
		return;
	for (size_t w = 0; w < rank->wait_count; w++) {
		struct outstanding_wait *wait = rank->waits + w;

		if (wait->communication && !strcmp(wait->communication, name))
			wait->nth += n;
	}
}

struct counting {
	const struct trace *trace;
	int64_t *dispatches; /* by shape */
};

static int count_dispatch(void *context, const int64_t *numbers, unsigned nulls)
{
	struct counting *c = context;
	size_t at = nulls ? c->trace->shape_count : trace_shape(c->trace, numbers[0]);

	if (at < c->trace->shape_count)
		c->dispatches[at]++;
	return 0;
}

static int number_communication(const struct trace *trace, struct outstanding *o)
{
	CLEANUP(free_p)
	int64_t *dispatches = xcalloc(trace->shape_count + 1, sizeof(*dispatches));
	struct counting c = {trace, dispatches};
	int r;

	if (!find_communication(o, trace))
		return 0;
	r = query_fold(trace->query, "dispatch_shapes", count_dispatch, &c);
	for (size_t i = 0; !r && i < trace->shape_count; i++) {
		struct outstanding_rank *rank = find(o, trace->shapes[i].process_id);

		if (rank)
			count_kernels(rank, trace->shapes[i].category, dispatches[i]);
	}
	return r;
}

bool outstanding_may_hang(struct query *query, int64_t min_ns)
{
	int64_t now_ns = (int64_t)clock_boottime_ns(), since_ns;

	return !query_number(query, "longest_in_flight", now_ns, &since_ns) &&
	       since_ns <= now_ns - min_ns;
}

/* ---- all of it ------------------------------------------------------------------------- */

/*
 * Drops helper processes that never dispatched anything, because they wait for nothing that is
 * recorded.
 */
static void drop_silent(struct outstanding *o)
{
	size_t kept = 0;

	for (size_t i = 0; i < o->count; i++)
		if (o->ranks[i].dispatched || o->ranks[i].wait_count)
			o->ranks[kept++] = o->ranks[i];
		else
			free_rank(o->ranks + i);
	o->count = kept;
}

int outstanding_new(const struct trace *trace, struct outstanding **ret)
{
	struct query *query = trace->query;
	CLEANUP(outstanding_free_p) struct outstanding *o = xcalloc(1, sizeof(*o));
	const char *const waiting = query_schema(query) < 9 ? "waiting_older" : "waiting";
	const struct {
		const char *query;
		void (*take)(struct outstanding *o, const struct query_rows *rows);
	} steps[] = {
		{"waiting_processes", add_rank},
		{"process_ends", take_end},
		{waiting, take_wait},
		{"last_kernels", take_last},
		{"last_collectives", take_called},
		{"open_ranges", take_range},
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		QUERY_EACH (r, query, steps[i].query, rows)
			steps[i].take(o, rows);
	if (!r)
		r = number_communication(trace, o);
	if (!r)
		r = verdict_new(query, NULL, &o->verdict);
	if (r)
		return r;
	drop_silent(o);
	outstanding_judge(o);
	*ret = TAKE(o);
	return 0;
}
