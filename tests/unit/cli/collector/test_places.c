// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/collector/client.h"
#include "cli/collector/places.h"
#include "proto/base/cleanup.h"
#include "tests/lib/test.h"

static char folder[64];

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/rtl-places-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	unsetenv("RTL_SOCKET");
	return setenv("XDG_RUNTIME_DIR", folder, 1);
}

static int remove_folder(void **state)
{
	char path[256];

	(void)state;
	snprintf(path, sizeof(path), "%s/rtl/a.sock", folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/rtl", folder);
	rmdir(path);
	return rmdir(folder);
}

TEST_CASE(names_are_clean_and_differ_when_their_texts_do)
{
	char first[PLACES_NAME_BYTES], second[PLACES_NAME_BYTES], text[400];

	places_session_name("train-4711", first);
	assert_string_equal(first, "train-4711");
	places_session_name("a/b", first);
	places_session_name("a:b", second);
	assert_string_not_equal(first, second);
	assert_null(strchr(first, '/'));
	places_session_name("../../etc", first);
	assert_int_not_equal(first[0], '.');
	assert_null(strchr(first, '/'));
	places_session_name("", first);
	assert_true(strlen(first) > 0);
	memset(text, 'x', sizeof(text));
	text[399] = '\0';
	places_session_name(text, first);
	text[398] = '\0';
	places_session_name(text, second);
	assert_true(strlen(first) < PLACES_NAME_BYTES);
	assert_string_not_equal(first, second);
}

#define CASE(claim) TEST_CASE_BETWEEN(claim, make_folder, remove_folder)

CASE(the_folder_is_made_for_its_owner_alone)
{
	char path[PATH_MAX];
	struct stat st;

	assert_int_equal(places_runtime_dir(true, path), 0);
	assert_int_equal(strncmp(path, folder, strlen(folder)), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(places_runtime_dir(false, path), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
}

CASE(a_folder_that_others_can_write_is_not_used)
{
	char path[PATH_MAX], other[PATH_MAX];

	assert_int_equal(places_runtime_dir(true, path), 0);
	assert_int_equal(chmod(path, 0777), 0);
	(void)places_runtime_dir(false, other); /* whatever the one in /tmp is */
	assert_string_not_equal(other, path);
}

CASE(a_path_too_long_for_a_socket_is_not_used)
{
	char deep[200], path[PLACES_SOCKET_BYTES];

	snprintf(deep, sizeof(deep), "%s/%0100d", folder, 0);
	assert_int_equal(mkdir(deep, 0700), 0);
	setenv("XDG_RUNTIME_DIR", deep, 1);
	if (places_session_socket("s", false, path) == 0)
		assert_int_equal(strncmp(path, "/tmp/rtl-", 9), 0);
	assert_int_equal(rmdir(deep), 0);
}

CASE(explicit_sockets_stand_alone)
{
	char **paths;

	assert_int_equal(places_sockets("/a.sock", &paths), 0);
	assert_string_equal(paths[0], "/a.sock");
	assert_null(paths[1]);
	places_sockets_free(paths);

	setenv("RTL_SOCKET", "/b.sock", 1);
	assert_int_equal(places_sockets(NULL, &paths), 0);
	assert_string_equal(paths[0], "/b.sock");
	assert_null(paths[1]);
	places_sockets_free(paths);
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 4), 0);
	return fd;
}

CASE(one_s_own_collector_is_a_socket_in_one_s_own_folder)
{
	char path[PLACES_SOCKET_BYTES], wanted[PLACES_SOCKET_BYTES];
	char folder_of_it[PATH_MAX];
	int fd;

	assert_int_equal(places_runtime_dir(true, folder_of_it), 0);
	assert_int_equal(places_session_socket("collectord", true, wanted), 0);
	/* There may be one in /tmp. */
	if (places_own_socket(path))
		assert_string_not_equal(path, wanted);
	fd = listen_at(wanted);
	assert_true(places_own_socket(path));
	assert_string_equal(path, wanted);
	assert_int_equal(chmod(folder_of_it, 0777), 0);
	if (places_own_socket(path))
		assert_string_not_equal(path, wanted);
	close(fd);
	assert_int_equal(unlink(wanted), 0);
}

CASE(private_sockets_come_before_the_system_one)
{
	char path[PLACES_SOCKET_BYTES];
	size_t ours = SIZE_MAX, system = SIZE_MAX;
	CLEANUP(close_p) int fd = -1;
	char **paths;

	assert_int_equal(places_session_socket("a", true, path), 0);
	fd = listen_at(path);
	assert_int_equal(places_sockets(NULL, &paths), 0);
	for (size_t i = 0; paths[i]; i++) {
		if (!strcmp(paths[i], path))
			ours = i;
		if (!strcmp(paths[i], PLACES_SYSTEM_SOCKET))
			system = i;
	}
	assert_true(ours < system && system != SIZE_MAX);
	places_sockets_free(paths);
}

CASE(a_listener_has_pid_and_uid_and_a_dead_socket_refuses)
{
	char path[PLACES_SOCKET_BYTES];
	struct client client;
	int fd;

	assert_int_equal(places_session_socket("a", true, path), 0);
	assert_int_equal(client_connect(&client, path), -ENOENT);
	fd = listen_at(path);
	assert_int_equal(client_connect(&client, path), 0);
	assert_int_equal(client.pid, getpid());
	assert_int_equal(client.uid, geteuid());
	client_close(&client);
	close(fd);
	assert_int_equal(client_connect(&client, path), -ECONNREFUSED);
	client_close(&client);
}

CASE(a_mute_or_broken_collector_is_noticed)
{
	static const uint8_t garbage[] = {3, 0, 0, 0, 0xff, 0xff, 0xff};
	static const uint8_t huge[] = {0xff, 0xff, 0xff, 0x7f};
	char path[PLACES_SOCKET_BYTES];
	CLEANUP(close_p) int fd = -1;
	struct client client;
	Rtl__Frame *frame;
	int peer;

	assert_int_equal(places_session_socket("a", true, path), 0);
	fd = listen_at(path);
	assert_int_equal(client_connect(&client, path), 0);
	peer = accept(fd, NULL, NULL);
	assert_int_equal(client_receive(&client, 0, &frame), -ETIMEDOUT);
	assert_int_equal(write(peer, garbage, sizeof(garbage)), sizeof(garbage));
	assert_int_equal(client_receive(&client, 10000, &frame), -EBADMSG);
	assert_int_equal(write(peer, huge, sizeof(huge)), sizeof(huge));
	assert_int_equal(client_receive(&client, 10000, &frame), -EMSGSIZE);
	client_close(&client);
	close(peer);

	assert_int_equal(client_connect(&client, path), 0);
	peer = accept(fd, NULL, NULL);
	close(peer);
	assert_int_equal(client_receive(&client, 10000, &frame), -ECONNRESET);
	client_close(&client);
}
