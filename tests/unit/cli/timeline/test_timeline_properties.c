// SPDX-License-Identifier: MIT
/* Random sessions: every figure against a count of ticks, in any order of insertion. */
#include <stdlib.h>
#include <string.h>

#include "cli/trace/sort_buffer.h"
#include "cli/timeline/timeline.h"
#include "tests/lib/test.h"
#include "tests/unit/cli/trace/scene.h"

#define TICKS	4000
#define EVENTS	300
#define STEPS	6
#define RANKS	3
#define STREAMS 5

static const char *const kernels[STREAMS] = {"gemm", "ncclDevKernel_AllReduce_Sum",
	"ncclDevKernel_ReduceScatter_Sum", "ncclDevKernel_Generic_1", "__amd_rocclr_copyBuffer"};

struct event {
	int rank, stream;
	int64_t start, end, submit;
};

static uint64_t seed;

static int64_t random_below(int64_t limit)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)((seed >> 33) % (uint64_t)limit);
}

static void shuffle(struct event *events, size_t count)
{
	for (size_t i = count; i > 1; i--) {
		size_t other = (size_t)random_below((int64_t)i);
		struct event event = events[i - 1];

		events[i - 1] = events[other];
		events[other] = event;
	}
}

static struct timeline *ask(const struct event *events, size_t count, const int64_t *cuts)
{
	struct timeline_options options = {.micro_idle_ns = 20};
	char error[QUERY_ERROR_BYTES], text[16];
	struct timeline *timeline = NULL;
	int64_t shapes[RANKS][STREAMS];
	struct query *query;
	struct scene scene;

	scene_begin(&scene);
	for (int k = 0; k < STREAMS; k++) {
		int64_t kernel = scene_kernel(&scene, kernels[k]);

		for (int r = 0; r < RANKS; r++)
			shapes[r][k] = scene_shape(&scene, r + 1, r, k, kernel);
	}
	for (int r = 0; r < RANKS; r++) {
		scene_process(&scene, r + 1, r);
		for (int i = 0; i < STEPS; i++) {
			snprintf(text, sizeof(text), "step %d", i);
			scene_range(&scene, r + 1, text, cuts[2 * i], cuts[2 * i + 1]);
		}
	}
	for (size_t i = 0; i < count; i++)
		scene_dispatch(&scene, shapes[events[i].rank][events[i].stream], events[i].start,
			events[i].end, events[i].submit);
	query = scene_open(&scene);
	if (timeline_new(scene_trace(&scene, query), &options, error, &timeline))
		fail_msg("%s %s", error, query_error(query));
	scene_end(&scene, &query);
	return timeline;
}

/* Fills in what is under way at each tick, one bit a stream. */
static void fill_ticks(const struct event *events, size_t count, int rank, unsigned char ret[TICKS])
{
	memset(ret, 0, TICKS);
	for (size_t i = 0; i < count; i++)
		for (int64_t t = events[i].start; t < events[i].end; t++)
			if (events[i].rank == rank)
				ret[t] |= (unsigned char)(1u << events[i].stream);
}

/* A bit more: something was submitted and has not started. */
#define QUEUED 1u << STREAMS

static void fill_queued(
	const struct event *events, size_t count, int rank, unsigned char ret[TICKS])
{
	for (size_t i = 0; i < count; i++)
		for (int64_t t = events[i].submit < 0 ? 0 : events[i].submit; t < events[i].start;
			t++)
			if (events[i].rank == rank && events[i].end > events[i].start)
				ret[t] |= (unsigned char)(QUEUED);
}

static void count_ticks(const unsigned char *ticks, struct breakdown_row *row)
{
	for (int64_t t = row->start_ns; t < row->end_ns; t++) {
		unsigned on = t < TICKS ? ticks[t] & ~(QUEUED) : 0;
		bool computes = on & 1, communicates = on & 14;

		for (int k = 0; k < STREAMS; k++)
			row->stream_ns[k] += on >> k & 1;
		row->communication_ns += communicates;
		row->exposed_communication_ns += communicates && !computes;
		row->exposed_copy_ns += on == 16;
		row->with_communication_ns += communicates && computes;
		row->with_allreduce_ns += computes && on & 2;
		row->with_reducescatter_ns += computes && on & 4;
		row->macro_idle_ns += !on;
		row->cause_ns[BREAKDOWN_LAUNCH] += !on && t < TICKS && ticks[t];
		row->cause_ns[BREAKDOWN_QUEUE_EMPTY] += !on && (t >= TICKS || !ticks[t]);
		row->active_segments +=
			on && (t == row->start_ns || on != (ticks[t - 1] & ~(QUEUED)));
		row->wall_ns++;
	}
}

static void check(const struct breakdown_row *row, const struct breakdown_row *expected)
{
	assert_true(breakdown_holds(row));
	assert_memory_equal(row->stream_ns, expected->stream_ns, sizeof(row->stream_ns));
	assert_int_equal(row->wall_ns, expected->wall_ns);
	assert_int_equal(row->communication_ns, expected->communication_ns);
	assert_int_equal(row->exposed_communication_ns, expected->exposed_communication_ns);
	assert_int_equal(row->exposed_copy_ns, expected->exposed_copy_ns);
	assert_int_equal(row->with_communication_ns, expected->with_communication_ns);
	assert_int_equal(row->with_allreduce_ns, expected->with_allreduce_ns);
	assert_int_equal(row->with_reducescatter_ns, expected->with_reducescatter_ns);
	assert_int_equal(breakdown_idle_ns(row), expected->macro_idle_ns);
	/* No kernel waits long enough to count as held back. */
	assert_memory_equal(row->cause_ns, expected->cause_ns, sizeof(row->cause_ns));
	assert_int_equal(row->active_segments, expected->active_segments);
}

static void check_lane(const struct timeline_lane *lane, const struct event *events, size_t count)
{
	struct breakdown_row sum = {0}, whole = {0}, expected;
	unsigned char ticks[TICKS];

	fill_ticks(events, count, (int)lane->rank, ticks);
	fill_queued(events, count, (int)lane->rank, ticks);
	for (size_t i = 0; i < lane->process->count; i++) {
		expected = (struct breakdown_row){
			.start_ns = lane->rows[i].start_ns, .end_ns = lane->rows[i].end_ns};
		assert_true(expected.start_ns <= expected.end_ns);
		assert_true(!i || lane->rows[i - 1].end_ns <= expected.start_ns);
		count_ticks(ticks, &expected);
		check(lane->rows + i, &expected);
		breakdown_sum(&sum, lane->rows + i);
	}
	assert_memory_equal(&sum, &lane->total, sizeof(sum));
	/* With what is outside it is the whole run. */
	breakdown_sum(&sum, &lane->outside);
	whole.start_ns = lane->outside.start_ns;
	whole.end_ns = lane->outside.end_ns;
	count_ticks(ticks, &whole);
	whole.active_segments = sum.active_segments; /* cut by the steps */
	check(&sum, &whole);
	assert_int_equal(sum.kernels, lane->total.kernels + lane->outside.kernels);
}

static int compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

TEST_CASE(every_figure_is_a_count_of_ticks_in_any_order)
{
	struct event events[EVENTS];
	int64_t cuts[STEPS * 2];

	for (seed = 1; seed < (getenv("RTL_TEST_LONG") ? 400 : 7); seed++) {
		uint64_t round = seed;
		struct timeline *one, *other;

		for (int i = 0; i < STEPS * 2; i++)
			cuts[i] = random_below(TICKS - 500);
		qsort(cuts, STEPS * 2, sizeof(cuts[0]), compare);
		for (int i = 0; i < EVENTS; i++) {
			struct event *e = events + i;

			e->rank = (int)random_below(RANKS);
			e->stream = (int)random_below(STREAMS);
			e->start = 10 + random_below(TICKS - 200);
			e->end = e->start + random_below(random_below(8) ? 20 : 180);
			e->submit = e->start - random_below(random_below(4) ? 10 : e->start);
		}
		one = ask(events, EVENTS, cuts);
		assert_int_equal(one->lane_count, RANKS);
		for (size_t i = 0; i < RANKS; i++)
			check_lane(one->lanes + i, events, EVENTS);
		shuffle(events, EVENTS);
		other = ask(events, EVENTS, cuts);
		for (size_t i = 0; i < RANKS; i++) {
			assert_memory_equal(one->lanes[i].rows, other->lanes[i].rows,
				one->lanes[i].process->count * sizeof(struct breakdown_row));
			assert_memory_equal(&one->lanes[i].outside, &other->lanes[i].outside,
				sizeof(struct breakdown_row));
		}
		timeline_free_p(&one);
		timeline_free_p(&other);
		seed = round;
	}
}

/* More out of order than is held back: the same answer, from a sort. */
TEST_CASE(a_file_in_reverse_gives_the_same)
{
	static const char *const orders[] = {"n", "-n", "n * 7919 %% 150001"};
	struct timeline_options options = {.micro_idle_ns = 20};
	struct breakdown_row rows[3];

	for (int i = 0; i < 3; i++) {
		char error[QUERY_ERROR_BYTES], sql[512];
		struct timeline *timeline = NULL;
		struct query *query;
		struct scene scene;
		int64_t shape;

		scene_begin(&scene);
		scene_process(&scene, 1, 0);
		shape = scene_shape(&scene, 1, 0, 0, scene_kernel(&scene, "gemm"));
		snprintf(sql, sizeof(sql),
			"WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n < "
			"150000) INSERT INTO rtl_dispatch (shape_id, seq, start, duration, submit) "
			"SELECT %d, n, n * 100, 50 + n %% 60, n %% 40 FROM c ORDER BY %s",
			(int)shape, orders[i]);
		for (char *at = sql; (at = strstr(at, "%%"));)
			memmove(at, at + 1, strlen(at));
		assert_int_equal(sqlite3_exec(scene.db, sql, NULL, NULL, NULL), SQLITE_OK);
		query = scene_open(&scene);
		assert_int_equal(
			timeline_new(scene_trace(&scene, query), &options, error, &timeline), 0);
		assert_int_equal(timeline->lane_count, 1);
		rows[i] = timeline->lanes[0].rows[0];
		assert_int_equal(rows[i].kernels, 150001);
		timeline_free_p(&timeline);
		scene_end(&scene, &query);
	}
	assert_memory_equal(rows, rows + 1, sizeof(rows[0]));
	assert_memory_equal(rows, rows + 2, sizeof(rows[0]));
}

/* The buffer alone: what it lets by is in order, and what comes too late is said. */
TEST_CASE(an_event_too_late_for_the_buffer_makes_the_times_inexact)
{
	struct breakdown_row outside = {0};
	struct breakdown breakdown = {.outside = &outside};
	struct reorder reorder;

	breakdown_begin(&breakdown, 0);
	reorder_init(&reorder, 64);
	for (int64_t i = 0; i < 200; i++) {
		struct breakdown_event event = {
			.start_ns = (i ^ 7) * 10, .end_ns = (i ^ 7) * 10 + 5};

		assert_int_equal(reorder_add(&reorder, &event, &breakdown), 0);
	}
	assert_false(reorder.is_inexact);
	assert_int_equal(
		reorder_add(&reorder, &(struct breakdown_event){.end_ns = 5}, &breakdown), 0);
	assert_true(reorder.is_inexact);
	assert_int_equal(reorder_flush(&reorder, &breakdown), 0);
	assert_int_equal(breakdown_finish(&breakdown, 2000), 0);
	assert_int_equal(outside.stream_ns[BREAKDOWN_COMPUTE], 1000);
	assert_int_equal(breakdown_idle_ns(&outside), 1000);
	reorder_done(&reorder);
}

/* Like a lane whose dispatches have no times: the buffer never held an event. */
TEST_CASE(an_empty_sort_buffer_passes_nothing_on)
{
	struct breakdown_row outside = {0};
	struct breakdown breakdown = {.outside = &outside};
	struct reorder reorder;

	breakdown_begin(&breakdown, 0);
	reorder_init(&reorder, 64);
	assert_int_equal(reorder_flush(&reorder, &breakdown), 0);
	assert_false(reorder.has_floor);
	assert_int_equal(breakdown_finish(&breakdown, 2000), 0);
	assert_int_equal(breakdown_idle_ns(&outside), 2000);
	reorder_done(&reorder);
}

int main(void)
{
	unsetenv("RTL_CATEGORIES");
	return test_run(NULL, NULL);
}
