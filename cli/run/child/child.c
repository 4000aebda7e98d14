// SPDX-License-Identifier: MIT
#include "cli/run/child/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/child/gpu_watch.h"
#include "cli/run/child/run_orphans.h"
#include "cli/run/collector/collector.h"
#include "cli/run/collector/supervisor.h"
#include "cli/run/job/job_environment.h"
#include "cli/run/job/signals.h"
#include "cli/base/command.h"
#include "cli/base/message.h"
#include "cli/run/job/spawn.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"

/*
 * Signals that are not passed on: our own errors, and those that the terminal sends to the command
 * itself. All others may be meant for the command; batch systems choose their own (XCPU: save your
 * work).
 */
static const int kept[] = {
	SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGPIPE, SIGXFSZ, SIGTTIN, SIGTTOU};

/* Returns 0, -ENOENT or -EACCES. */
static int try_file(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno == EACCES ? -EACCES : -ENOENT;
	if (!S_ISREG(st.st_mode) || access(path, X_OK) < 0)
		return -EACCES;
	return 0;
}

static int search_path(const char *command)
{
	const char *path = getenv("PATH");
	int r = -ENOENT;

	if (!path)
		path = "/bin:/usr/bin"; /* like execvp() */
	for (;;) {
		size_t length = strcspn(path, ":");
		char file[PATH_MAX];
		int n = snprintf(file, sizeof(file), "%.*s%s%s", (int)length, path,
			length ? "/" : "", command);

		if (n < (int)sizeof(file)) {
			int found = try_file(file);

			if (found == 0)
				return 0;
			if (found == -EACCES)
				r = found;
		}
		if (!path[length])
			return r;
		path += length + 1;
	}
}

static int report_not_executable(const char *command, int error)
{
	if (error == -ENOENT || error == -ENOTDIR) {
		say("%s: command not found", command);
		return CMD_NOT_FOUND;
	}
	say("%s: cannot be executed: %s", command, strerror(-error));
	return CMD_NOT_EXECUTABLE;
}

int run_child_find(const char *command)
{
	int r;

	if (!*command)
		r = -ENOENT;
	else
		r = strchr(command, '/') ? try_file(command) : search_path(command);
	return r == 0 ? 0 : report_not_executable(command, r);
}

void run_child_init(struct run_child *child)
{
	*child = (struct run_child){.signal_fd = -1};
	/* If our parent ignores SIGCHLD, exit statuses would be lost. */
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, &child->old_child);
	/* A closed stderr must neither end this process nor change the exit status. */
	sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, &child->old_pipe);
	sigprocmask(SIG_BLOCK, NULL, &child->old_mask);
	/* Cannot fail for our own process. */
	(void)getrlimit(RLIMIT_NOFILE, &child->old_descriptors);
}

static int take_signals(struct run_child *child)
{
	sigset_t set;
	int fd;

	sigfillset(&set);
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		sigdelset(&set, kept[i]);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	/*
	 * They are blocked, not ignored, because the command must not inherit a disposition from
	 * us.
	 */
	sigprocmask(SIG_BLOCK, &set, NULL);
	child->signal_fd = fd;
	return 0;
}

struct start {
	const struct run_child *child;
	char **command;
	char **environment;
	int error_fd; /* close-on-exec */
};

static void become(void *data)
{
	const struct start *start = data;
	const struct run_child *child = start->child;
	int error;

	sigaction(SIGCHLD, &child->old_child, NULL);
	sigaction(SIGPIPE, &child->old_pipe, NULL);
	/* Programs that use select() must not get a higher limit than they had. */
	(void)setrlimit(RLIMIT_NOFILE, &child->old_descriptors);
	sigprocmask(SIG_SETMASK, &child->old_mask, NULL);
	execvpe(start->command[0], start->command, start->environment);
	error = -errno;
	while (write(start->error_fd, &error, sizeof(error)) < 0 && errno == EINTR)
		;
	_exit(CMD_NOT_EXECUTABLE);
}

static int say_not_started(const char *command, int error)
{
	say("cannot start %s: %s", command, strerror(-error));
	return CMD_RUN_FAILED;
}

/* Returns 0 if the program was executed, because the pipe is then closed. */
static int read_error(int fd)
{
	int error;
	ssize_t n;

	do
		n = read(fd, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	return n <= 0 ? 0 : error;
}

static int start_child(struct run_child *child, struct start *start, const struct jobenv *env)
{
	struct spawn_env environment;
	int r = spawn_env_init(&environment, JOBENV_SETTINGS_MAX);

	if (r == 0)
		r = jobenv_put(env, &environment);
	if (r == 0)
		r = take_signals(child);
	if (r == 0) {
		if (child->is_recorded)
			run_orphans_adopt(child);
		start->environment = environment.at;
	}
	/* The last check: signals that come after this reach the command, too. */
	if (r == 0 && run_hold_pending())
		r = -EINTR;
	if (r == 0) {
		/*
		 * It stays in our process group: job control and ^C concern the command as much as
		 * us.
		 */
		child->pid = spawn_begin(become, start);
		r = child->pid < 0 ? -errno : 0;
	}
	spawn_env_done(&environment);
	return r;
}

int run_child_start(struct run_child *child, char **command, const struct jobenv *env)
{
	struct start start = {.child = child, .command = command};
	CLEANUP(close_p) int from = -1;
	int ends[2], error, r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return say_not_started(command[0], -errno);
	from = ends[0];
	start.error_fd = ends[1];
	r = start_child(child, &start, env);
	close(ends[1]);
	if (r == -EINTR)
		return 128 + run_hold_pending();
	if (r < 0)
		return say_not_started(command[0], r);
	error = read_error(from);
	if (!error)
		return 0;
	(void)waitpid(child->pid, NULL, 0); /* it exits right after it has written */
	return report_not_executable(command[0], error);
}

/* Stops as the command did, so that the shell sees a stopped job, and continues afterwards. */
static void stop_too(void)
{
	sigset_t set, old;

	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &set, &old);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

/* Returns 1 if the command has ended, otherwise 0. */
static int reap(struct run_child *child, bool has_stop_signal)
{
	int status;
	pid_t pid;

	/* Orphans that end before the command does are only reaped. */
	do
		pid = waitpid(-1, &status, WNOHANG | WUNTRACED);
	while (pid > 0 && pid != child->pid);
	if (pid < 0 && errno != EINTR) {
		/* Cannot happen, as SIGCHLD is not ignored. An unknown status is no success. */
		child->status = CMD_RUN_FAILED << 8;
		return 1;
	}
	if (pid <= 0)
		return 0;
	if (WIFSTOPPED(status)) {
		/*
		 * Only a stop by the terminal or through us is followed: a process that stops the
		 * command directly also continues it directly.
		 */
		if (WSTOPSIG(status) == SIGTSTP && has_stop_signal)
			stop_too();
		return 0;
	}
	child->status = status;
	return 1;
}

/*
 * SI_KERNEL: the terminal sent the signal to the whole process group, so the command has received
 * it. The hangup of a terminal is an exception: only the first process of the session receives it.
 * That is us if a window or ssh -t started us without a shell. Other processes receive it when that
 * process ends.
 */
static bool is_for_all(const struct signalfd_siginfo *info)
{
	bool is_of_hangup = info->ssi_signo == SIGHUP || info->ssi_signo == SIGCONT;

	return info->ssi_code == SI_KERNEL && !(is_of_hangup && getsid(0) == getpid());
}

/*
 * A signal from the command itself (kill 0) has reached it already. All others are meant for the
 * command.
 */
static void pass_on(const struct run_child *child, const struct signalfd_siginfo *info)
{
	if (is_for_all(info) || (pid_t)info->ssi_pid == child->pid)
		return;
	(void)kill(child->pid, (int)info->ssi_signo); /* it may just have ended */
}

int run_child_wait(struct run_child *child, struct run_collector *collector)
{
	bool has_stop_signal = false;

	gpu_watch_init(&child->gpu_watch, &gpu_watch_kernel, getpid());
	for (;;) {
		struct signalfd_siginfo info;
		uint64_t now_ns = clock_monotonic_ns();

		/*
		 * Also before the first wait, because a SIGCHLD may have merged with an earlier
		 * one.
		 */
		if (reap(child, has_stop_signal))
			break;
		struct pollfd entries[3] = {{.fd = child->signal_fd, .events = POLLIN},
			{.fd = run_keeper_fd(collector), .events = POLLIN},
			{.fd = collector->is_opening ? collector->client.fd : -1,
				.events = POLLIN}};

		if (child->is_recorded)
			gpu_watch_run(&child->gpu_watch, now_ns);
		if (poll(entries, 3,
			    child->is_recorded ? gpu_watch_wait_ms(&child->gpu_watch, now_ns)
					       : -1) < 0)
			continue;
		if (entries[2].revents)
			run_collector_hear(collector);
		if (entries[1].revents)
			(void)run_keeper_serve(collector); /* it reports its errors itself */
		while (read(child->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
			if (info.ssi_signo == SIGCHLD)
				continue;
			if (info.ssi_signo == SIGTSTP || info.ssi_signo == SIGCONT)
				has_stop_signal = info.ssi_signo == SIGTSTP;
			pass_on(child, &info);
		}
	}
	if (WIFSIGNALED(child->status))
		return 128 + WTERMSIG(child->status);
	return WEXITSTATUS(child->status);
}

bool run_child_is_end_wanted(const struct run_child *child)
{
	struct signalfd_siginfo info;
	bool is_wanted = false;

	while (read(child->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		is_wanted |= run_hold_is_end((int)info.ssi_signo);
	return is_wanted;
}
