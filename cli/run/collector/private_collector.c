// SPDX-License-Identifier: MIT
#include "cli/run/collector/private_collector.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/run/collector/collector.h"
#include "cli/run/collector/hello.h"
#include "cli/run/collector/publish.h"
#include "cli/run/collector/start_collector.h"
#include "cli/run/job/launcher.h"
#include "cli/run/job/options.h"
#include "cli/run/job/why.h"
#include "cli/run/output/output.h"
#include "cli/base/command.h"
#include "cli/base/message.h"
#include "cli/run/collector/supervisor.h"
#include "proto/recorder/checksum.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"

/*
 * A collector that is about to exit answers no request; this is the interval between two checks for
 * its end.
 */
#define DYING_PAUSE_MS 10
/* A process holds the lock for as long as a collector takes to start, unless it is stopped or its
 * disk hangs; the other runs of this user must not hang with it. At the end of a job the lock
 * guards only the name of a socket, which the next run removes. */
#define LOCK_START_MS  (2 * COLLECTOR_START_MS_MAX)
#define LOCK_END_MS    1000u
#define LOCK_STEP_MS   10
/* The list of the ranks that have joined, and the file that says that one of them has told what all
 * found out, are removed after this time. */
#define MEMBERS_KEPT_S (24 * 3600)

struct private
{
	struct run_collector *collector;
	const struct run_options *options;
	const struct run_launch *launch;
	struct run_output *output;
	char folder[PATH_MAX];
	char name[PLACES_NAME_BYTES];
	char members[PATH_MAX]; /* file that lists the ranks that have joined: see has_joined() */
};

/*
 * The session of one launch and one file: a user's second launch with the same key (a shell that
 * exports RTL_JOB_ID) and another file is another session.
 */
static void make_name(struct private *private)
{
	const char *path = private->output->path;
	char clean[PLACES_NAME_BYTES];

	places_session_name(private->launch->job, clean);
	if (private->launch->is_shared)
		snprintf(private->name, sizeof(private->name), "%.*s-%08" PRIx32,
			(int)PLACES_NAME_BYTES - 10, clean, checksum32(path, strlen(path), 0));
	else
		snprintf(private->name, sizeof(private->name), "%s", clean);
}

static int set_paths(struct private *private)
{
	int n = snprintf(private->collector->socket, PLACES_SOCKET_BYTES, "%s/%s.sock",
		private->folder, private->name);

	if (n >= (int)PLACES_SOCKET_BYTES)
		return -ENAMETOOLONG;
	n = snprintf(private->members, sizeof(private->members), "%s/%s.members", private->folder,
		private->name);
	return n < (int)sizeof(private->members) ? 0 : -ENAMETOOLONG;
}

static int init(struct private *private, struct run_collector *collector,
	const struct run_options *options, const struct run_launch *launch,
	struct run_output *output, bool create)
{
	int r;

	*private = (struct private){
		.collector = collector,
		.options = options,
		.launch = launch,
		.output = output,
	};
	r = places_runtime_dir(create, private->folder);
	if (r < 0)
		return r;
	make_name(private);
	return set_paths(private);
}

/* ---- members: a rank that comes when the others have already gone ------------------------- */

/*
 * Ranks of one launch start at any time: the last may come when the first have ended and the file
 * is closed, and its rows belong into the same file. <session>.members names that file and the
 * process that started its ranks ("file DEVICE INODE PID START": a second launch may have the same
 * key), and the ranks that have joined ("rank RANK ATTEMPT").
 */
static void note_member(const struct private *private)
{
	const struct rank_info *rank = &private->launch->rank;
	CLEANUP(close_p) int fd = -1;

	if (!private->launch->is_shared)
		return;
	fd = open(private->members, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 && rank->rank.is_known)
		dprintf(fd, "rank %u %u\n", rank->rank.value, rank->attempt.value);
}

static void note_file(const char *members, const char *path, const struct run_launch *launch)
{
	CLEANUP(close_p) int fd = -1;
	struct stat st;

	if (!launch->is_shared || stat(path, &st) < 0)
		return;
	fd = open(members, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0)
		dprintf(fd, "file %ju %ju %d %llu\n", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino,
			(int)launch->launcher, launch->launcher_start);
}

/* True if the output belongs to this launch and this rank has not joined yet. */
static bool is_latecomer(struct private *private)
{
	const struct rank_info *info = &private->launch->rank;
	CLEANUP(free_p) char *line = NULL;
	bool is_ours = false, has_been = false;
	unsigned long long start;
	uintmax_t device, inode;
	unsigned rank, attempt;
	size_t capacity = 0;
	FILE *file;
	int pid;

	if (!private->launch->is_shared || !info->rank.is_known)
		return false;
	file = fopen(private->members, "re");
	if (!file)
		return false;
	while (getline(&line, &capacity, file) > 0) {
		if (sscanf(line, "file %ju %ju %d %llu", &device, &inode, &pid, &start) == 4)
			is_ours = pid == private->launch->launcher &&
				  start == private->launch->launcher_start;
		if (sscanf(line, "rank %u %u", &rank, &attempt) == 2)
			has_been |= rank == info->rank.value && attempt == info->attempt.value;
	}
	(void)fclose(file); /* it was only read */
	return is_ours && !has_been && run_output_is(private->output, device, inode);
}

/* ---- joining --------------------------------------------------------------------------- */

static void note_socket(struct run_collector *collector)
{
	struct stat st;

	if (lstat(collector->socket, &st) < 0)
		return;
	collector->socket_device = st.st_dev;
	collector->socket_inode = st.st_ino;
}

/* Called once we have joined. */
static void set_private(const struct private *private)
{
	struct run_collector *collector = private->collector;

	collector->is_private = true;
	collector->launch = private->launch;
	if (run_output_is_remote(private->output))
		strcpy(collector->publish, private->output->path);
	note_socket(collector);
	run_list_private(collector);
}

/*
 * Returns 0 if joined; -ENOENT or -ECONNREFUSED if no collector listens; other errors if a
 * collector refuses us, for example because it is ending.
 */
static int join(struct private *private)
{
	struct run_collector *collector = private->collector;
	int r = client_connect(&collector->client, collector->socket);

	if (r < 0)
		return r;
	r = run_collector_greet(
		collector, private->options, private->launch->job, private->output->display, true);
	if (r < 0) {
		client_close(&collector->client);
		return r;
	}
	set_private(private);
	note_member(private);
	return 0;
}

static bool is_not_listening(int error)
{
	return error == -ENOENT || error == -ECONNREFUSED;
}

int run_private_join(struct run_collector *collector, const struct run_options *options,
	const struct run_launch *launch, const struct run_output *output)
{
	struct run_output copy = *output;
	struct private private;
	int r;

	if (!launch->is_shared)
		return -ENOENT;
	r = init(&private, collector, options, launch, &copy, false);
	return r < 0 ? r : join(&private);
}

/* ---- starting, under the lock --------------------------------------------------------------- */

/* With this lock one run of the user at a time decides whether to start a collector. */
static int take_lock(const struct private *private, unsigned most_ms)
{
	uint64_t deadline_ns = clock_monotonic_ns() + most_ms * 1000000ull;
	CLEANUP(close_p) int fd = -1;
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/run.lock", private->folder);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (clock_monotonic_ns() >= deadline_ns)
			return -ETIMEDOUT;
		(void)poll(NULL, 0, LOCK_STEP_MS);
	}
	return TAKE_FD(fd);
}

/* Tries until we have joined the launch or no collector is there. -ETIMEDOUT: one is there and does
 * not answer. */
static int join_until_gone(struct private *private)
{
	uint64_t deadline = clock_monotonic_ns() + COLLECTOR_START_MS_MAX * 1000000ull;
	int r;

	for (;;) {
		r = join(private);
		if (r == 0 || is_not_listening(r))
			return r;
		if (clock_monotonic_ns() >= deadline)
			return -ETIMEDOUT;
		(void)poll(NULL, 0, DYING_PAUSE_MS);
	}
}

/* An error of this process, which tells nothing about the collector. */
static bool is_shortage(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -ENOBUFS;
}

/* Without a launch: chooses an unused name, since another pid namespace has the same pids. */
static int choose_name(struct private *private)
{
	char base[PLACES_NAME_BYTES];
	struct client client;
	int r;

	strcpy(base, private->name);
	for (int i = 2; i < 1000; i++) {
		r = client_connect(&client, private->collector->socket);
		client_close(&client);
		if (is_not_listening(r) || is_shortage(r))
			return r;
		snprintf(private->name, sizeof(private->name), "%.*s-%d",
			(int)PLACES_NAME_BYTES - 6, base, i);
		r = set_paths(private);
		if (r < 0)
			return r;
	}
	return -EADDRINUSE;
}

/* Removes sockets without a listener and lists of old launches, but never collectord's own socket,
 * which is bound without our lock. */
static void sweep(const struct private *private)
{
	struct dirent *entry;
	DIR *folder = opendir(private->folder);

	if (!folder)
		return;
	while ((entry = readdir(folder))) {
		const char *dot = strrchr(entry->d_name, '.');
		char path[PATH_MAX + 256];
		struct client client;
		struct stat st;

		if (!dot || !strcmp(entry->d_name, PLACES_OWN_SOCKET))
			continue;
		snprintf(path, sizeof(path), "%s/%s", private->folder, entry->d_name);
		if (!strcmp(dot, ".members") && !stat(path, &st) &&
			st.st_mtime + MEMBERS_KEPT_S < (time_t)(clock_realtime_ns() / 1000000000u))
			(void)unlink(path);
		if (strcmp(dot, ".sock"))
			continue;
		if (client_connect(&client, path) == -ECONNREFUSED)
			(void)unlink(path);
		client_close(&client);
	}
	closedir(folder);
}

/*
 * An output that the user named is required: an error then ends rtl run rather than leave the job
 * unrecorded.
 */
static int refuse(const struct private *private, int error, const char *why)
{
	if (error >= 0 || !private->options->output)
		return error;
	say("%s", why);
	return CMD_RUN_FAILED;
}

/*
 * Prepares the file for a new collector; that of a latecomer exists already. Returns 0, an exit
 * status, or -errno.
 */
static int make_way(
	struct private *private, bool is_late, const char *program, char why[RUN_WHY_BYTES])
{
	struct run_output *output = private->output;
	bool is_remote = run_output_is_remote(output);
	int r = is_late ? 0 : run_output_check(output, private->options);

	if (r < 0)
		run_why(why, "%s: cannot be written there: %s; -o FILE names another place",
			private->output->display, strerror(-r));
	if (r)
		return r;
	/* Nothing is overwritten for a collector that cannot be started. */
	if (access(program, X_OK) < 0) {
		run_why(why, "%s: %s", program, strerror(errno));
		return -ENOENT;
	}
	if (!is_remote) /* otherwise another disk is chosen that has room */
		r = refuse(private, run_output_check_room(output, private->options, why), why);
	if (r == 0 && !is_late) {
		(void)unlink(private->members); /* of an earlier launch, if it exists */
		r = run_output_clear(output, private->options);
	}
	if (r == 0 && is_remote)
		r = refuse(
			private, run_output_go_local(output, private->options, is_late, why), why);
	return r;
}

static int start(struct private *private, char why[RUN_WHY_BYTES])
{
	bool is_late = is_latecomer(private);
	char program[PATH_MAX];
	int r;

	/* On failure it contains the path that was tried. */
	(void)places_find(PLACE_COLLECTORD, program);
	r = make_way(private, is_late, program, why);
	if (r)
		return r;
	sweep(private);
	r = run_start(private->collector, program, private->name,
		*private->output->local ? private->output->local : private->output->path,
		private->options->is_verbose, why);
	if (r < 0) {
		run_output_leave_local(private->output);
		return r;
	}
	/*
	 * In a launch the file is noted for ranks that come after it is closed, so wait until it is
	 * open.
	 */
	r = run_collector_greet(private->collector, private->options, private->launch->job,
		private->output->display, !private->launch->is_shared);
	if (r < 0) {
		run_start_explain(private->collector, r, why);
		/* It has not answered any process yet. */
		if (r == -ETIMEDOUT || r == -EINTR)
			run_keeper_kill(private->collector);
		private->collector->keeper = run_keeper_free(private->collector->keeper);
		(void)unlink(private->collector->socket);
		client_close(&private->collector->client);
		run_output_leave_local(private->output);
		return r;
	}
	set_private(private);
	if (!is_late)
		note_file(private->members, private->output->path, private->launch);
	note_member(private);
	return 0;
}

int run_private_attach(struct run_collector *collector, const struct run_options *options,
	const struct run_launch *launch, struct run_output *output, char why[RUN_WHY_BYTES])
{
	CLEANUP(close_p) int lock = -1;
	struct private private;
	int r = init(&private, collector, options, launch, output, true);

	if (r < 0) {
		run_why(why, "%s: %s; set XDG_RUNTIME_DIR to a directory of yours", private.folder,
			r == -EPERM ? "not a directory of yours alone" : strerror(-r));
		return r;
	}
	/* Most ranks of a launch find the collector running, and need not wait for the lock. */
	if (launch->is_shared && join(&private) == 0)
		return 0;
	lock = take_lock(&private, LOCK_START_MS);
	if (lock < 0) {
		run_why(why, "%s/run.lock: %s", private.folder,
			lock == -ETIMEDOUT ? "another rtl run does not let go of it"
					   : strerror(-lock));
		return lock;
	}
	r = launch->is_shared ? join_until_gone(&private) : choose_name(&private);
	if (is_not_listening(r))
		return start(&private, why);
	if (r < 0)
		run_why(why, "%s: %s", collector->socket, client_error(&collector->client, r));
	return r;
}

void run_private_note_file(const struct run_collector *collector)
{
	char members[PLACES_SOCKET_BYTES + 16];
	size_t stem = strlen(collector->socket) - strlen(".sock");

	snprintf(members, sizeof(members), "%.*s.members", (int)stem, collector->socket);
	note_file(members, collector->database, collector->launch);
}

void run_private_forget(const struct run_collector *collector)
{
	CLEANUP(close_p) int lock = -1;
	struct private private;
	struct stat st;

	if (places_runtime_dir(false, private.folder) < 0)
		return;
	/* Under the lock no other run uses this name for a new collector between lstat() and
	 * unlink(). */
	lock = take_lock(&private, LOCK_END_MS);
	if (lock < 0 || lstat(collector->socket, &st) < 0)
		return;
	if (st.st_dev == collector->socket_device && st.st_ino == collector->socket_inode)
		(void)unlink(collector->socket);
}
