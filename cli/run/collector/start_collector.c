// SPDX-License-Identifier: MIT
#include "cli/run/collector/start_collector.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/collector/supervisor.h"
#include "cli/run/job/signals.h"
#include "cli/run/job/spawn.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"

#define PASSED_FD     3 /* SD_LISTEN_FDS_START */
/* Maximum size of a collector's log; more is dropped rather than kept in memory. */
#define LOG_BYTES_MAX (64u << 10)

static int make_listener(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	CLEANUP(close_p) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd < 0)
		return -errno;
	/* The socket is dead: the caller found under the lock that no process listens on it. */
	if (unlink(path) < 0 && errno != ENOENT)
		return -errno;
	/* Only the user has access to the folder. */
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || chmod(path, 0600) < 0 ||
		listen(fd, LISTEN_BACKLOG) < 0)
		return -errno;
	return TAKE_FD(fd);
}

/* A memfd of fixed size for the collector's log. A pipe would block the collector when it is full.
 */
static int make_log(void)
{
	CLEANUP(close_p)
	int fd = memfd_create("rtl-collector-log", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, LOG_BYTES_MAX) < 0 ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) < 0)
		return -errno;
	return TAKE_FD(fd);
}

/* Moves @fd above the numbers that are assigned below. */
static int move_above_passed(int fd, size_t passed)
{
	fd = fcntl(fd, F_DUPFD_CLOEXEC, PASSED_FD + (int)passed);
	if (fd < 0)
		_exit(1);
	return fd;
}

/* Each recorder is open twice for a moment. The collector raises its own limit when it starts. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static void place_fds(int listener, int log, int *kept, size_t n_kept)
{
	int null = move_above_passed(open("/dev/null", O_RDWR | O_CLOEXEC), n_kept + 1);
	int at = PASSED_FD;

	listener = move_above_passed(listener, n_kept + 1);
	log = move_above_passed(log, n_kept + 1);
	for (size_t i = 0; i < n_kept; i++)
		kept[i] = move_above_passed(kept[i], n_kept + 1);
	if (dup2(null, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0 || dup2(listener, at++) < 0)
		_exit(1);
	for (size_t i = 0; i < n_kept; i++)
		if (dup2(kept[i], at++) < 0)
			_exit(1);
	/* Other descriptors are close-on-exec or were the caller's. */
	(void)syscall(SYS_close_range, (unsigned)at, ~0u, 0);
}

static void reset_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/*
	 * nohup and background shells make us ignore these signals, but a daemon must receive them.
	 */
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
}

/*
 * Libraries that are preloaded into the job must not be in the collector, and variables of the
 * service manager are for the service that we are part of, if we are.
 */
static const char *const dropped_variables[] = {"LD_PRELOAD", "HSA_TOOLS_LIB", "NOTIFY_SOCKET",
	"WATCHDOG_PID", "WATCHDOG_USEC", "JOURNAL_STREAM"};

/*
 * Returns "listen" and the names of the recorders that are passed, separated by colons. NULL if
 * memory is short.
 */
static char *join_names(const struct run_spawn *spawn)
{
	char *names = strdup("listen");

	for (size_t i = 0; names && i < spawn->n_kept; i++) {
		char *longer;

		if (asprintf(&longer, "%s:%s", names, spawn->kept[i].name) < 0)
			longer = NULL;
		free(names);
		names = longer;
	}
	return names;
}

/* Everything that is needed to become the collector. */
struct start {
	const struct run_spawn *spawn;
	struct spawn_env env;
	char *listen_pid; /* in env: room for a number that only the child knows */
	int *kept;
	int pid_fd; /* the child writes its pid here */
};

static int make_env(struct start *start)
{
	const struct run_spawn *spawn = start->spawn;
	CLEANUP(free_p) char *names = join_names(spawn);
	char number[24];
	int r = names ? spawn_env_init(&start->env, 5) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < sizeof(dropped_variables) / sizeof(dropped_variables[0]);
		i++)
		r = spawn_env_put(&start->env, dropped_variables[i], NULL);
	snprintf(number, sizeof(number), "%zu", spawn->n_kept + 1);
	if (r == 0)
		r = spawn_env_put(&start->env, "LISTEN_FDS", number);
	if (r == 0)
		r = spawn_env_put(&start->env, "LISTEN_FDNAMES", names);
	if (r == 0 && spawn->notify)
		r = spawn_env_put(&start->env, "NOTIFY_SOCKET", spawn->notify);
	snprintf(number, sizeof(number), "%d", INT_MAX);
	if (r == 0)
		r = spawn_env_put(&start->env, "LISTEN_PID", number);
	if (r == 0)
		start->listen_pid = spawn_env_last(&start->env);
	return r;
}

static int make_start(struct start *start, const struct run_spawn *spawn)
{
	*start = (struct start){.spawn = spawn, .kept = calloc(spawn->n_kept + 1, sizeof(int))};
	if (!start->kept)
		return -ENOMEM;
	for (size_t i = 0; i < spawn->n_kept; i++)
		start->kept[i] = spawn->kept[i].fd;
	return make_env(start);
}

static void start_done(struct start *start)
{
	spawn_env_done(&start->env);
	free(start->kept);
}

static void become(void *data)
{
	const struct start *start = data;
	const struct run_spawn *spawn = start->spawn;

	raise_descriptors();
	place_fds(spawn->listen_fd, spawn->log_fd, start->kept, spawn->n_kept);
	reset_signals();
	snprintf(start->listen_pid, sizeof("2147483647"), "%d", (int)getpid());
	if (chdir("/") == 0)
		execve(spawn->command[0], spawn->command, start->env.at);
	dprintf(2, "%s: %s\n", spawn->command[0], strerror(errno));
	_exit(1);
}

static void start_grandchild(void *data)
{
	const struct start *start = data;
	pid_t pid;

	(void)setsid(); /* so that neither ^C nor the terminal's hangup reaches it */
	pid = spawn_begin(become, data);
	_exit(pid < 0 || write(start->pid_fd, &pid, sizeof(pid)) != (ssize_t)sizeof(pid));
}

/* Returns the grandchild's pid, as its parent sent it; 0 if there is none. */
static pid_t read_pid(int fd)
{
	pid_t pid = 0;
	ssize_t n;

	do
		n = read(fd, &pid, sizeof(pid));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(pid) ? pid : 0;
}

/*
 * Forks twice, so that the collector is not our child: neither a wait for the command nor our end
 * affects it. If we are the first process of a container, it is our child anyway (run_orphans.c).
 * Returns its pid; 0 if there is none.
 */
static pid_t start_detached(struct start *start, int from, int *to)
{
	int was_reaper = 0, status;
	pid_t pid, collector;

	/* Orphans of the job become our children, but the collector must not. */
	(void)prctl(PR_GET_CHILD_SUBREAPER, &was_reaper);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 0);
	start->pid_fd = *to;
	pid = spawn_begin(start_grandchild, start);
	close_p(to);
	*to = -1;
	collector = pid > 0 ? read_pid(from) : 0;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	(void)prctl(PR_SET_CHILD_SUBREAPER, was_reaper);
	return collector;
}

int run_start_spawn(const struct run_spawn *spawn, pid_t *ret_pid, int *ret_pidfd)
{
	CLEANUP(close_p) int from = -1, to = -1;
	pid_t collector = 0;
	struct start start;
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	from = ends[0];
	to = ends[1];
	r = make_start(&start, spawn);
	if (r == 0)
		collector = start_detached(&start, from, &to);
	start_done(&start);
	if (!collector)
		return r < 0 ? r : -EAGAIN;
	*ret_pid = collector;
	*ret_pidfd = (int)syscall(SYS_pidfd_open, collector, 0);
	/* It is not our child: it may have ended, and then it cannot be watched. */
	return *ret_pidfd < 0 && errno == ESRCH ? -ECONNRESET : 0;
}

int run_start(struct run_collector *collector, const char *program, const char *session,
	const char *database, bool is_verbose, char why[RUN_WHY_BYTES])
{
	struct run_spawn spawn = {.log_fd = -1};
	int r;

	run_hold();
	spawn.listen_fd = make_listener(collector->socket);
	if (spawn.listen_fd < 0) {
		run_why(why, "%s: %s", collector->socket, strerror(-spawn.listen_fd));
		return spawn.listen_fd;
	}
	spawn.log_fd = collector->log_fd = make_log();
	r = spawn.log_fd;
	if (r >= 0)
		r = run_keeper_new(&spawn, program, session, database, is_verbose, collector);
	if (r >= 0)
		r = client_connect(&collector->client, collector->socket);
	if (r >= 0)
		r = run_keeper_spawn(collector);
	if (r >= 0)
		return 0;
	client_close(&collector->client);
	collector->keeper = run_keeper_free(collector->keeper);
	(void)unlink(collector->socket);
	if (r == -ECONNRESET)
		run_start_explain(collector, r, why);
	else
		run_why(why, "%s: %s", program, strerror(-r));
	return r;
}

void run_start_clear_log(const struct run_collector *collector)
{
	int fd = collector->log_fd;

	if (fd < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return;
	/*
	 * Its size is sealed. Where this is not possible, old lines remain if there are no new
	 * ones.
	 */
	(void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, LOG_BYTES_MAX);
}

/* Returns the last line of @text, which may end in line breaks. */
static const char *last_line(char *text)
{
	char *end = text + strlen(text);
	char *line;

	while (end > text && end[-1] == '\n')
		*--end = '\0';
	line = strrchr(text, '\n');
	return line ? line + 1 : text;
}

void run_start_explain(const struct run_collector *collector, int error, char why[RUN_WHY_BYTES])
{
	static const char prefix[] = "collectord: ", ready[] = "listening on ";
	char text[4096];
	ssize_t n = collector->log_fd < 0 ? 0 : pread(collector->log_fd, text, sizeof(text) - 1, 0);
	const char *line;

	text[n > 0 ? n : 0] = '\0';
	line = last_line(text);
	if (!strncmp(line, prefix, sizeof(prefix) - 1))
		line += sizeof(prefix) - 1;
	/* A last line that reports success is no reason. */
	if (!strncmp(line, ready, sizeof(ready) - 1))
		line = "";
	run_why(why, "%s",
		error == -ECONNABORTED || !*line ? client_error(&collector->client, error) : line);
}
