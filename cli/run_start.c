// SPDX-License-Identifier: MIT
#include "cli/run_start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/cleanup.h"
#include "proto/limits.h"

#define PASSED_FD     3	 /* SD_LISTEN_FDS_START */
#define FREE_FD_MIN   10 /* above what is put in place */
/* What a collector says in its life; more is thrown away rather than kept in memory. */
#define LOG_BYTES_MAX (64u << 10)

static int make_listener(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	CLEANUP(close_p) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd < 0)
		return -errno;
	/* A dead one: that nobody listens was found out under the lock. */
	if (unlink(path) < 0 && errno != ENOENT)
		return -errno;
	/* The folder is the user's alone already. */
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || chmod(path, 0600) < 0 ||
		listen(fd, LISTEN_BACKLOG) < 0)
		return -errno;
	return TAKE_FD(fd);
}

/* Memory that is there for us to read and cannot grow; nobody's pipe. */
static int make_log(void)
{
	CLEANUP(close_p)
	int fd = memfd_create("rtl-collector-log", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, LOG_BYTES_MAX) < 0 ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static void place_fds(int listener, int log)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	listener = fcntl(listener, F_DUPFD_CLOEXEC, FREE_FD_MIN);
	log = fcntl(log, F_DUPFD_CLOEXEC, FREE_FD_MIN);
	if (null < 0 || listener < 0 || log < 0 || dup2(null, 0) < 0 || dup2(log, 1) < 0 ||
		dup2(log, 2) < 0 || dup2(listener, PASSED_FD) < 0)
		_exit(1);
	(void)close_range(
		PASSED_FD + 1, ~0u, 0); /* everything else is close-on-exec or the caller's */
}

static void reset_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* nohup and background shells have us ignore these; a daemon wants to be told. */
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
}

/* What is preloaded into the job has no business in the collector, and what a service manager
 * gave to the service that we are part of (if we are) is not meant for it. */
static const char *const not_for_it[] = {"LD_PRELOAD", "HSA_TOOLS_LIB", "NOTIFY_SOCKET",
	"WATCHDOG_PID", "WATCHDOG_USEC", "JOURNAL_STREAM", "LISTEN_FDNAMES"};

static _Noreturn void become(char *const *command, int listener, int log)
{
	char pid[24];

	place_fds(listener, log);
	reset_signals();
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	for (size_t i = 0; i < sizeof(not_for_it) / sizeof(not_for_it[0]); i++)
		unsetenv(not_for_it[i]);
	if (setenv("LISTEN_FDS", "1", 1) == 0 && setenv("LISTEN_PID", pid, 1) == 0 &&
		chdir("/") == 0)
		execv(command[0], command);
	dprintf(2, "%s: %s\n", command[0], strerror(errno));
	_exit(1);
}

/* Twice: it is no child of ours that the command's waits or our end could concern. */
static int spawn(char *const *command, int listener, int log)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		(void)setsid(); /* out of reach of ^C and of the terminal's hangup */
		pid = fork();
		if (pid == 0)
			become(command, listener, log);
		_exit(pid < 0);
	}
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return status ? -EAGAIN : 0;
}

int run_start(struct run_collector *collector, const char *program, const char *session,
	const char *database, bool is_verbose, char why[RUN_WHY_BYTES])
{
	char *const command[] = {(char *)program, (char *)"--private-session", (char *)session,
		(char *)"--db", (char *)database, is_verbose ? (char *)"--verbose" : NULL, NULL};
	CLEANUP(close_p) int listener = make_listener(collector->socket);
	int r;

	if (listener < 0) {
		run_why(why, "%s: %s", collector->socket, strerror(-listener));
		return listener;
	}
	collector->log_fd = make_log();
	if (collector->log_fd < 0)
		r = collector->log_fd;
	else
		/* Before we let go of the socket: should the collector die, we see it hung up. */
		r = client_connect(&collector->client, collector->socket);
	if (r == 0)
		r = spawn(command, listener, collector->log_fd);
	if (r == 0)
		return 0;
	client_close(&collector->client);
	(void)unlink(collector->socket);
	run_why(why, "%s: %s", program, strerror(-r));
	return r;
}

/* The last line of @text, which may end in line breaks. */
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
	static const char prefix[] = "collectord: ";
	char text[4096];
	ssize_t n = collector->log_fd < 0 ? 0 : pread(collector->log_fd, text, sizeof(text) - 1, 0);
	const char *line;

	text[n > 0 ? n : 0] = '\0';
	line = last_line(text);
	if (!strncmp(line, prefix, sizeof(prefix) - 1))
		line += sizeof(prefix) - 1;
	run_why(why, "%s",
		error == -ECONNABORTED || !*line ? client_error(&collector->client, error) : line);
}
