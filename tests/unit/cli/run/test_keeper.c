// SPDX-License-Identifier: MIT
/*
 * rtl run as the manager of its collector, where the kernel has no room, and where another process
 * writes to it without end. epoll_ctl() and recvmsg() are ours (see CMakeLists.txt).
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/run/collector/supervisor.h"
#include "tests/lib/test.h"

#define MESSAGES_MAX 64u

static bool has_no_room;
static unsigned messages;
static const char *said; /* the next message, of us; once */
static int said_fd = -1; /* with it */

int __real_epoll_ctl(int epoll_fd, int operation, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll_fd, int operation, int fd, struct epoll_event *event);
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags);

int __wrap_epoll_ctl(int epoll_fd, int operation, int fd, struct epoll_event *event)
{
	if (!has_no_room || operation != EPOLL_CTL_ADD)
		return __real_epoll_ctl(epoll_fd, operation, fd, event);
	errno = ENOSPC;
	return -1;
}

static struct cmsghdr *put_control(
	struct msghdr *message, struct cmsghdr *at, int type, const void *data, size_t bytes)
{
	if (!at) {
		fail_msg("it asks for too little");
		return NULL;
	}
	at->cmsg_level = SOL_SOCKET;
	at->cmsg_type = type;
	at->cmsg_len = CMSG_LEN(bytes);
	memcpy(CMSG_DATA(at), data, bytes);
	return CMSG_NXTHDR(message, at);
}

static ssize_t say(struct msghdr *message)
{
	const struct ucred us = {.pid = getpid(), .uid = geteuid(), .gid = getegid()};
	size_t bytes = strlen(said);
	struct cmsghdr *at;

	memset(message->msg_control, 0, message->msg_controllen);
	memcpy(message->msg_iov->iov_base, said, bytes);
	at = put_control(message, CMSG_FIRSTHDR(message), SCM_CREDENTIALS, &us, sizeof(us));
	if (said_fd >= 0)
		(void)put_control(message, at, SCM_RIGHTS, &said_fd, sizeof(said_fd));
	else
		message->msg_controllen = CMSG_SPACE(sizeof(us));
	said = NULL;
	return (ssize_t)bytes;
}

/* Returns what the test prepared; else an empty message of no sender. There is always one more. */
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags)
{
	(void)fd;
	(void)flags;
	if (said)
		return say(message);
	if (++messages > 100 * MESSAGES_MAX)
		fail_msg("it never ends");
	message->msg_controllen = 0;
	return 0;
}

/* The collector is this program again, which lives until a client connects. */
static int collect(void)
{
	(void)alarm(300);
	return accept(3, NULL, NULL) < 0;
}

static void make(struct run_collector *collector, int listen_fd)
{
	const struct run_spawn spawn = {
		.listen_fd = listen_fd, .log_fd = open("/dev/null", O_RDWR | O_CLOEXEC)};

	*collector = (struct run_collector){.client = {.fd = -1}, .log_fd = spawn.log_fd};
	assert_true(spawn.log_fd >= 0);
	assert_int_equal(
		run_keeper_new(&spawn, "/proc/self/exe", "1", "x.db", false, collector), 0);
}

static void done(struct run_collector *collector)
{
	collector->keeper = run_keeper_free(collector->keeper);
	close(collector->log_fd);
}

/* Listens at an address that the kernel has chosen. */
static int make_listener(struct sockaddr_un *ret, socklen_t *ret_bytes)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	*ret_bytes = sizeof(*ret);
	assert_int_equal(bind(fd, (struct sockaddr *)ret, sizeof(sa_family_t)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)ret, ret_bytes), 0);
	return fd;
}

/* No other collector is started for its file, and no client waits on a socket that only we hold. */
TEST_CASE(a_collector_whose_end_cannot_be_watched_is_not_replaced)
{
	struct run_collector collector;
	struct sockaddr_un address;
	socklen_t bytes;
	int listen_fd = make_listener(&address, &bytes);
	int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

	make(&collector, listen_fd);
	has_no_room = true;
	r = run_keeper_spawn(&collector);
	has_no_room = false;
	assert_int_equal(r, 0);
	assert_true(run_keeper_lives(&collector));
	assert_int_equal(fcntl(listen_fd, F_GETFD), -1);
	/* It was left alive, and it listens now. */
	assert_int_equal(connect(client, (struct sockaddr *)&address, bytes), 0);
	close(client);
	done(&collector);
}

TEST_CASE(a_flood_of_messages_is_read_in_batches)
{
	struct run_collector collector;

	make(&collector, -1);
	messages = 0;
	assert_false(run_keeper_serve(&collector));
	assert_int_equal(messages, MESSAGES_MAX);
	done(&collector);
}

/* Also while only the end is waited for. */
TEST_CASE(a_descriptor_that_is_taken_back_is_closed)
{
	struct run_collector collector;
	int recorder;

	make(&collector, -1);
	assert_int_not_equal(run_keeper_notify_fd(&collector), -1);
	messages = 0;
	recorder = said_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	said = "FDSTORE=1\nFDNAME=recorder-1";
	run_keeper_receive(&collector);
	assert_int_not_equal(fcntl(recorder, F_GETFD), -1);
	said_fd = -1;
	said = "FDSTOREREMOVE=1\nFDNAME=recorder-1";
	run_keeper_receive(&collector);
	assert_int_equal(fcntl(recorder, F_GETFD), -1);
	done(&collector);
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return collect();
	return test_run(NULL, NULL);
}
