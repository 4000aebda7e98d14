/* SPDX-License-Identifier: MIT */
/* Messages between the processes of the service, and the counters that they share. */
#include "collectord/channel/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectord/channel/ledger.h"
#include "collectord/service/state_dir.h"
#include "collectord/supervisor/limits.h"
#include "tests/lib/test.h"

static ino_t inode_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
}

TEST_CASE(a_message_arrives_whole_with_its_descriptor)
{
	struct channel_message sent = {
		.kind = CHANNEL_KEEP, .owner = 1000, .number = 7, .name = "recorder-1"};
	struct channel_message got;
	int pair[2], fds[2], passed = -1;

	assert_int_equal(channel_pair(pair), 0);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(channel_send(pair[0], &sent, fds[0]), 0);
	assert_int_equal(channel_receive(pair[1], &got, &passed), 1);
	assert_memory_equal(&got, &sent, sizeof(got));
	assert_int_equal(inode_of(passed), inode_of(fds[0]));
	close(passed);
	assert_int_equal(channel_receive(pair[1], &got, &passed), -EAGAIN);
	close(fds[0]);
	close(fds[1]);
	close(pair[0]);
	assert_int_equal(channel_receive(pair[1], &got, &passed), 0);
	assert_int_equal(channel_send(pair[1], &sent, -1), -EPIPE);
	close(pair[1]);
}

/* The kernel may put other data beside a descriptor. */
TEST_CASE(credentials_beside_a_descriptor_are_passed_over)
{
	const struct channel_message sent = {.kind = CHANNEL_READY};
	struct channel_message got;
	int pair[2], fds[2], passed = -1, on = 1;

	assert_int_equal(channel_pair(pair), 0);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
	assert_int_equal(channel_send(pair[0], &sent, fds[0]), 0);
	assert_int_equal(channel_receive(pair[1], &got, &passed), 1);
	assert_int_equal(inode_of(passed), inode_of(fds[0]));
	close(passed);
	assert_int_equal(channel_send(pair[0], &sent, -1), 0);
	assert_int_equal(channel_receive(pair[1], &got, &passed), 1);
	assert_int_equal(passed, -1);
	close(fds[0]);
	close(fds[1]);
	close(pair[0]);
	close(pair[1]);
}

/* The reader of a channel does not trust its writer. */
TEST_CASE(what_is_no_message_is_refused_and_the_next_one_is_heard)
{
	struct channel_message good = {.kind = CHANNEL_READY}, bad = {.kind = CHANNEL_KINDS}, got;
	int pair[2], passed = -1;

	assert_int_equal(channel_pair(pair), 0);
	assert_int_equal(send(pair[0], "short", 5, 0), 5);
	assert_int_equal(channel_receive(pair[1], &got, &passed), -EBADMSG);
	assert_int_equal(channel_send(pair[0], &bad, -1), 0);
	assert_int_equal(channel_receive(pair[1], &got, &passed), -EBADMSG);
	bad.kind = CHANNEL_KEEP;
	memset(bad.name, 'x', sizeof(bad.name));
	assert_int_equal(channel_send(pair[0], &bad, -1), 0);
	assert_int_equal(channel_receive(pair[1], &got, &passed), -EBADMSG);
	assert_int_equal(channel_send(pair[0], &good, -1), 0);
	assert_int_equal(channel_receive(pair[1], &got, &passed), 1);
	assert_int_equal(got.kind, CHANNEL_READY);
	assert_int_equal(passed, -1);
	close(pair[0]);
	close(pair[1]);
}

/* Else the process that writes the channel could fill our table of descriptors. */
TEST_CASE(of_several_descriptors_of_a_message_none_stays_open)
{
	struct channel_message message = {.kind = CHANNEL_READY}, got;
	struct iovec data = {&message, sizeof(message)};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control = {.header = {.cmsg_level = SOL_SOCKET,
			     .cmsg_type = SCM_RIGHTS,
			     .cmsg_len = CMSG_LEN(2 * sizeof(int))}};
	const struct msghdr header = {.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	int pair[2], fds[2], passed = -1;

	assert_int_equal(channel_pair(pair), 0);
	assert_int_equal(pipe(fds), 0);
	memcpy(CMSG_DATA(&control.header), (int[2]){fds[1], fds[1]}, 2 * sizeof(int));
	assert_int_equal(sendmsg(pair[0], &header, 0), sizeof(message));
	assert_int_equal(channel_receive(pair[1], &got, &passed), -EMFILE);
	assert_int_equal(passed, -1);
	close(fds[1]);
	assert_int_equal(read(fds[0], &got, 1), 0); /* no process has the other end of the pipe */
	close(fds[0]);
	close(pair[0]);
	close(pair[1]);
}

TEST_CASE(sending_to_a_full_channel_does_not_block)
{
	const struct channel_message message = {.kind = CHANNEL_CONNECTION};
	int pair[2], r, n = 0;

	assert_int_equal(channel_pair(pair), 0);
	while ((r = channel_send(pair[0], &message, STDIN_FILENO)) == 0)
		n++;
	assert_int_equal(r, -EAGAIN);
	assert_true(n >= 100);
	close(pair[0]);
	close(pair[1]);
}

/* Else tenants whose workers do not read keep every other one's connections from its worker. */
TEST_CASE(full_doors_of_all_workers_stay_within_the_limit_of_their_user)
{
	const struct channel_message message = {.kind = CHANNEL_CONNECTION};
	int pair[2], own[2], n = 0;

	assert_true(WORKERS_MAX * CHANNEL_DOOR_CONNECTIONS < DESCRIPTORS_WANTED);
	assert_int_equal(channel_door(pair), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, own), 0);
	while (channel_send(pair[0], &message, own[0]) == 0)
		n++;
	assert_in_range(n, 8, CHANNEL_DOOR_CONNECTIONS);
	close(own[0]);
	close(own[1]);
	close(pair[0]);
	close(pair[1]);
}

TEST_CASE(what_a_child_writes_into_its_page_all_see)
{
	struct ledger_pages *ledger = ledger_new();
	struct ledger_tenant *first, *second;
	struct ledger_totals totals;
	pid_t pid;

	assert_non_null(ledger);
	first = ledger_find(ledger, 0);
	second = ledger_find(ledger, 1000);
	assert_ptr_not_equal(first, second);
	assert_ptr_equal(ledger_find(ledger, 0), first);
	pid = fork();
	if (pid == 0) {
		atomic_store(&second->sessions, 2);
		atomic_store(&second->connections, 3);
		atomic_store(&second->closed_bytes, 4096);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	atomic_store(&first->sessions, 1);
	totals = ledger_totals(ledger);
	assert_int_equal(totals.sessions, 3);
	assert_int_equal(totals.connections, 3);
	ledger_clear_live(second);
	assert_int_equal(ledger_totals(ledger).sessions, 1);
	assert_int_equal(atomic_load(&second->closed_bytes), 4096); /* its files are still there */
	ledger_free(ledger);
}

TEST_CASE(one_tenant_more_than_there_is_room_for_has_no_page)
{
	struct ledger_pages *ledger = ledger_new();

	assert_non_null(ledger);
	for (unsigned i = 0; i < LEDGER_TENANTS_MAX; i++)
		assert_non_null(ledger_find(ledger, i));
	assert_null(ledger_find(ledger, LEDGER_TENANTS_MAX));
	assert_ptr_equal(ledger_find(ledger, 5), &ledger->tenant[5]);
	ledger_free(ledger);
}

TEST_CASE(a_page_that_is_given_has_nothing_of_its_former_tenant)
{
	struct ledger_pages *ledger = ledger_new();
	struct ledger_tenant *page;

	assert_non_null(ledger);
	for (unsigned i = 0; i < LEDGER_TENANTS_MAX; i++)
		assert_non_null(ledger_find(ledger, i));
	assert_null(ledger_find(ledger, LEDGER_TENANTS_MAX));
	page = ledger_find(ledger, 7);
	atomic_store(&page->sessions, 1);
	atomic_store(&page->closed, 1);
	atomic_store(&page->closed_bytes, 4096);
	ledger_give(page, LEDGER_TENANTS_MAX);
	assert_ptr_equal(ledger_find(ledger, LEDGER_TENANTS_MAX), page);
	assert_null(ledger_find(ledger, 7));
	assert_int_equal(ledger_totals(ledger).sessions, 0);
	assert_int_equal(atomic_load(&page->closed), 0);
	assert_int_equal(atomic_load(&page->closed_bytes), 0);
	ledger_free(ledger);
}
