// SPDX-License-Identifier: MIT
#include "cli/run/collector/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/base/array.h"
#include "cli/base/message.h"
#include "cli/run/collector/hello.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"

#define STATE_BYTES_MAX	  4096u
#define NAME_BYTES_MAX	  256u
/*
 * Descriptors for work other than keeping recorders: starting a collector, talking to it, reading
 * its file.
 */
#define DESCRIPTORS_OWN	  32u
/* Messages read in one call, since any user may write to this socket without end; and read after
 * the collector died, as many as the queue can hold (net.unix.max_dgram_qlen: 10, systemd sets
 * 512). */
#define MESSAGES_MAX	  64u
#define MESSAGES_LAST_MAX 1024u

struct run_keeper {
	struct run_spawn spawn; /* its descriptors belong to us */
	char *argv[7];
	char notify[32]; /* "@...", chosen by the kernel */
	int notify_fd;
	pid_t pid;    /* of the collector */
	int pidfd;    /* of the collector; -1: the kernel has none, so no collector is restarted */
	int timer_fd; /* expires at start_ns */
	int epoll_fd;
	struct run_kept *kept;
	size_t n_kept, kept_max;
	bool has_said_full;

	/*
	 * Times are of CLOCK_MONOTONIC. Trouble is a series of deaths without a longer life in
	 * between.
	 */
	bool is_down;	     /* it is dead, and is restarted at start_ns */
	bool is_unanswered;  /* it was restarted, and has not answered yet */
	bool awaits_answer;  /* we wait for its answer; timer_fd expires if that takes too long */
	uint64_t started_ns; /* of the latest start */
	uint64_t start_ns;
	uint64_t pause_ns;
	uint64_t trouble_ns; /* first death of the trouble; 0 if there is none */
	bool has_reported_down, has_reported_restart;
};

/*
 * Number of recorders that the limit of descriptors allows. The child that becomes the collector
 * has each of them twice for a moment; the command gets the old limit back (child.c).
 */
static size_t make_room(int lowest_fd)
{
	rlim_t taken = (rlim_t)lowest_fd + DESCRIPTORS_OWN, wanted = taken + 2 * KEPT_RECORDERS_MAX;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	if (limit.rlim_cur < wanted) {
		rlim_t old = limit.rlim_cur;

		limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
		if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
			limit.rlim_cur = old;
	}
	if (limit.rlim_cur >= wanted)
		return KEPT_RECORDERS_MAX;
	return limit.rlim_cur <= taken ? 0 : (limit.rlim_cur - taken) / 2;
}

/* The kernel chooses the address; only messages with the right credentials of the sender count. */
static int make_notify(struct run_keeper *keeper)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t bytes = sizeof(address);
	size_t name_bytes;
	int one = 1;

	keeper->notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (keeper->notify_fd < 0 ||
		bind(keeper->notify_fd, (struct sockaddr *)&address, sizeof(sa_family_t)) < 0 ||
		setsockopt(keeper->notify_fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)) < 0 ||
		getsockname(keeper->notify_fd, (struct sockaddr *)&address, &bytes) < 0)
		return -errno;
	name_bytes = bytes - offsetof(struct sockaddr_un, sun_path);
	if (name_bytes < 2 || name_bytes >= sizeof(keeper->notify))
		return -EADDRNOTAVAIL;
	memcpy(keeper->notify, address.sun_path, name_bytes);
	keeper->notify[0] = '@';
	return 0;
}

static int watch(const struct run_keeper *keeper, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(keeper->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* No events come from a descriptor that is closed or was never watched, so errors do not matter. */
static void unwatch(const struct run_keeper *keeper, int fd)
{
	(void)epoll_ctl(keeper->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static int set_command(struct run_keeper *keeper, const char *program, const char *session,
	const char *database, bool is_verbose)
{
	const char *const words[] = {program, "--private-session", session, "--db", database,
		is_verbose ? "--verbose" : NULL};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && words[i]; i++) {
		keeper->argv[i] = strdup(words[i]);
		if (!keeper->argv[i])
			return -ENOMEM;
	}
	return 0;
}

static void free_keeper_p(struct run_keeper **keeper)
{
	run_keeper_free(*keeper);
}

int run_keeper_new(const struct run_spawn *spawn, const char *program, const char *session,
	const char *database, bool is_verbose, struct run_collector *collector)
{
	CLEANUP(free_keeper_p) struct run_keeper *keeper = calloc(1, sizeof(*keeper));
	int r;

	if (!keeper)
		return -ENOMEM;
	*keeper = (struct run_keeper){.spawn = {.listen_fd = -1, .log_fd = -1},
		.notify_fd = -1,
		.pidfd = -1,
		.timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
		.epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
	r = keeper->epoll_fd < 0 || keeper->timer_fd < 0 ? -errno : make_notify(keeper);
	if (r == 0)
		r = watch(keeper, keeper->notify_fd);
	if (r == 0)
		r = watch(keeper, keeper->timer_fd);
	if (r == 0)
		r = set_command(keeper, program, session, database, is_verbose);
	if (r < 0)
		return r;
	keeper->spawn = *spawn;
	keeper->spawn.notify = keeper->notify;
	keeper->spawn.command = keeper->argv;
	keeper->kept_max = make_room(keeper->epoll_fd);
	collector->keeper = TAKE(keeper);
	return 0;
}

struct run_keeper *run_keeper_free(struct run_keeper *keeper)
{
	if (!keeper)
		return NULL;
	for (size_t i = 0; i < keeper->n_kept; i++) {
		close(keeper->kept[i].fd);
		free(keeper->kept[i].name);
	}
	free(keeper->kept);
	for (size_t i = 0; i < sizeof(keeper->argv) / sizeof(keeper->argv[0]); i++)
		free(keeper->argv[i]);
	close_p(&keeper->spawn.listen_fd);
	close_p(&keeper->notify_fd);
	close_p(&keeper->pidfd);
	close_p(&keeper->timer_fd);
	close_p(&keeper->epoll_fd);
	free(keeper);
	return NULL;
}

int run_keeper_spawn(struct run_collector *collector)
{
	struct run_keeper *keeper = collector->keeper;
	int r;

	close_p(&keeper->pidfd);
	keeper->pidfd = -1;
	keeper->spawn.kept = keeper->kept;
	keeper->spawn.n_kept = keeper->n_kept;
	keeper->started_ns = clock_monotonic_ns();
	r = run_start_spawn(&keeper->spawn, &keeper->pid, &keeper->pidfd);
	keeper->is_down = r < 0;
	if (r < 0 || (keeper->pidfd >= 0 && watch(keeper, keeper->pidfd) == 0))
		return r;
	/* It is alive, and a collector that is started in addition would use the same file. */
	close_p(&keeper->pidfd);
	keeper->pidfd = -1;
	/*
	 * We would not see it die, and ranks must not wait for ever on a socket that only we have
	 * open.
	 */
	close_p(&keeper->spawn.listen_fd);
	keeper->spawn.listen_fd = -1;
	return 0;
}

/* ---- recorders that we keep for the collector ------------------------------------------ */

/*
 * We are the last to close the recorder, so its memory is freed by our process, which takes a
 * millisecond or more for a rank of 100,000 kernels.
 */
static void drop(struct run_keeper *keeper, const char *name)
{
	for (size_t i = keeper->n_kept; i-- > 0;) {
		if (strcmp(keeper->kept[i].name, name) != 0)
			continue;
		close(keeper->kept[i].fd);
		free(keeper->kept[i].name);
		keeper->kept[i] = keeper->kept[--keeper->n_kept];
	}
}

/* Says it once, because further ranks are no news. */
static void say_full(struct run_keeper *keeper)
{
	if (keeper->has_said_full)
		return;
	keeper->has_said_full = true;
	say("the recorders of no more than %zu processes can be kept%s: what others have not sent "
	    "is "
	    "lost if they die together with the collector",
		keeper->n_kept,
		keeper->kept_max < KEPT_RECORDERS_MAX ? " with so few open files (ulimit -Hn)"
						      : "");
}

/* Always takes over @fd. */
static void keep(struct run_keeper *keeper, int fd, const char *name)
{
	struct run_kept *more;
	char *copy;

	drop(keeper, name);
	more = keeper->n_kept < keeper->kept_max
		       ? grow_by_one(keeper->kept, keeper->n_kept, sizeof(*keeper->kept))
		       : NULL;
	copy = strdup(name);
	if (more)
		keeper->kept = more;
	if (!more || !copy) {
		say_full(keeper);
		free(copy);
		close(fd);
		return;
	}
	keeper->kept[keeper->n_kept++] = (struct run_kept){.fd = fd, .name = copy};
}

/* Returns the value of NAME= in the lines of @state, which is cut up. */
static const char *value_of(char *state, const char *name)
{
	char *line, *rest = state;
	size_t bytes = strlen(name);

	while ((line = strsep(&rest, "\n")))
		if (!strncmp(line, name, bytes))
			return line + bytes;
	return NULL;
}

static void handle(struct run_keeper *keeper, const char *state, int fd)
{
	CLEANUP(free_p) char *copy = strdup(state);
	bool is_store = strstr(state, "FDSTORE=1"), is_drop = strstr(state, "FDSTOREREMOVE=1");
	const char *name = copy ? value_of(copy, "FDNAME=") : NULL;

	if (name && strlen(name) < NAME_BYTES_MAX && !strchr(name, ':')) {
		if (is_store && fd >= 0) {
			keep(keeper, fd, name);
			fd = -1;
		} else if (is_store) {
			say_full(keeper); /* the kernel had no room for it either */
		} else if (is_drop) {
			drop(keeper, name);
		}
	}
	if (fd >= 0)
		close(fd);
}

/*
 * Returns the first descriptor, -1 if there is none. All that the kernel passed to us must be
 * closed.
 */
static int take_first_fd(struct msghdr *message)
{
	int first = -1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		bool is_rights = c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS;
		size_t n = is_rights ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;

		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (first < 0)
				first = fd;
			else
				close(fd);
		}
	}
	return first;
}

static bool is_from_us(struct msghdr *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		struct ucred from;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
			continue;
		memcpy(&from, CMSG_DATA(c), sizeof(from));
		return from.uid == geteuid();
	}
	return false;
}

/* Receives one message; false if there is none. Messages of other users are ignored. */
static bool receive(struct run_keeper *keeper)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
	} control;
	char state[STATE_BYTES_MAX + 1];
	struct iovec text = {state, STATE_BYTES_MAX};
	struct msghdr message = {.msg_iov = &text,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	int fd;
	ssize_t n = recvmsg(keeper->notify_fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	if (n < 0)
		return errno == EINTR;
	fd = take_first_fd(&message);
	state[n] = '\0';
	if (is_from_us(&message))
		handle(keeper, state, fd);
	else if (fd >= 0)
		close(fd);
	return true;
}

static void receive_some(struct run_keeper *keeper, unsigned most)
{
	while (most-- > 0 && receive(keeper))
		;
}

int run_keeper_notify_fd(const struct run_collector *collector)
{
	return collector->keeper ? collector->keeper->notify_fd : -1;
}

void run_keeper_receive(struct run_collector *collector)
{
	if (collector->keeper)
		receive_some(collector->keeper, MESSAGES_MAX);
}

/* ---- restart after its death ----------------------------------------------------------- */

static bool is_dead(const struct run_keeper *keeper)
{
	struct pollfd entry = {.fd = keeper->pidfd, .events = POLLIN};

	return keeper->pidfd >= 0 && poll(&entry, 1, 0) == 1;
}

bool run_keeper_lives(const struct run_collector *collector)
{
	const struct run_keeper *keeper = collector->keeper;

	return !keeper || (!keeper->is_down && !is_dead(keeper));
}

pid_t run_keeper_pid(const struct run_collector *collector)
{
	return collector->keeper && run_keeper_lives(collector) ? collector->keeper->pid : 0;
}

void run_keeper_kill(const struct run_collector *collector)
{
	if (collector->keeper && collector->keeper->pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, collector->keeper->pidfd, SIGKILL, NULL, 0);
}

bool run_keeper_is_up(const struct run_collector *collector)
{
	return run_keeper_lives(collector) &&
	       !(collector->keeper && collector->keeper->awaits_answer);
}

static void set_timer(const struct run_keeper *keeper, uint64_t ns)
{
	struct itimerspec due = {.it_value = {.tv_sec = (time_t)(ns / 1000000000u),
					 .tv_nsec = (long)(ns % 1000000000u)}};

	(void)timerfd_settime(keeper->timer_fd, 0, &due, NULL);
}

static void stop_awaiting_answer(struct run_collector *collector)
{
	collector->keeper->awaits_answer = false;
	unwatch(collector->keeper, collector->client.fd);
}

/*
 * Restarts at once the first time. If collectors keep dying soon, the pauses double: up to 200 ms
 * in the first 10 s, up to 5 s afterwards, for as long as the job takes, because the disk may get
 * free space.
 */
static void plan_start(struct run_collector *collector)
{
	struct run_keeper *keeper = collector->keeper;
	uint64_t now_ns = clock_monotonic_ns(), lived_ns = now_ns - keeper->started_ns, next_ns;
	bool is_fast;

	if (!keeper->trouble_ns || lived_ns > RECONNECT_FAST_FOR_NS) {
		keeper->trouble_ns = now_ns;
		keeper->pause_ns = 0;
		keeper->has_reported_down = keeper->has_reported_restart = false;
	}
	is_fast = now_ns - keeper->trouble_ns < RECONNECT_FAST_FOR_NS;
	if (is_fast && lived_ns > RECONNECT_NS_FAST)
		keeper->pause_ns = 0;
	keeper->is_down = true;
	keeper->start_ns = now_ns + keeper->pause_ns;
	/* Otherwise they would wake us permanently. */
	unwatch(keeper, keeper->pidfd);
	stop_awaiting_answer(collector);
	set_timer(keeper, keeper->pause_ns ? keeper->pause_ns : 1);
	next_ns = keeper->pause_ns ? keeper->pause_ns * 2 : RECONNECT_NS_MIN;
	keeper->pause_ns = is_fast && next_ns > RECONNECT_NS_FAST ? RECONNECT_NS_FAST : next_ns;
	if (keeper->pause_ns > RECONNECT_NS_MAX)
		keeper->pause_ns = RECONNECT_NS_MAX;
}

/* Our RunnerHello is still in the socket's queue: no collector has lived long enough to read it. */
static bool is_queued(const struct run_collector *collector)
{
	struct pollfd entry = {.fd = collector->client.fd, .events = POLLIN};

	return entry.fd >= 0 && poll(&entry, 1, 0) == 0;
}

/* The loop waits for the answer, so that signals for the command and its end are not delayed. */
static int start_again(struct run_collector *collector)
{
	struct run_keeper *keeper = collector->keeper;
	int r = 0;

	keeper->started_ns = clock_monotonic_ns();
	run_start_clear_log(collector);
	/*
	 * Our message is in the queue before the collector runs, so that it does not take its
	 * session for abandoned.
	 */
	if (!is_queued(collector)) {
		client_close(&collector->client);
		r = client_connect(&collector->client, collector->socket);
		if (r == 0)
			r = run_collector_say_hello(collector, false);
		if (r < 0)
			client_close(&collector->client);
	}
	if (r == 0)
		r = watch(keeper, collector->client.fd);
	if (r == 0)
		r = run_keeper_spawn(collector);
	if (r < 0)
		return r;
	keeper->is_unanswered = keeper->awaits_answer = true;
	set_timer(keeper, COLLECTOR_START_MS_MAX * 1000000ull);
	return 0;
}

/* Says it once, because a collector may die right after each start for hours. */
static void report_down(struct run_collector *collector, int error)
{
	char why[RUN_WHY_BYTES];

	if (collector->keeper->has_reported_down)
		return;
	collector->keeper->has_reported_down = true;
	run_start_explain(collector, error, why);
	if (!run_keeper_lives(collector))
		say("the collector died and does not start again: %s; rtl retries as long "
		    "as the job runs",
			why);
	else if (error == -ETIMEDOUT)
		say("the collector died; its replacement does not answer yet: %s; rtl waits "
		    "for it as long as the job runs",
			why);
	else
		say("the collector died; its replacement refused the session: %s", why);
}

static void report_restarted(struct run_keeper *keeper)
{
	if (!keeper->has_reported_restart)
		say("the collector had died and was started again; it continues the session");
	keeper->has_reported_restart = true;
}

/* Receives its answer if it has come. True if it accepts us. */
static bool receive_answer(struct run_collector *collector)
{
	struct run_keeper *keeper = collector->keeper;
	Rtl__Frame *reply;
	int r = client_receive(&collector->client, 0, &reply);

	if (r == -ETIMEDOUT) {
		/* It may only be slow: the end of the session shows what it does. */
		if (clock_monotonic_ns() - keeper->started_ns >=
			COLLECTOR_START_MS_MAX * 1000000ull)
			report_down(collector, r);
		return false;
	}
	stop_awaiting_answer(collector);
	if (r == 0)
		r = run_collector_take(collector, reply);
	if (r == 0) {
		keeper->is_unanswered = false;
		report_restarted(keeper);
		return true;
	}
	/* A collector that hangs up without an answer is dying, which is detected next. */
	if (r != -ECONNRESET)
		report_down(collector, r);
	client_close(&collector->client);
	return false;
}

int run_keeper_fd(const struct run_collector *collector)
{
	return collector->keeper ? collector->keeper->epoll_fd : -1;
}

bool run_keeper_serve(struct run_collector *collector)
{
	struct run_keeper *keeper = collector->keeper;
	uint64_t expired;
	bool is_back;
	int r;

	if (!keeper)
		return false;
	/* The number of expirations does not matter. */
	(void)!read(keeper->timer_fd, &expired, sizeof(expired));
	receive_some(keeper, MESSAGES_MAX);
	is_back = keeper->awaits_answer && receive_answer(collector);
	if (!keeper->is_down && is_dead(keeper)) {
		/* Its last messages are still in our queue. */
		receive_some(keeper, MESSAGES_LAST_MAX);
		if (keeper->is_unanswered)
			report_down(collector, -ECONNRESET);
		plan_start(collector);
		is_back = false;
	}
	if (!keeper->is_down || clock_monotonic_ns() < keeper->start_ns)
		return is_back;
	r = start_again(collector);
	if (r < 0) {
		report_down(collector, r);
		plan_start(collector);
	}
	return false;
}
