/* SPDX-License-Identifier: MIT */
#include "tests/unit/collectord/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/base/cleanup.h"
#include "tests/lib/folder.h"

int place_setup(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	assert_non_null(place);
	strcpy(place->dir, "/tmp/rtl-collectord-XXXXXX");
	assert_non_null(mkdtemp(place->dir));
	assert_int_equal(chmod(place->dir, 0755), 0);
	snprintf(place->socket, sizeof(place->socket), "%s/s", place->dir);
	snprintf(place->store, sizeof(place->store), "%s/store", place->dir);
	*state = place;
	return 0;
}

int place_teardown(void **state)
{
	struct place *place = *state;

	assert_int_equal(folder_remove(place->dir), 0);
	free(place);
	return 0;
}

static _Noreturn void become(const char *const *arguments, int listener, int stderr_fd, uid_t uid)
{
	char pid[16];

	dup2(stderr_fd, 2);
	if (listener >= 0) {
		if (listener != 3)
			dup2(listener, 3);
		else
			fcntl(3, F_SETFD, 0);
		snprintf(pid, sizeof(pid), "%d", getpid());
		setenv("LISTEN_PID", pid, 1);
		setenv("LISTEN_FDS", "1", 1);
	}
	if (uid != (uid_t)-1 && (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
					setresuid(uid, uid, uid) < 0))
		_exit(126);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves nothing running */
	(void)setpgid(0, 0);
	execv(arguments[0], (char *const *)(uintptr_t)arguments);
	_exit(127);
}

void daemon_start(struct daemon *daemon, const char *const *arguments, int listener, uid_t uid)
{
	int pipe_fds[2];

	*daemon = (struct daemon){0};
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	daemon->pid = fork();
	assert_true(daemon->pid >= 0);
	if (daemon->pid == 0)
		become(arguments, listener, pipe_fds[1], uid);
	close(pipe_fds[1]);
	daemon->stderr_fd = pipe_fds[0];
}

void daemon_start_in(struct daemon *daemon, const struct place *place)
{
	const char *arguments[] = {
		COLLECTORD, "--socket", place->socket, "--db-dir", place->store, NULL};

	daemon_start(daemon, arguments, -1, (uid_t)-1);
	daemon_wait_for_line(daemon, place->socket);
}

static bool read_more(struct daemon *daemon)
{
	struct pollfd poll_fd = {.fd = daemon->stderr_fd, .events = POLLIN};
	ssize_t n;

	if (daemon->n_said == sizeof(daemon->said) - 1)
		return false;
	if (poll(&poll_fd, 1, FAKE_WAIT_MS) <= 0)
		fail_msg("collectord did not say what it should; so far: %s", daemon->said);
	n = read(daemon->stderr_fd, daemon->said + daemon->n_said,
		sizeof(daemon->said) - 1 - daemon->n_said);
	if (n > 0)
		daemon->n_said += (size_t)n;
	return n > 0;
}

void daemon_wait_for_line(struct daemon *daemon, const char *text)
{
	while (!strstr(daemon->said, text))
		if (!read_more(daemon))
			fail_msg("collectord ended without saying \"%s\": %s", text, daemon->said);
}

void daemon_signal(struct daemon *daemon, int number)
{
	/* Of a service also its workers, which a death of the supervisor alone lets end in peace.
	 */
	assert_int_equal(kill(number == SIGKILL ? -daemon->pid : daemon->pid, number), 0);
}

int daemon_wait(struct daemon *daemon)
{
	int status = 0;

	while (read_more(daemon))
		;
	assert_int_equal(waitpid(daemon->pid, &status, 0), daemon->pid);
	close(daemon->stderr_fd);
	return status;
}

void daemon_stop(struct daemon *daemon)
{
	int status;

	daemon_signal(daemon, SIGTERM);
	status = daemon_wait(daemon);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail_msg("collectord ended with wait status %#x: %s", status, daemon->said);
}

static Rtl__Frame *expect(struct fake_shim *shim, Rtl__Frame__BodyCase body)
{
	Rtl__Frame *frame = NULL;

	assert_int_equal(fake_receive(shim, FAKE_WAIT_MS, &frame), 0);
	if (frame->body_case == RTL__FRAME__BODY_REFUSAL)
		fail_msg("refused: %.*s", (int)frame->refusal->text.len,
			(char *)frame->refusal->text.data);
	assert_int_equal(frame->body_case, body);
	return frame;
}

uint64_t daemon_welcome(struct fake_shim *shim, const char *path)
{
	assert_int_equal(fake_shim_connect(shim, path), 0);
	assert_int_equal(fake_shim_send_hello(shim, 1), 0);
	return expect(shim, RTL__FRAME__BODY_WELCOME)->welcome->last_frame;
}

uint64_t daemon_welcome_child(struct fake_shim *shim, const char *path)
{
	assert_int_equal(fake_shim_connect_child(shim, path), 0);
	assert_int_equal(fake_shim_send_hello(shim, 1), 0);
	return expect(shim, RTL__FRAME__BODY_WELCOME)->welcome->last_frame;
}

void daemon_expect_ack(struct fake_shim *shim, uint64_t number)
{
	uint64_t acked = 0;

	while (acked < number)
		acked = expect(shim, RTL__FRAME__BODY_ACK)->ack->frame;
	assert_int_equal(acked, number);
}

void find_database(const struct place *place, uid_t uid, char ret_path[256])
{
	char pattern[160];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/%u/*.db", place->store, uid);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_int_equal(found.gl_pathc, 1);
	snprintf(ret_path, 256, "%s", found.gl_pathv[0]);
	globfree(&found);
}
