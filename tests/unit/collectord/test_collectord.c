/* SPDX-License-Identifier: MIT */
/* The program on a real disk: how it starts, what survives its end, what a death leaves. */
#include "tests/unit/collectord/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectord/service/listen.h"
#include "proto/base/cleanup.h"

#define DISPATCHES 10
#define FRAMES	   5
#define OTHER_UID  65534
#define COUNT	   "SELECT count(*) FROM rocpd_op"

static void start_shim(struct fake_shim *shim, const char *job)
{
	assert_int_equal(fake_shim_init(shim, job), 0);
}

/* The collector, and a shim of this process that has defined its names. */
static void begin(struct daemon *daemon, struct fake_shim *shim, const struct place *place)
{
	daemon_start_in(daemon, place);
	start_shim(shim, "job");
	assert_int_equal(daemon_welcome(shim, place->socket), 0);
	fake_shim_define(shim);
}

/* A shim that may be killed, of the collector that runs already. */
static void begin_child(struct fake_shim *shim, const struct place *place)
{
	start_shim(shim, "job");
	daemon_welcome_child(shim, place->socket);
	fake_shim_define(shim);
}

static void send_frames(struct fake_shim *shim, unsigned n, bool is_kept)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(fake_shim_dispatch(shim, DISPATCHES, is_kept), 0);
}

PLACE_CASE(the_ready_line_names_socket_and_store)
{
	struct daemon daemon;

	daemon_start_in(&daemon, place);
	daemon_wait_for_line(&daemon, place->store);
	assert_non_null(strchr(daemon.said, '\n'));
	assert_int_equal(strchr(daemon.said, '\n') - daemon.said, (int)strlen(daemon.said) - 1);
	daemon_stop(&daemon);
}

PLACE_CASE(another_live_collector_is_refused_with_its_pid)
{
	struct daemon first;
	struct daemon second;
	char pid[32];
	const char *arguments[] = {
		COLLECTORD, "--socket", place->socket, "--db-dir", place->store, NULL};

	daemon_start_in(&first, place);
	snprintf(pid, sizeof(pid), "pid %d", first.pid);
	daemon_start(&second, arguments, -1, (uid_t)-1);
	assert_int_equal(WEXITSTATUS(daemon_wait(&second)), 1);
	assert_non_null(strstr(second.said, pid));
	daemon_stop(&first);
}

static bool has_ended(pid_t pid)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid;
}

/* It listens, and waits for another collector to leave the folder: it removes what it made. */
PLACE_CASE(told_to_end_while_it_starts_it_tidies_up)
{
	struct daemon first, second;
	char path[128];
	const char *arguments[] = {COLLECTORD, "--socket", path, "--db-dir", place->store, NULL};
	struct stat st;
	int status;

	snprintf(path, sizeof(path), "%s/second", place->dir);
	daemon_start_in(&first, place);
	daemon_start(&second, arguments, -1, (uid_t)-1);
	/* A test that is late tries nothing; the other waits two seconds. */
	while (lstat(path, &st) < 0 && !has_ended(second.pid))
		(void)poll(NULL, 0, 1);
	daemon_signal(&second, SIGTERM);
	status = daemon_wait(&second);
	assert_true(WIFEXITED(status));
	assert_int_equal(lstat(path, &st), -1);
	daemon_stop(&first);
}

PLACE_CASE(a_dead_socket_is_replaced)
{
	struct daemon daemon;
	struct stat st;

	daemon_start_in(&daemon, place);
	daemon_signal(&daemon, SIGKILL);
	(void)daemon_wait(&daemon);
	assert_int_equal(lstat(place->socket, &st), 0);
	daemon_start_in(&daemon, place);
	daemon_stop(&daemon);
}

/* Accepts one connection and exits. */
static _Noreturn void accept_one(int listener)
{
	(void)accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	_exit(0);
}

/* The creator of the socket has ended; a process that it has started still listens there. */
static void leave_a_listener(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	pid_t creator = fork();
	int status;

	if (creator == 0) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
		if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
			listen(fd, 8) < 0)
			_exit(1);
		if (fork() == 0)
			accept_one(fd);
		_exit(0);
	}
	assert_int_equal(waitpid(creator, &status, 0), creator);
	assert_int_equal(status, 0);
}

PLACE_CASE(the_last_process_of_a_dead_collector_is_waited_for)
{
	struct daemon daemon;

	leave_a_listener(place->socket);
	daemon_start_in(&daemon, place);
	daemon_stop(&daemon);
}

PLACE_CASE(what_is_no_socket_is_left_alone)
{
	const char *arguments[] = {
		COLLECTORD, "--socket", place->socket, "--db-dir", place->store, NULL};
	CLEANUP(close_p) int fd = open(place->socket, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	struct daemon daemon;
	struct stat st;

	daemon_start(&daemon, arguments, -1, (uid_t)-1);
	assert_int_equal(WEXITSTATUS(daemon_wait(&daemon)), 1);
	assert_int_equal(lstat(place->socket, &st), 0);
	assert_true(S_ISREG(st.st_mode));
}

/* Whichever user runs the test: uid 65534 or our own may not bind in a directory of root. */
PLACE_CASE(a_user_is_told_a_path_that_works)
{
	uid_t uid = geteuid() == 0 ? OTHER_UID : (uid_t)-1;
	const char *refused[] = {
		COLLECTORD, "--socket", "/rtl-no-such.sock", "--db-dir", place->store, NULL};
	char *line;
	char *path;
	struct daemon daemon;

	assert_int_equal(mkdir(place->store, 0700), 0);
	if (uid != (uid_t)-1)
		assert_int_equal(chown(place->store, uid, uid), 0);
	daemon_start(&daemon, refused, -1, uid);
	assert_int_equal(WEXITSTATUS(daemon_wait(&daemon)), 1);
	line = strchr(daemon.said, '\n');
	assert_non_null(line);
	assert_string_equal(line, "\n"); /* one line */
	*line = '\0';
	path = strstr(daemon.said, "--socket ");
	assert_non_null(path);
	path += strlen("--socket ");
	if (uid != (uid_t)-1) {
		const char *accepted[] = {
			COLLECTORD, "--socket", path, "--db-dir", place->store, NULL};
		struct daemon other;

		daemon_start(&other, accepted, -1, uid);
		daemon_wait_for_line(&other, path);
		daemon_stop(&other);
	}
}

PLACE_CASE(a_missing_option_argument_is_a_usage_error)
{
	const char *arguments[] = {COLLECTORD, "--private-session", "name", NULL};
	struct daemon daemon;

	daemon_start(&daemon, arguments, -1, (uid_t)-1);
	assert_int_equal(WEXITSTATUS(daemon_wait(&daemon)), 2);
}

/* @said: of the only line. */
static void expect_refused(const char *const *arguments, uid_t uid, const char *said)
{
	struct daemon daemon;
	const char *line;

	daemon_start(&daemon, arguments, -1, uid);
	assert_int_equal(WEXITSTATUS(daemon_wait(&daemon)), 1);
	assert_non_null(strstr(daemon.said, said));
	line = strchr(daemon.said, '\n');
	assert_non_null(line);
	assert_string_equal(line, "\n");
}

PLACE_CASE(a_directory_is_no_file_to_store_in)
{
	const char *arguments[] = {COLLECTORD, "--socket", place->socket, "--db", place->dir, NULL};

	expect_refused(
		arguments, (uid_t)-1, "it is a directory; --db-dir stores sessions below one");
}

PLACE_CASE(an_empty_name_is_a_usage_error)
{
	static const char *const options[] = {"--socket=", "--db=", "--db-dir="};

	for (size_t i = 0; i < 3; i++) {
		const char *arguments[] = {COLLECTORD, "--socket", place->socket, options[i], NULL};
		struct daemon daemon;

		daemon_start(&daemon, arguments, -1, (uid_t)-1);
		assert_int_equal(WEXITSTATUS(daemon_wait(&daemon)), 2);
		assert_non_null(strstr(daemon.said, ": the name is empty"));
	}
}

/* For root the folder is /var/lib/rtl. */
PLACE_CASE(a_user_without_a_home_is_told_what_to_give)
{
	uid_t uid = geteuid() == 0 ? OTHER_UID : (uid_t)-1;
	const char *arguments[] = {COLLECTORD, "--socket", place->socket, NULL};

	unsetenv("XDG_STATE_HOME");
	unsetenv("HOME");
	if (uid != (uid_t)-1)
		assert_int_equal(chown(place->dir, uid, uid), 0);
	expect_refused(
		arguments, uid, "neither XDG_STATE_HOME nor HOME is set; give --db or --db-dir");
	assert_int_equal(setenv("HOME", "/proc", 1), 0);
	expect_refused(arguments, uid, "cannot store under /proc/.local/state/rtl: ");
	assert_int_equal(setenv("HOME", place->dir, 1), 0);
}

/* 0 is not taken for the default of 30 s. */
PLACE_CASE(no_time_at_all_for_a_disk_is_a_usage_error)
{
	const char *arguments[] = {COLLECTORD, "--socket", place->socket, "--db-dir", place->store,
		"--disk-wait", "0", NULL};
	struct daemon daemon;

	daemon_start(&daemon, arguments, -1, (uid_t)-1);
	assert_int_equal(WEXITSTATUS(daemon_wait(&daemon)), 2);
}

PLACE_CASE(what_was_acknowledged_is_committed)
{
	struct fake_shim shim;
	struct daemon daemon;
	char path[256];

	begin(&daemon, &shim, place);
	fake_shim_send_counters(&shim);
	send_frames(&shim, FRAMES, false);
	daemon_signal(&daemon, SIGHUP);
	daemon_expect_ack(&shim, FRAMES);
	find_database(place, geteuid(), path);
	assert_number(path, COUNT, FRAMES * DISPATCHES);
	daemon_stop(&daemon);
	assert_number(path, COUNT, FRAMES * DISPATCHES);
	assert_number(path, "SELECT hw_frame FROM rtl_process", FRAMES);
	fake_shim_done(&shim);
}

PLACE_CASE(sigterm_commits_whole_frames_only)
{
	struct fake_shim shim;
	struct daemon daemon;
	char path[256];

	begin(&daemon, &shim, place);
	send_frames(&shim, FRAMES, false);
	daemon_stop(&daemon);
	find_database(place, geteuid(), path);
	assert_number(
		path, "SELECT count(*) - 10 * (SELECT hw_frame FROM rtl_process) FROM rocpd_op", 0);
	fake_shim_done(&shim);
}

PLACE_CASE(a_killed_collector_goes_on_where_it_was)
{
	struct fake_shim shim;
	struct daemon daemon;
	uint64_t hw;
	char path[256];

	begin(&daemon, &shim, place);
	send_frames(&shim, FRAMES, false);
	daemon_expect_ack(&shim, FRAMES);
	send_frames(&shim, FRAMES, false);
	daemon_signal(&daemon, SIGKILL);
	(void)daemon_wait(&daemon);
	daemon_start_in(&daemon, place);
	hw = daemon_welcome(&shim, place->socket);
	assert_true(hw >= FRAMES && hw <= 2 * FRAMES);
	fake_shim_define(&shim);
	fake_shim_resend(&shim, hw);
	if (hw < 2 * FRAMES)
		daemon_expect_ack(&shim, 2 * FRAMES);
	find_database(place, geteuid(), path);
	assert_number(path, COUNT, 2 * FRAMES * DISPATCHES);
	daemon_stop(&daemon);
	fake_shim_done(&shim);
}

PLACE_CASE(both_killed_leave_a_tail_that_is_said_to_be_unknown)
{
	struct fake_shim shim;
	struct daemon daemon;
	char path[256];

	daemon_start_in(&daemon, place);
	begin_child(&shim, place);
	send_frames(&shim, FRAMES, false);
	daemon_expect_ack(&shim, FRAMES);
	daemon_signal(&daemon, SIGKILL);
	(void)daemon_wait(&daemon);
	fake_shim_kill(&shim);
	daemon_start_in(&daemon, place);
	daemon_wait_for_line(&daemon, " closed: INCOMPLETE");
	daemon_stop(&daemon);
	find_database(place, geteuid(), path);
	assert_number(path, COUNT, FRAMES * DISPATCHES);
	assert_number(path, "SELECT count(*) FROM rtl_loss WHERE reason = 'unknown_tail'", 1);
	assert_number(path, "SELECT count(ended) FROM rtl_process", 1);
	fake_shim_done(&shim);
}

PLACE_CASE(a_rank_finds_its_session_after_a_restart)
{
	struct fake_shim shim;
	struct daemon daemon;
	char path[256];

	begin(&daemon, &shim, place);
	send_frames(&shim, 1, false);
	daemon_expect_ack(&shim, 1);
	daemon_stop(&daemon);
	daemon_start_in(&daemon, place);
	/* Opened again before any client connected, and held open by a process that only is away.
	 */
	daemon_wait_for_line(&daemon, "session ");
	assert_int_equal(daemon_welcome(&shim, place->socket), 1);
	fake_shim_define(&shim);
	send_frames(&shim, 1, false);
	daemon_expect_ack(&shim, 2);
	find_database(place, geteuid(), path);
	assert_number(path, COUNT, 2 * DISPATCHES);
	assert_number(path, "SELECT count(*) FROM rtl_process", 1);
	daemon_stop(&daemon);
	fake_shim_done(&shim);
}

PLACE_CASE(a_skipped_frame_number_closes_the_connection_and_nothing_else)
{
	Rtl__Frame *frame = NULL;
	struct fake_shim shim;
	struct daemon daemon;
	char path[256];

	begin(&daemon, &shim, place);
	send_frames(&shim, 1, false);
	daemon_expect_ack(&shim, 1);
	send_frames(&shim, 1, true); /* 2 is not sent */
	send_frames(&shim, 1, false);
	assert_int_equal(fake_receive(&shim, FAKE_WAIT_MS, &frame), 0);
	assert_int_equal(frame->body_case, RTL__FRAME__BODY_REFUSAL);
	assert_int_equal(fake_receive(&shim, FAKE_WAIT_MS, &frame), -ECONNRESET);
	assert_int_equal(daemon_welcome(&shim, place->socket), 1);
	fake_shim_define(&shim);
	fake_shim_resend(&shim, 1);
	daemon_expect_ack(&shim, 3);
	find_database(place, geteuid(), path);
	assert_number(path, COUNT, 3 * DISPATCHES);
	daemon_stop(&daemon);
	fake_shim_done(&shim);
}

PLACE_CASE(a_second_hello_closes_the_connection)
{
	Rtl__Frame *frame = NULL;
	struct fake_shim shim;
	struct daemon daemon;

	daemon_start_in(&daemon, place);
	start_shim(&shim, "job");
	daemon_welcome(&shim, place->socket);
	fake_shim_send_hello(&shim, 1);
	assert_int_equal(fake_receive(&shim, FAKE_WAIT_MS, &frame), 0);
	assert_int_equal(frame->body_case, RTL__FRAME__BODY_REFUSAL);
	assert_int_equal(fake_receive(&shim, FAKE_WAIT_MS, &frame), -ECONNRESET);
	daemon_stop(&daemon);
	fake_shim_done(&shim);
}

/* Passes the socket, as rtl run does; the file belongs to one job. */
static int passed_listener(const char *path)
{
	struct listen_sockets sockets;
	pid_t pid = 0;
	int fd;

	assert_int_equal(listen_bind(&sockets, path, true, &pid), 0);
	fd = dup(sockets.fds[0]);
	/* The name stays: it is the listener that is passed on. */
	sockets.is_passed = true;
	listen_done(&sockets);
	return fd;
}

PLACE_CASE(a_killed_rank_is_drained_into_the_private_file)
{
	char file[128];
	char wal[140];
	const char *arguments[] = {COLLECTORD, "--private-session", "one", "--db", file, NULL};
	CLEANUP(close_p) int listener = passed_listener(place->socket);
	struct fake_shim shim;
	struct daemon daemon;
	struct stat st;
	int status;

	snprintf(file, sizeof(file), "%s/job.db", place->dir);
	snprintf(wal, sizeof(wal), "%s-wal", file);
	daemon_start(&daemon, arguments, listener, (uid_t)-1);
	begin_child(&shim, place);
	send_frames(&shim, 2, false);
	daemon_expect_ack(&shim, 2);
	send_frames(&shim, FRAMES, true); /* published, never sent */
	fake_shim_kill(&shim);
	status = daemon_wait(&daemon); /* no runner: it ends when its process has ended */
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail_msg("wait status %#x: %s", status, daemon.said);
	assert_number(file, COUNT, (FRAMES + 2) * DISPATCHES);
	assert_number(file, "SELECT drained FROM rtl_process", 1);
	assert_number(file, "SELECT ended = 'killed' FROM rtl_process", 1);
	assert_number(file, "SELECT exit_status FROM rtl_process", 128 + SIGKILL);
	assert_int_not_equal(lstat(wal, &st), 0);
	fake_shim_done(&shim);
}

PLACE_CASE(a_private_collector_told_to_end_closes_its_session)
{
	char file[128];
	const char *arguments[] = {COLLECTORD, "--private-session", "one", "--db", file, NULL};
	CLEANUP(close_p) int listener = passed_listener(place->socket);
	struct fake_shim shim;
	struct daemon daemon;

	snprintf(file, sizeof(file), "%s/job.db", place->dir);
	daemon_start(&daemon, arguments, listener, (uid_t)-1);
	begin_child(&shim, place);
	send_frames(&shim, FRAMES, false);
	daemon_expect_ack(&shim, FRAMES);
	daemon_stop(&daemon);
	assert_number(file, COUNT, FRAMES * DISPATCHES);
	assert_number(file, "SELECT count(end_ns) FROM rtl_session", 1);
	fake_shim_done(&shim);
}

/* Whether @uid may read @path with the stock shell. */
static bool can_read(uid_t uid, const char *path)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		dup2(null, 1);
		dup2(null, 2);
		if (uid != geteuid() &&
			(setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0))
			_exit(126);
		execlp("sqlite3", "sqlite3", "-readonly", path, COUNT, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_in_range(WEXITSTATUS(status), 0, 125);
	return WEXITSTATUS(status) == 0;
}

/* As root the owner is another user than the daemon's; otherwise all are the same user. */
PLACE_CASE(only_the_owner_reads_live_and_closed_databases)
{
	uid_t owner = geteuid() == 0 ? 4711 : geteuid();
	struct fake_shim shim;
	struct daemon daemon;
	char path[256];

	daemon_start_in(&daemon, place);
	start_shim(&shim, "job");
	shim.uid = geteuid() == 0 ? owner : (uid_t)-1;
	daemon_welcome_child(&shim, place->socket);
	fake_shim_define(&shim);
	send_frames(&shim, FRAMES, false);
	daemon_expect_ack(&shim, FRAMES);
	find_database(place, owner, path);
	assert_true(can_read(owner, path));
	assert_true(geteuid() != 0 || !can_read(owner + 1, path));
	fake_shim_kill(&shim);
	daemon_wait_for_line(&daemon, " closed: ");
	assert_true(can_read(owner, path));
	assert_true(geteuid() != 0 || !can_read(owner + 1, path));
	daemon_stop(&daemon);
	fake_shim_done(&shim);
}

int main(void)
{
	(void)signal(SIGPIPE, SIG_IGN);
	return test_run(NULL, NULL);
}
