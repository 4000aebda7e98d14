// SPDX-License-Identifier: MIT
/* The service manager keeps recorders for a next collector: it answers, is busy, is gone, or was
 * never there. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "collectord/service/notify.h"
#include "tests/lib/test.h"

struct keeper {
	char directory[32];
	struct sockaddr_un address;
	int fd;
};

static int setup(void **state)
{
	struct keeper *k = calloc(1, sizeof(*k));

	*state = k;
	if (!k)
		return -1;
	strcpy(k->directory, "/tmp/rtl-notify-XXXXXX");
	if (!mkdtemp(k->directory))
		return -1;
	k->address.sun_family = AF_UNIX;
	snprintf(k->address.sun_path, sizeof(k->address.sun_path), "%s/socket", k->directory);
	k->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	setenv("NOTIFY_SOCKET", k->address.sun_path, 1);
	return bind(k->fd, (struct sockaddr *)&k->address, sizeof(k->address));
}

static int teardown(void **state)
{
	struct keeper *k = *state;

	close(k->fd);
	unlink(k->address.sun_path);
	rmdir(k->directory);
	unsetenv("NOTIFY_SOCKET");
	free(k);
	return 0;
}

#define CASE(claim) TEST_CASE_WITH(claim, setup, teardown, struct keeper *k)

CASE(what_is_heard_is_kept)
{
	char text[200] = "";

	assert_int_equal(notify_keep(STDIN_FILENO, "recorder-1"), 0);
	assert_true(recv(k->fd, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, "FDSTORE=1\nFDNAME=recorder-1");
	assert_int_equal(notify_drop("recorder-1"), 0);
}

CASE(the_manager_is_told)
{
	char text[200] = "";

	notify_ready("listening");
	assert_true(recv(k->fd, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, "READY=1\nSTATUS=listening");
	memset(text, 0, sizeof(text));
	notify_alive();
	assert_true(recv(k->fd, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, "WATCHDOG=1");
	memset(text, 0, sizeof(text));
	notify_stopping();
	assert_true(recv(k->fd, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, "STOPPING=1");
	/* No manager, or an address of a kind that is unknown here. */
	setenv("NOTIFY_SOCKET", "vsock:2:1234", 1);
	notify_alive();
	unsetenv("NOTIFY_SOCKET");
	notify_alive();
	assert_int_equal(recv(k->fd, text, sizeof(text) - 1, MSG_DONTWAIT), -1);
}

CASE(a_watchdog_of_another_pid_is_ignored)
{
	static const char *const wrong[] = {"", "0", "-1", "1x", " 1", "99999999999999999999"};
	char pid[24];

	unsetenv("WATCHDOG_PID");
	unsetenv("WATCHDOG_USEC");
	assert_int_equal(notify_watchdog_us(), 0);
	setenv("WATCHDOG_USEC", "30000000", 1);
	assert_int_equal(notify_watchdog_us(), 30000000);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("WATCHDOG_PID", pid, 1);
	assert_int_equal(notify_watchdog_us(), 30000000);
	setenv("WATCHDOG_PID", "1", 1);
	assert_int_equal(notify_watchdog_us(), 0);
	unsetenv("WATCHDOG_PID");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		setenv("WATCHDOG_USEC", wrong[i], 1);
		assert_int_equal(notify_watchdog_us(), 0);
	}
	unsetenv("WATCHDOG_USEC");
}

CASE(a_busy_keeper_is_asked_again)
{
	int r = 0;

	/* Its socket takes what net.unix.max_dgram_qlen and its buffer say. */
	for (int i = 0; i < 100000 && r == 0; i++)
		r = notify_drop("recorder-1");
	assert_int_equal(r, -EAGAIN);
}

CASE(a_keeper_that_is_gone_keeps_nothing)
{
	close(k->fd);
	k->fd = -1;
	assert_int_equal(notify_keep(STDIN_FILENO, "recorder-1"), -ECONNREFUSED);
	assert_int_equal(notify_drop("recorder-1"), -ECONNREFUSED);
	unlink(k->address.sun_path);
	assert_int_equal(notify_keep(STDIN_FILENO, "recorder-1"), -ENOENT);
	setenv("NOTIFY_SOCKET",
		"/a-path-that-is-longer-than-any-address-of-a-socket-can-be-"
		"a-path-that-is-longer-than-any-address-of-a-socket-can-be",
		1);
	assert_int_equal(notify_keep(STDIN_FILENO, "recorder-1"), -ENAMETOOLONG);
}

CASE(without_a_manager_nothing_is_kept)
{
	unsetenv("NOTIFY_SOCKET");
	assert_int_equal(notify_keep(STDIN_FILENO, "recorder-1"), -ENOTCONN);
	assert_int_equal(notify_drop("recorder-1"), -ENOTCONN);
}
