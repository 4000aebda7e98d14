// SPDX-License-Identifier: MIT
/* Every way in which a process can end or fork: nothing hangs, and no other process is affected. */
#include "tests/softgpu/test_gpu.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *self;

struct bench {
	struct gpu g;
	struct code code;
	hsa_queue_t *q;
	hsa_signal_t s;
};

static void start(struct bench *b)
{
	gpu_open(&b->g);
	code_load(b->g.agent[0], &b->code);
	b->q = queue_new(b->g.agent[0], 64);
	b->s = signal_new(1);
	run_one(b->q, b->code.kernel[0], b->s);
	hsa_signal_store_relaxed(b->s, 1);
}

static int exit_without_shut_down(void)
{
	struct bench b;

	start(&b);
	return 0;
}

static int quick_exit_without_shut_down(void)
{
	struct bench b;

	start(&b);
	_exit(0);
}

/* "beta" never ends: SOFTGPU_FAULT of the parent. */
static int exit_while_a_kernel_runs_for_ever(void)
{
	struct bench b;

	start(&b);
	queue_put(b.q, packet_dispatch(b.code.kernel[1], b.s));
	return 0;
}

static int shut_down_while_a_kernel_runs_for_ever(void)
{
	struct bench b;

	start(&b);
	queue_put(b.q, packet_dispatch(b.code.kernel[1], b.s));
	while (hsa_queue_load_read_index_scacquire(b.q) < 2)
		usleep(100);
	HSA_OK(hsa_queue_destroy(b.q));
	return hsa_shut_down() == HSA_STATUS_SUCCESS ? 0 : 1;
}

/* What a child of fork does to the runtime it inherited must not touch the parent's. */
static int fork_and_go_on(void)
{
	struct bench b;
	hsa_signal_t t;
	void *p = NULL;
	int status;
	pid_t pid;

	start(&b);
	pid = fork();
	if (pid == 0) {
		uint64_t now;

		hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &now);
		if (hsa_amd_memory_pool_allocate(b.g.vram[0], 4u << 20, 0, &p) ==
			HSA_STATUS_SUCCESS)
			_exit(1);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		return 1;
	t = signal_new(1);
	run_one(b.q, b.code.kernel[0], t);
	HSA_OK(hsa_signal_destroy(t));
	HSA_OK(hsa_signal_destroy(b.s));
	HSA_OK(hsa_queue_destroy(b.q));
	code_unload(&b.code);
	gpu_close();
	return 0;
}

/* Before the runtime is up, fork is harmless: both sides may use GPUs. */
static int fork_before_init(void)
{
	struct bench b;
	int status;
	pid_t pid;

	pid = fork();
	start(&b);
	if (pid == 0)
		_exit(0);
	return waitpid(pid, &status, 0) == pid && !status ? 0 : 1;
}

static int run_for_ever(void)
{
	struct bench b;

	start(&b);
	if (write(STDOUT_FILENO, "x", 1) != 1)
		return 1;
	for (;;)
		run_one(b.q, b.code.kernel[0], b.s);
}

static const struct {
	const char *name;
	int (*run)(void);
} scenes[] = {
	{"exit_without_shut_down", exit_without_shut_down},
	{"quick_exit_without_shut_down", quick_exit_without_shut_down},
	{"exit_while_a_kernel_runs_for_ever", exit_while_a_kernel_runs_for_ever},
	{"shut_down_while_a_kernel_runs_for_ever", shut_down_while_a_kernel_runs_for_ever},
	{"fork_and_go_on", fork_and_go_on},
	{"fork_before_init", fork_before_init},
	{"run_for_ever", run_for_ever},
};

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

struct ended {
	pid_t pid;
	int status;
};

static bool has_ended(void *arg)
{
	struct ended *e = arg;

	return waitpid(e->pid, &e->status, WNOHANG) == e->pid;
}

static void expect_clean_end(const char *what)
{
	struct ended e = {spawn(what, -1), 0};
	bool is_over = wait_for(has_ended, &e);

	if (!is_over) {
		kill(e.pid, SIGKILL);
		waitpid(e.pid, &e.status, 0);
	}
	assert_true(is_over);
	assert_int_equal(e.status, 0);
}

TEST_CASE(process_may_exit_without_shut_down)
{
	expect_clean_end("exit_without_shut_down");
	expect_clean_end("quick_exit_without_shut_down");
}

TEST_CASE(kernel_that_never_ends_stops_no_exit)
{
	expect_clean_end("exit_while_a_kernel_runs_for_ever");
	expect_clean_end("shut_down_while_a_kernel_runs_for_ever");
}

TEST_CASE(fork_leaves_the_parent_alone)
{
	expect_clean_end("fork_and_go_on");
	expect_clean_end("fork_before_init");
}

TEST_CASE(killed_process_goes_at_once)
{
	struct ended e;
	int pipe_fd[2];
	char byte;

	assert_int_equal(pipe(pipe_fd), 0);
	e.pid = spawn("run_for_ever", pipe_fd[1]);
	close(pipe_fd[1]);
	assert_int_equal(read(pipe_fd[0], &byte, 1), 1);
	assert_int_equal(kill(e.pid, SIGKILL), 0);
	assert_true(wait_for(has_ended, &e));
	assert_true(WIFSIGNALED(e.status));
	close(pipe_fd[0]);
}

TEST_CASE(runtime_can_be_started_again_and_again)
{
	struct bench b;

	for (int i = 0; i < 10; i++) {
		start(&b);
		HSA_OK(hsa_signal_destroy(b.s));
		HSA_OK(hsa_queue_destroy(b.q));
		code_unload(&b.code);
		gpu_close();
	}
}

/* Processors without work must leave the machine to other processes. */
TEST_CASE(idle_processors_cost_next_to_nothing)
{
	struct timespec before, after, nap = {2, 0};
	hsa_queue_t *q[8];
	struct gpu g;
	int64_t used_us;

	setenv("SOFTGPU_COUNT", "8", 1);
	gpu_open(&g);
	for (int i = 0; i < 8; i++)
		q[i] = queue_new(g.agent[i], 64);
	nanosleep(&nap, NULL); /* they fall asleep gradually */
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	nanosleep(&nap, NULL);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
	used_us =
		(after.tv_sec - before.tv_sec) * 1000000 + (after.tv_nsec - before.tv_nsec) / 1000;
	/* Eight spinning threads would use 2 s of each core. */
	assert_true(used_us < 500000);
	for (int i = 0; i < 8; i++)
		HSA_OK(hsa_queue_destroy(q[i]));
	gpu_close();
	unsetenv("SOFTGPU_COUNT");
}

int main(int argc, char **argv)
{
	gpu_require_soft_thunk();
	self = argv[0];
	setenv("SOFTGPU_FAULT", "kernel beta fault=never", 1);
	for (size_t i = 0; argc > 1 && i < sizeof(scenes) / sizeof(scenes[0]); i++) {
		if (!strcmp(argv[1], scenes[i].name))
			return scenes[i].run();
	}
	return test_run(NULL, NULL);
}
