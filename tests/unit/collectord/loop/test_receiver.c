/* SPDX-License-Identifier: MIT */
/*
 * The loop never closes a descriptor that a connection has brought, because its last close may
 * block.
 */
#include "tests/unit/collectord/loop/harness.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collectord/loop/connections/receiver.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"

/* More than one message to a process, or its limit of descriptors, could take. */
#define CONNECTIONS 1500

static void pass(int connection, const void *data, size_t bytes, int flags)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = bytes};
	struct msghdr message = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	CLEANUP(close_p) int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	assert_int_equal(sendmsg(connection, &message, flags | MSG_NOSIGNAL), bytes);
}

SERVER_CASE(a_descriptor_with_an_urgent_byte_is_refused)
{
	Rtl__StatRequest request = RTL__STAT_REQUEST__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;
	struct fake_shim tool;
	uint8_t data[64];
	size_t bytes;

	frame.body_case = RTL__FRAME__BODY_STAT_REQUEST;
	frame.stat_request = &request;
	harness_connect(h, &tool);
	harness_turn(h);
	assert_in_range(msg_packed_bytes(&frame), 2, sizeof(data));
	bytes = msg_pack(&frame, data);
	pass(tool.fd, data, 1, MSG_OOB);
	assert_int_equal(send(tool.fd, data + 1, bytes - 1, MSG_NOSIGNAL), bytes - 1);
	harness_expect_refusal(h, &tool, "only Hello may carry a file descriptor");
	fake_shim_done(&tool);
}

SERVER_CASE(descriptors_of_a_connection_too_many_are_closed_by_another_process)
{
	struct receiver *receiver = &h->server->receiver;
	struct fake_shim tool;

	/* A bucket far below empty: it stays so however long a slow machine takes. */
	h->server->limits.connects =
		(struct peer_bucket){.left = -1e9, .last_ns = clock_monotonic_ns()};
	harness_connect(h, &tool);
	pass(tool.fd, "x", 1, 0);
	fake_shim_hang_up(&tool);
	fake_shim_done(&tool);
	while (!receiver->n_parked && !receiver->closer)
		harness_turn(h);
}

TEST_CASE(all_parked_connections_are_left_to_processes_at_the_end)
{
	struct event_base *base = event_base_new();
	static struct receiver receiver;
	static int connections[CONNECTIONS];
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	receiver_init(&receiver, false);
	assert_int_equal(receiver_watch(&receiver, base), 0);
	for (int i = 0; i < CONNECTIONS; i++) {
		int pair[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
		pass(pair[1], "x", 1, 0);
		close(pair[1]);
		connections[i] = pair[0];
	}
	for (int i = 0; i < CONNECTIONS; i++)
		receiver_drop(&receiver, connections[i]);
	receiver_done(&receiver);
	event_base_free(base);
	for (int i = 0; i < CONNECTIONS; i++)
		assert_int_equal(fcntl(connections[i], F_GETFD), -1);
}
