// SPDX-License-Identifier: MIT
/*
 * Kernels that wait for each other by the script, across GPUs and processes. Uses the thunk alone:
 * rings are driven by hand, in children that are forked before any device is open.
 */
#include "tests/lib/test.h"
#include "tests/softgpu/softgpu.h"
#include "tests/softgpu/test_child.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RING_PACKETS 64u
#define RANKS_MAX    8
#define TIMES_MAX    64
/* Their names are unknown_1000 and unknown_2000. */
#define FIRST	     0x1000u
#define SECOND	     0x2000u

struct span {
	uint64_t start_ns, end_ns;
};

/* Results reported by the children. */
static struct board {
	struct span span[RANKS_MAX][TIMES_MAX];
	uint32_t done[RANKS_MAX]; /* atomic: dispatches that have ended */
	uint32_t go;		  /* atomic */
} * board;

struct ring {
	amd_queue_t amd;
	HsaQueueResource res;
	uint8_t *base;
	uint32_t node;
};

static void ring_open(struct ring *r, HSAuint32 node)
{
	memset(r, 0, sizeof(*r));
	r->node = node;
	r->base = aligned_alloc(4096, RING_PACKETS * 64);
	MUST(r->base);
	for (unsigned int i = 0; i < RING_PACKETS; i++)
		memcpy(r->base + (size_t)i * 64, &(uint32_t){HSA_PACKET_TYPE_INVALID}, 4);
	r->amd.queue_properties = AMD_QUEUE_PROPERTIES_ENABLE_PROFILING;
	r->res.Queue_read_ptr_aql = (HSAuint64 *)(uintptr_t)&r->amd.read_dispatch_id;
	r->res.Queue_write_ptr_aql = (HSAuint64 *)(uintptr_t)&r->amd.write_dispatch_id;
	MUST(!hsaKmtCreateQueue(node, HSA_QUEUE_COMPUTE_AQL, 100, HSA_QUEUE_PRIORITY_NORMAL,
		r->base, RING_PACKETS * 64, NULL, &r->res));
}

static void ring_close(struct ring *r)
{
	MUST(!hsaKmtDestroyQueue(r->res.QueueId));
	free(r->base);
}

static void dispatch(struct ring *r, uint64_t kernel, amd_signal_t *done)
{
	hsa_kernel_dispatch_packet_t p = {
		.kernel_object = kernel, .completion_signal = {(uintptr_t)done}};
	uint64_t at = r->amd.write_dispatch_id;
	uint8_t *slot = r->base + at % RING_PACKETS * 64;

	done->value = 1;
	memcpy(slot + 4, (char *)&p + 4, sizeof(p) - 4);
	__atomic_store_n(
		(uint32_t *)(void *)slot, HSA_PACKET_TYPE_KERNEL_DISPATCH, __ATOMIC_RELEASE);
	__atomic_store_n(&r->amd.write_dispatch_id, at + 1, __ATOMIC_RELEASE);
	__atomic_store_n(r->res.Queue_DoorBell_aql, at, __ATOMIC_RELEASE);
}

static bool has_ended(const amd_signal_t *s)
{
	return __atomic_load_n(&s->value, __ATOMIC_ACQUIRE) == 0;
}

static struct span wait_end(const struct ring *r, const amd_signal_t *s)
{
	uint64_t offset = clock_tick_offset(r->node);

	while (!has_ended(s))
		sched_yield();
	return (struct span){
		(s->start_ts - offset) * SOFTGPU_TICK_NS, (s->end_ts - offset) * SOFTGPU_TICK_NS};
}

static void wait_for_go(void)
{
	while (!__atomic_load_n(&board->go, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void dispatch_times(struct ring *r, int row, int times)
{
	for (int i = 0; i < times; i++) {
		amd_signal_t done;

		memset(&done, 0, sizeof(done));
		dispatch(r, FIRST, &done);
		board->span[row][i] = wait_end(r, &done);
		__atomic_add_fetch(&board->done[row], 1, __ATOMIC_RELEASE);
	}
}

/* The Nth rank has the Nth GPU. */
static void run_rank(int rank, int times)
{
	struct ring r;

	MUST(!hsaKmtOpenKFD());
	ring_open(&r, (HSAuint32)rank + 1);
	dispatch_times(&r, rank, times);
	ring_close(&r);
	MUST(!hsaKmtCloseKFD());
}

static char hall[64];

static int setup(void **state)
{
	(void)state;
	snprintf(hall, sizeof(hall), "/tmp/softgpu.test_meet.%d", (int)getpid());
	setenv("SOFTGPU_MEET", hall, 1);
	setenv("SOFTGPU_COUNT", "8", 1);
	unsetenv("SOFTGPU_REALTIME");
	board = mmap(
		NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return board == MAP_FAILED;
}

/* The last process to leave removes the file; after a kill it may remain. */
static int teardown(void **state)
{
	(void)state;
	unlink(hall);
	return munmap(board, sizeof(*board));
}

/* All ended at one time: the latest start and the duration. */
static void expect_meeting(int ranks, int i, uint64_t duration_ns)
{
	uint64_t last = 0;

	for (int r = 0; r < ranks; r++) {
		if (board->span[r][i].start_ns > last)
			last = board->span[r][i].start_ns;
	}
	for (int r = 0; r < ranks; r++)
		assert_int_equal(board->span[r][i].end_ns, last + duration_ns);
}

#define CASE(claim) TEST_CASE_BETWEEN(claim, setup, teardown)

CASE(ranks_end_each_kernel_together)
{
	setenv("SOFTGPU_FAULT", "kernel unknown_1000 meet=4 duration=50us", 1);
	run_children(4, run_rank, TIMES_MAX);
	for (int i = 0; i < TIMES_MAX; i++)
		expect_meeting(4, i, 50000);
	assert_int_equal(access(hall, F_OK), -1);
}

CASE(ranks_end_together_by_the_wall_clock)
{
	setenv("SOFTGPU_FAULT", "kernel unknown_1000 meet=2 duration=1ms", 1);
	setenv("SOFTGPU_REALTIME", "1", 1);
	run_children(2, run_rank, 5);
	for (int i = 0; i < 5; i++)
		expect_meeting(2, i, 1000000);
}

CASE(number_of_ranks_is_the_launchers)
{
	setenv("SOFTGPU_FAULT", "kernel unknown_1000 meet=ranks", 1);
	setenv("LOCAL_WORLD_SIZE", "3", 1);
	run_children(3, run_rank, 20);
	for (int i = 0; i < 20; i++)
		expect_meeting(3, i, 2000);
	/* A single rank does not meet. */
	setenv("LOCAL_WORLD_SIZE", "1", 1);
	end_child(start_child(run_rank, 0, 3), 0);
	unsetenv("LOCAL_WORLD_SIZE");
}

static void run_until_killed(int rank, int times)
{
	run_rank(rank, times);
	wait_for_go(); /* which never comes */
}

CASE(killed_rank_releases_the_others)
{
	pid_t pid[3];

	setenv("SOFTGPU_FAULT", "kernel unknown_1000 meet=3", 1);
	for (int r = 0; r < 2; r++)
		pid[r] = start_child(run_rank, r, 20);
	pid[2] = start_child(run_until_killed, 2, TIMES_MAX);
	/* The others wait for its kernel from the 21st on: kill it in the middle of that. */
	while (__atomic_load_n(&board->done[2], __ATOMIC_ACQUIRE) < 7)
		sched_yield();
	kill(pid[2], SIGKILL);
	end_child(pid[2], SIGKILL);
	for (int r = 0; r < 2; r++)
		end_child(pid[r], 0);
	for (int i = 0; i < 7; i++)
		expect_meeting(3, i, 2000);
	for (int i = 8; i < 20; i++)
		assert_int_equal(board->span[0][i].end_ns, board->span[1][i].end_ns);
}

static void run_and_say_so(int rank, int times)
{
	amd_signal_t done;
	struct ring r;

	memset(&done, 0, sizeof(done));
	MUST(!hsaKmtOpenKFD());
	ring_open(&r, 1);
	dispatch(&r, FIRST, &done);
	__atomic_store_n(&board->go, 1, __ATOMIC_RELEASE);
	wait_end(&r, &done);
	dispatch_times(&r, rank, times);
	ring_close(&r);
	MUST(!hsaKmtCloseKFD());
}

static void open_and_exit(int rank, int arg)
{
	(void)rank;
	(void)arg;
	MUST(!hsaKmtOpenKFD());
}

CASE(rank_that_ends_before_its_first_kernel_is_not_waited_for)
{
	pid_t pid[2];

	setenv("SOFTGPU_FAULT", "kernel unknown_1000 meet=2", 1);
	pid[0] = start_child(run_and_say_so, 0, 5);
	/* It waits for the other process, which starts and ends. */
	wait_for_go();
	pid[1] = start_child(open_and_exit, 1, 0);
	end_child(pid[1], 0);
	end_child(pid[0], 0);
	assert_int_equal(board->done[0], 5);
}

/* One GPU has a queue for each kernel, the other one queue for both, in either order. */
static void run_two_at_once(int rank, int times)
{
	struct ring r[2];

	(void)rank;
	MUST(!hsaKmtOpenKFD());
	ring_open(&r[0], 1);
	ring_open(&r[1], 1);
	for (int i = 0; i < times; i++) {
		amd_signal_t done[2];

		memset(done, 0, sizeof(done));
		dispatch(&r[0], FIRST, &done[0]);
		dispatch(&r[1], SECOND, &done[1]);
		board->span[0][i] = wait_end(&r[0], &done[0]);
		board->span[1][i] = wait_end(&r[1], &done[1]);
	}
	ring_close(&r[0]);
	ring_close(&r[1]);
	MUST(!hsaKmtCloseKFD());
}

static void run_one_after_the_other(int rank, int times)
{
	struct ring r;

	(void)rank;
	MUST(!hsaKmtOpenKFD());
	ring_open(&r, 2);
	for (int i = 0; i < times; i++) {
		amd_signal_t done[2];

		memset(done, 0, sizeof(done));
		dispatch(&r, i & 1 ? FIRST : SECOND, &done[!(i & 1)]);
		dispatch(&r, i & 1 ? SECOND : FIRST, &done[i & 1]);
		board->span[2][i] = wait_end(&r, &done[0]);
		board->span[3][i] = wait_end(&r, &done[1]);
	}
	ring_close(&r);
	MUST(!hsaKmtCloseKFD());
}

CASE(several_meetings_go_on_at_once)
{
	pid_t pid[2];

	setenv("SOFTGPU_FAULT", "kernel unknown_* meet=2", 1);
	pid[0] = start_child(run_two_at_once, 0, 30);
	pid[1] = start_child(run_one_after_the_other, 0, 30);
	end_child(pid[0], 0);
	end_child(pid[1], 0);
	for (int i = 0; i < 30; i++) {
		assert_int_equal(board->span[0][i].end_ns, board->span[2][i].end_ns);
		assert_int_equal(board->span[1][i].end_ns, board->span[3][i].end_ns);
	}
}

/*
 * GPUs 0 and 1 are one group, 2 and 3 another; a queue that is destroyed is not waited for by its
 * group.
 */
static void run_groups(int rank, int arg)
{
	amd_signal_t done[4], fifth;
	struct span end[4];
	struct ring r[5];

	(void)rank;
	(void)arg;
	memset(done, 0, sizeof(done));
	memset(&fifth, 0, sizeof(fifth));
	MUST(!hsaKmtOpenKFD());
	for (HSAuint32 i = 0; i < 5; i++)
		ring_open(&r[i], i + 1);
	dispatch(&r[0], FIRST, &done[0]);
	dispatch(&r[2], FIRST, &done[2]);
	dispatch(&r[1], FIRST, &done[1]);
	end[0] = wait_end(&r[0], &done[0]);
	end[1] = wait_end(&r[1], &done[1]);
	MUST(end[0].end_ns == end[1].end_ns);
	MUST(!has_ended(&done[2]));
	dispatch(&r[3], FIRST, &done[3]);
	end[2] = wait_end(&r[2], &done[2]);
	end[3] = wait_end(&r[3], &done[3]);
	MUST(end[2].end_ns == end[3].end_ns);
	/* Alone in its group. */
	dispatch(&r[4], FIRST, &fifth);
	for (int i = 0; i < 5; i++)
		ring_close(&r[i]);
	MUST(!has_ended(&fifth));
	MUST(!hsaKmtCloseKFD());
}

CASE(gpus_meet_those_of_their_group)
{
	setenv("SOFTGPU_FAULT", "kernel unknown_1000 meet=2", 1);
	end_child(start_child(run_groups, 0, 0), 0);
}

/* Counting goes on when a process opens its device again. */
static void run_twice(int rank, int times)
{
	run_rank(rank, times);
	run_rank(rank, times);
}

CASE(device_can_be_opened_again)
{
	setenv("SOFTGPU_FAULT", "kernel unknown_1000 meet=2", 1);
	run_children(2, run_twice, 10);
	assert_int_equal(board->done[0], 20);
	assert_int_equal(board->done[1], 20);
	for (int i = 0; i < 10; i++)
		expect_meeting(2, i, 2000);
}

/* A rank that stays until the third one, on a GPU of theirs, has finished. */
static void run_and_stay(int rank, int times)
{
	struct ring r;

	MUST(!hsaKmtOpenKFD());
	ring_open(&r, (HSAuint32)rank + 1);
	dispatch_times(&r, rank, times);
	wait_for_go();
	ring_close(&r);
	MUST(!hsaKmtCloseKFD());
}

static void run_on_first_gpu(int row, int times)
{
	struct ring r;

	MUST(!hsaKmtOpenKFD());
	ring_open(&r, 1);
	dispatch_times(&r, row, times);
	ring_close(&r);
	MUST(!hsaKmtCloseKFD());
}

static void expect_short_in_log(const char *path)
{
	struct softgpu_truth_header header;
	struct softgpu_truth_record record;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(header.done, 3);
	for (off_t i = 0; i < 3; i++) {
		assert_int_equal(pread(fd, &record, sizeof(record),
					 (off_t)header.records_offset + i * (off_t)sizeof(record)),
			sizeof(record));
		assert_true(record.flags & SOFTGPU_TRUTH_SHORT);
	}
	close(fd);
	unlink(path);
}

CASE(one_more_than_the_script_has_does_not_wait)
{
	char truth[80];
	pid_t pid[2];

	setenv("SOFTGPU_FAULT", "kernel unknown_1000 meet=2", 1);
	for (int r = 0; r < 2; r++)
		pid[r] = start_child(run_and_stay, r, 5);
	while (__atomic_load_n(&board->done[0], __ATOMIC_ACQUIRE) < 5 ||
		__atomic_load_n(&board->done[1], __ATOMIC_ACQUIRE) < 5)
		sched_yield();
	snprintf(truth, sizeof(truth), "%s.truth", hall);
	setenv("SOFTGPU_TRUTH", truth, 1);
	end_child(start_child(run_on_first_gpu, 2, 3), 0);
	unsetenv("SOFTGPU_TRUTH");
	expect_short_in_log(truth);
	__atomic_store_n(&board->go, 1, __ATOMIC_RELEASE);
	for (int r = 0; r < 2; r++)
		end_child(pid[r], 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(board->span[2][i].end_ns - board->span[2][i].start_ns, 2000);
}

static void expect_refused(int rank, int arg)
{
	(void)rank;
	(void)arg;
	MUST(hsaKmtOpenKFD() == HSAKMT_STATUS_ERROR);
}

CASE(file_of_something_else_is_left_alone)
{
	static const char text[] = "this is the text of another program\n";
	char have[sizeof(text)] = "";
	FILE *f;

	setenv("SOFTGPU_FAULT", "kernel unknown_1000 meet=2", 1);
	f = fopen(hall, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	end_child(start_child(expect_refused, 0, 0), 0);
	f = fopen(hall, "re");
	assert_non_null(f);
	assert_int_equal(fread(have, 1, sizeof(have), f), sizeof(text) - 1);
	fclose(f);
	assert_string_equal(have, text);
}

/* Without SOFTGPU_MEET, the ranks are the children of one launcher. */
CASE(children_of_one_process_find_each_other)
{
	setenv("SOFTGPU_FAULT", "kernel unknown_1000 meet=2", 1);
	unsetenv("SOFTGPU_MEET");
	run_children(2, run_rank, 10);
	for (int i = 0; i < 10; i++)
		expect_meeting(2, i, 2000);
}
