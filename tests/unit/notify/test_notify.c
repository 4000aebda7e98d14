// SPDX-License-Identifier: MIT
/* Who keeps recorders for a next collector: heard, busy, gone, or never there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "collectord/notify.h"

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

static void what_is_heard_is_kept(void **state)
{
	struct keeper *k = *state;
	char text[200] = "";

	assert_int_equal(notify_keep(STDIN_FILENO, "recorder-1"), 0);
	assert_true(recv(k->fd, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, "FDSTORE=1\nFDNAME=recorder-1");
	assert_int_equal(notify_drop("recorder-1"), 0);
}

static void a_busy_keeper_is_asked_again(void **state)
{
	int r = 0;

	(void)state;
	/* Its socket takes what net.unix.max_dgram_qlen and its buffer say. */
	for (int i = 0; i < 100000 && r == 0; i++)
		r = notify_drop("recorder-1");
	assert_int_equal(r, -EAGAIN);
}

static void a_keeper_that_is_gone_keeps_nothing(void **state)
{
	struct keeper *k = *state;

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

static void nobody_keeps_anything(void **state)
{
	(void)state;
	unsetenv("NOTIFY_SOCKET");
	assert_int_equal(notify_keep(STDIN_FILENO, "recorder-1"), -ENOTCONN);
	assert_int_equal(notify_drop("recorder-1"), -ENOTCONN);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(what_is_heard_is_kept),
		TEST(a_busy_keeper_is_asked_again),
		TEST(a_keeper_that_is_gone_keeps_nothing),
		TEST(nobody_keeps_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
