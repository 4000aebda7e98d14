// SPDX-License-Identifier: MIT
/* The truth log equals what was dispatched, however the process ends. */
#include "tests/softgpu/test_gpu.h"

#include <hsa/amd_hsa_signal.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PACKETS = 64 };

static const hsa_signal_t no_signal;
static const char *self;

/* A runtime in this process would leave threads behind, so it runs in a separate program. */
static void child_dispatches_for_ever(void)
{
	struct code code;
	struct gpu g;
	hsa_queue_t *q;
	hsa_signal_t s;

	gpu_open(&g);
	code_load(g.agent[0], &code);
	q = queue_new(g.agent[0], 1024);
	s = signal_new(1);
	for (unsigned int i = 0;; i++) {
		run_one(q, code.kernel[i & 1], s);
		/* Written after its completion was seen: the parent counts these. */
		if (write(STDOUT_FILENO, "x", 1) != 1)
			return;
	}
}

static void child_reports_and_exits(void)
{
	struct code code;
	struct gpu g;
	hsa_queue_t *q;
	hsa_signal_t s;

	gpu_open(&g);
	code_load(g.agent[0], &code);
	q = queue_new(g.agent[0], 64);
	s = signal_new(PACKETS);
	for (int i = 0; i < PACKETS; i++)
		queue_put(q, packet_dispatch(code.kernel[0], s));
	signal_wait_done(s);
	_exit(0);
}

static pid_t spawn(const char *what, int out)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (out >= 0)
			dup2(out, STDOUT_FILENO);
		execl(self, self, what, (char *)NULL);
		_exit(127);
	}
	assert_true(pid > 0);
	return pid;
}

static int setup(void **state)
{
	static char path[4096];

	(void)state;
	unsetenv("SOFTGPU_FAULT");
	unsetenv("SOFTGPU_TRUTH_RECORDS");
	setenv("SOFTGPU_TRUTH", test_path(path, sizeof(path), "truth.%p"), 1);
	return 0;
}

static const char *path_of(pid_t pid, char *buf, size_t size)
{
	char name[64];

	snprintf(name, sizeof(name), "truth.%d", (int)pid);
	return test_path(buf, size, name);
}

#define CASE(claim) TEST_CASE_BETWEEN(claim, setup, NULL)

CASE(log_equals_what_was_dispatched)
{
	struct code code[2];
	hsa_queue_t *q[2];
	hsa_signal_t s[2][PACKETS];
	unsigned int seen[2] = {0};
	struct truth t;
	char path[4096];
	struct gpu g;

	gpu_open(&g);
	for (unsigned int d = 0; d < 2; d++) {
		code_load(g.agent[d], &code[d]);
		q[d] = queue_new(g.agent[d], 64);
	}
	for (unsigned int i = 0; i < PACKETS; i++) {
		for (unsigned int d = 0; d < 2; d++) {
			s[d][i] = signal_new(1);
			queue_put(q[d], packet_dispatch(code[d].kernel[(i + d) & 3], s[d][i]));
		}
	}
	for (unsigned int d = 0; d < 2; d++)
		signal_wait_done(s[d][PACKETS - 1]);
	truth_map(path_of(getpid(), path, sizeof(path)), &t);
	assert_int_equal(t.header->pid, getpid());
	assert_int_equal(t.header->gpu_count, 2);
	for (uint64_t n = 0; n < truth_records(&t); n++) {
		const struct softgpu_truth_record *r = &t.record[n];
		const amd_signal_t *raw;
		unsigned int d = r->gpu, i = (unsigned int)r->packet;

		if (r->flags & SOFTGPU_TRUTH_EMULATED)
			continue; /* ROCr's own copies of the code objects */
		assert_true(d < 2);
		/* Loading the code took packets of other queues; this one is ours from 0. */
		assert_int_equal(r->hsa_queue_id, q[d]->id);
		assert_int_equal(i, seen[d]);
		raw = (const amd_signal_t *)s[d][i].handle;
		assert_int_equal(r->state, SOFTGPU_TRUTH_DONE);
		assert_int_equal(r->flags, 0);
		assert_int_equal(r->node, d + 1);
		assert_int_equal(r->signal, s[d][i].handle);
		assert_int_equal(r->start_tick, raw->start_ts);
		assert_int_equal(r->end_tick, raw->end_ts);
		assert_string_equal(truth_name(&t, n), test_kernel_name[(i + d) & 3]);
		assert_int_equal(r->kernel_object, code[d].kernel[(i + d) & 3]);
		assert_int_equal(r->grid[0], 256);
		assert_int_equal(r->grid[1], 2);
		assert_int_equal(r->workgroup[0], 64);
		seen[d]++;
	}
	assert_int_equal(seen[0], PACKETS);
	assert_int_equal(seen[1], PACKETS);
	truth_unmap(&t);
	for (unsigned int d = 0; d < 2; d++) {
		for (unsigned int i = 0; i < PACKETS; i++)
			HSA_OK(hsa_signal_destroy(s[d][i]));
		HSA_OK(hsa_queue_destroy(q[d]));
		code_unload(&code[d]);
	}
	gpu_close();
}

/* What any thread can have seen is already in the log, so a kill at any moment loses nothing. */
CASE(completion_is_logged_before_it_is_seen)
{
	struct truth t;
	char path[4096];
	struct code code;
	struct gpu g;
	hsa_queue_t *q;
	hsa_signal_t s;
	uint64_t first;

	gpu_open(&g);
	code_load(g.agent[0], &code);
	q = queue_new(g.agent[0], 64);
	s = signal_new(1);
	truth_map(path_of(getpid(), path, sizeof(path)), &t);
	first = truth_records(&t);
	for (unsigned int i = 0; i < 5000; i++) {
		hsa_signal_store_relaxed(s, 1);
		queue_put(q, packet_dispatch(code.kernel[0], s));
		while (hsa_signal_load_scacquire(s) != 0)
			continue;
		assert_int_equal(__atomic_load_n(&t.record[first + i].state, __ATOMIC_ACQUIRE),
			SOFTGPU_TRUTH_DONE);
	}
	truth_unmap(&t);
	HSA_OK(hsa_signal_destroy(s));
	HSA_OK(hsa_queue_destroy(q));
	code_unload(&code);
	gpu_close();
}

/* Records of the killed child: at least those whose completion it has reported. */
CASE(log_survives_sigkill)
{
	uint64_t told = 0, done = 0;
	struct truth t;
	char path[4096], byte;
	int pipe_fd[2];
	pid_t pid;

	assert_int_equal(pipe(pipe_fd), 0);
	pid = spawn("for_ever", pipe_fd[1]);
	close(pipe_fd[1]);
	while (told < 2000 && read(pipe_fd[0], &byte, 1) == 1)
		told++;
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	while (read(pipe_fd[0], &byte, 1) == 1)
		told++;
	close(pipe_fd[0]);
	assert_true(told >= 2000);

	truth_map(path_of(pid, path, sizeof(path)), &t);
	assert_int_equal(t.header->dropped, 0);
	for (uint64_t n = 0; n < truth_records(&t); n++) {
		const struct softgpu_truth_record *r = &t.record[n];

		if (r->state != SOFTGPU_TRUTH_DONE || r->flags & SOFTGPU_TRUTH_EMULATED)
			continue;
		assert_int_equal(r->packet, done);
		assert_int_equal(r->end_tick - r->start_tick, 200);
		assert_string_equal(truth_name(&t, n), test_kernel_name[done & 1]);
		done++;
	}
	/* The one that it was about to report may be there too. */
	assert_in_range(done, told, told + 1);
	truth_unmap(&t);
}

CASE(full_log_counts_what_it_dropped)
{
	struct truth t;
	char path[4096];
	int status;
	pid_t pid;

	setenv("SOFTGPU_TRUTH_RECORDS", "10", 1);
	pid = spawn("report", -1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	truth_map(path_of(pid, path, sizeof(path)), &t);
	assert_int_equal(t.header->capacity, 10);
	assert_int_equal(truth_records(&t), 10);
	assert_int_equal(t.header->dropped, t.header->reserved - 10);
	/* The queue's own counters are complete. */
	for (uint64_t i = 0; i < t.header->queues; i++) {
		if (t.queue[i].signaled == PACKETS)
			assert_int_equal(t.queue[i].ended, PACKETS);
	}
	assert_true(t.header->reserved >= PACKETS);
	truth_unmap(&t);
}

CASE(csv_has_a_line_per_record)
{
	char path[4096], command[8192], line[512];
	unsigned int alphas = 0;
	int status;
	FILE *csv;
	pid_t pid;

	pid = spawn("report", -1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	snprintf(command, sizeof(command), "%s %s", SOFTGPU_TRUTH_PROGRAM,
		path_of(pid, path, sizeof(path)));
	csv = popen(command, "r");
	assert_non_null(csv);
	assert_non_null(fgets(line, sizeof(line), csv));
	assert_string_equal(line, "pid,gpu,node,queue,packet,kernel,start_tick,end_tick,flags\n");
	while (fgets(line, sizeof(line), csv)) {
		unsigned long long packet, start, end;
		unsigned int child, gpu, node;
		char flags[64];

		if (!strstr(line, ",alpha,"))
			continue;
		assert_int_equal(sscanf(line, "%u,%u,%u,%*u,%llu,alpha,%llu,%llu,%63s", &child,
					 &gpu, &node, &packet, &start, &end, flags),
			7);
		assert_int_equal(child, pid);
		assert_int_equal(gpu, 0);
		assert_int_equal(node, 1);
		assert_int_equal(packet, alphas++);
		assert_int_equal(end - start, 200);
		assert_string_equal(flags, "done");
	}
	assert_int_equal(pclose(csv), 0);
	assert_int_equal(alphas, PACKETS);
}

CASE(log_goes_on_after_a_second_init)
{
	struct truth t;
	char path[4096];
	uint64_t before;
	struct code code;
	struct gpu g;
	hsa_queue_t *q;
	hsa_signal_t s;

	for (int round = 0; round < 2; round++) {
		gpu_open(&g);
		truth_map(path_of(getpid(), path, sizeof(path)), &t);
		before = truth_records(&t);
		code_load(g.agent[0], &code);
		q = queue_new(g.agent[0], 64);
		s = signal_new(1);
		run_one(q, code.kernel[2], s);
		assert_true(truth_records(&t) > before);
		assert_string_equal(truth_name(&t, truth_records(&t) - 1), "gamma");
		truth_unmap(&t);
		HSA_OK(hsa_signal_destroy(s));
		HSA_OK(hsa_queue_destroy(q));
		code_unload(&code);
		gpu_close();
	}
}

/* Queue counters distinguish launched from ended, for a kernel that never ends. */
CASE(unended_kernel_is_on_record)
{
	uint64_t first, running = 0;
	struct truth t;
	char path[4096];
	struct code code;
	struct gpu g;
	hsa_queue_t *q;
	hsa_signal_t s;

	setenv("SOFTGPU_FAULT", "kernel delta#1 fault=never", 1);
	gpu_open(&g);
	truth_map(path_of(getpid(), path, sizeof(path)), &t);
	first = truth_records(&t);
	code_load(g.agent[0], &code);
	q = queue_new(g.agent[0], 64);
	s = signal_new(1);
	run_one(q, code.kernel[3], s);
	hsa_signal_store_relaxed(s, 1);
	queue_put(q, packet_dispatch(code.kernel[3], s));
	queue_put(q, packet_dispatch(code.kernel[0], no_signal));
	while (hsa_queue_load_read_index_scacquire(q) < 2)
		usleep(100);
	HSA_OK(hsa_queue_destroy(q));
	assert_int_equal(hsa_signal_load_relaxed(s), 1);
	for (uint64_t n = first; n < truth_records(&t); n++) {
		if (t.record[n].state != SOFTGPU_TRUTH_RUNNING)
			continue;
		running++;
		assert_int_equal(t.record[n].flags, SOFTGPU_TRUTH_NEVER);
		assert_int_equal(t.record[n].end_tick, 0);
		assert_int_equal(t.record[n].packet, 1);
		assert_string_equal(truth_name(&t, n), "delta");
	}
	assert_int_equal(running, 1);
	assert_int_equal(t.queue[t.header->queues - 1].launched, 2);
	assert_int_equal(t.queue[t.header->queues - 1].ended, 1);
	assert_int_equal(t.queue[t.header->queues - 1].never, 1);
	truth_unmap(&t);
	HSA_OK(hsa_signal_destroy(s));
	code_unload(&code);
	gpu_close();
}

int main(int argc, char **argv)
{
	gpu_require_soft_thunk();
	self = argv[0];
	if (argc > 1 && !strcmp(argv[1], "for_ever"))
		child_dispatches_for_ever();
	else if (argc > 1)
		child_reports_and_exits();
	return test_run(NULL, NULL);
}
