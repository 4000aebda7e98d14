// SPDX-License-Identifier: MIT
#include "tests/workload/launch.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/workload/board.h"
#include "tests/workload/talk.h"
#include "tests/workload/visible.h"

struct launch {
	const struct options *opt;
	char **argv;
	int ranks, alive;
	struct board *board;
	int board_fd;
	struct visible visible;
	sigset_t handled, before;
	pid_t parent;
	pid_t *pid;  /* 0 once reaped */
	int *status; /* as exit status */
};

/* Executes by path, not /proc/self/exe, since ps shows the last part of the path as the name. */
static int launch_exec_self(const char *suffix, char **argv)
{
	char path[PATH_MAX];
	size_t room = sizeof(path) - strlen(suffix) - 1;
	ssize_t len = readlink("/proc/self/exe", path, room);

	if (len < 0)
		return -errno;
	if ((size_t)len == room)
		return -ENAMETOOLONG;
	memcpy(path + len, suffix, strlen(suffix) + 1);
	execv(path, argv);
	return -errno;
}

int launch_without_hsa(char **argv)
{
	return launch_exec_self("-nohsa", argv);
}

static int launch_put(const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	return setenv(name, text, 1) ? -errno : 0;
}

/* Sets the variables that torchrun --standalone --nproc-per-node sets. */
static int launch_set_env(const struct launch *l, int rank)
{
	const struct {
		const char *name;
		int value;
	} vars[] = {
		{"RANK", rank},
		{"LOCAL_RANK", rank},
		{"WORLD_SIZE", l->ranks},
		{"LOCAL_WORLD_SIZE", l->ranks},
		{"GROUP_RANK", 0},
		{"GROUP_WORLD_SIZE", 1},
		{"ROLE_RANK", rank},
		{"ROLE_WORLD_SIZE", l->ranks},
		{"TORCHELASTIC_RESTART_COUNT", 0},
		{"TORCHELASTIC_MAX_RESTARTS", 0},
		{"MASTER_PORT", 29500},
		{board_env, l->board_fd},
	};
	char id[32];
	int r = 0;

	for (size_t i = 0; !r && i < sizeof(vars) / sizeof(*vars); i++)
		r = launch_put(vars[i].name, vars[i].value);
	snprintf(id, sizeof(id), "rtl-demo-%d", (int)l->parent);
	if (!r && (setenv("TORCHELASTIC_RUN_ID", id, 1) || setenv("ROLE_NAME", "default", 1) ||
			  setenv("MASTER_ADDR", "127.0.0.1", 1)))
		r = -errno;
	if (!r && l->opt->one_gpu_each && !l->opt->no_hsa)
		r = visible_set(&l->visible, rank);
	return r;
}

/* Runs in the child; a rank does not outlive its parent. */
__attribute__((noreturn)) static void launch_exec(const struct launch *l, int rank)
{
	int r = launch_set_env(l, rank);

	if (!r && prctl(PR_SET_PDEATHSIG, SIGKILL))
		r = -errno;
	if (getppid() != l->parent)
		_exit(1);
	sigprocmask(SIG_SETMASK, &l->before, NULL);
	if (!r)
		r = launch_exec_self(l->opt->no_hsa ? "-nohsa" : "", l->argv);
	talk("rank %d: %s", rank, strerror(-r));
	_exit(127);
}

static int launch_open(struct launch *l)
{
	int r;

	l->parent = getpid();
	l->pid = calloc((size_t)l->ranks, sizeof(*l->pid));
	l->status = calloc((size_t)l->ranks, sizeof(*l->status));
	if (!l->pid || !l->status)
		return -ENOMEM;
	r = board_new(l->ranks, &l->board, &l->board_fd);
	if (r)
		return r;
	if (l->opt->one_gpu_each && !l->opt->no_hsa) {
		r = visible_open(l->opt, &l->visible);
		if (r)
			return r;
	}
	/* Our parent may have ignored SIGCHLD; then the kernel would keep no rank's status. */
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&l->handled);
	sigaddset(&l->handled, SIGCHLD);
	sigaddset(&l->handled, SIGTERM);
	sigaddset(&l->handled, SIGINT);
	sigaddset(&l->handled, SIGHUP);
	sigaddset(&l->handled, SIGUSR1);
	return sigprocmask(SIG_BLOCK, &l->handled, &l->before) ? -errno : 0;
}

static void launch_signal_all(const struct launch *l, int number)
{
	for (int rank = 0; rank < l->ranks; rank++)
		if (l->pid[rank])
			kill(l->pid[rank], number);
}

static int launch_start_all(struct launch *l)
{
	for (int rank = 0; rank < l->ranks; rank++) {
		pid_t pid = fork();

		if (pid < 0) {
			int r = -errno;

			talk("fork: %s", strerror(-r));
			launch_signal_all(l, SIGTERM);
			return r;
		}
		if (pid == 0)
			launch_exec(l, rank);
		l->pid[rank] = pid;
		l->alive++;
	}
	return 0;
}

static void launch_reap(struct launch *l)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (int rank = 0; rank < l->ranks; rank++) {
			if (l->pid[rank] != pid)
				continue;
			l->pid[rank] = 0;
			l->alive--;
			l->status[rank] =
				WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
			/* The others must not wait for it at the end of a step. */
			board_leave(l->board, rank);
		}
	}
}

static void launch_wait(struct launch *l)
{
	while (l->alive) {
		int number = sigwaitinfo(&l->handled, NULL);

		if (number == SIGCHLD)
			launch_reap(l);
		else if (number > 0)
			launch_signal_all(l, number);
	}
}

static int launch_report(const struct launch *l)
{
	int first = 0;

	for (int rank = 0; rank < l->ranks; rank++) {
		if (!l->status[rank])
			continue;
		if (!first)
			first = l->status[rank];
		if (l->status[rank] > 128)
			talk("rank %d: ended by signal %d (%s)", rank, l->status[rank] - 128,
				strsignal(l->status[rank] - 128));
	}
	for (int rank = 0; rank < l->ranks; rank++) {
		const struct board_rank *board = &l->board->rank[rank];
		int gpu = atomic_load(&board->gpu);

		if (gpu >= 0)
			printf("dispatched rank=%d gpu=%d kernels=%" PRIu64 "\n", rank, gpu,
				board_kernels(board));
	}
	if (fflush(stdout) && !first)
		first = 1;
	return first;
}

static void launch_close(struct launch *l)
{
	visible_close(&l->visible);
	free(l->pid);
	free(l->status);
}

int launch_ranks(const struct options *opt, char **argv)
{
	struct launch l = {.opt = opt, .argv = argv, .ranks = opt->ranks > 0 ? opt->ranks : 1};
	int r = launch_open(&l), status = 1;

	if (r && r != -ENODEV)
		talk("%s", strerror(-r));
	if (!r) {
		r = launch_start_all(&l);
		launch_wait(&l);
		status = launch_report(&l);
		if (r && !status)
			status = 1;
	}
	launch_close(&l);
	return status;
}
