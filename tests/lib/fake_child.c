/* SPDX-License-Identifier: MIT */
#include "tests/lib/fake_child.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "proto/base/cleanup.h"
#include "proto/base/clock.h"

#define HAND_OVER_NS 300000000000ull

int fake_connect(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	CLEANUP(close_p) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return TAKE_FD(fd);
}

int fake_send_fds(int socket, const void *bytes, size_t n, const int *fds, unsigned n_fds)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * FAKE_FDS_MAX)];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = n};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};

	if (n_fds) {
		struct cmsghdr *c;

		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
		c = CMSG_FIRSTHDR(&message);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * n_fds);
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)n ? 0 : -errno;
}

/* The kernel bounds what a user has on its way: another test of the same uid may have filled that.
 */
static int hand_over(int pair, int fd)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	uint64_t until_ns = clock_monotonic_ns() + HAND_OVER_NS;
	int said = 0, r;

	do
		r = fake_send_fds(pair, &said, sizeof(said), &fd, 1);
	while (r == -ETOOMANYREFS && clock_monotonic_ns() < until_ns && !nanosleep(&pause, NULL));
	return r;
}

/* The child owns nothing but its identity: connect, hand the socket over, wait for the end. Where
 * it has none it says why, and ends. */
static _Noreturn void child_main(const char *path, int pair, uid_t uid)
{
	char byte;
	int fd, said;

	/* Else a test's own ends of connections would stay open here. */
	pair = dup2(pair, 3);
	close_range(4, ~0u, 0);
	if (uid != (uid_t)-1 && (setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0))
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* forgotten by setresuid() */
	do {
		fd = fake_connect(path);
		said = fd < 0 ? fd : hand_over(pair, fd);
		if (said < 0) {
			(void)fake_send_fds(pair, &said, sizeof(said), NULL, 0);
			_exit(1);
		}
		close(fd);
	} while (read(pair, &byte, 1) == 1);
	for (;;)
		pause();
}

/* Receives the child's message; -ECHILD: the child died before it sent any. */
static int receive_fd(int pair)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	int fd, said;
	struct iovec iov = {.iov_base = &said, .iov_len = sizeof(said)};
	struct msghdr message = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	ssize_t n = recvmsg(pair, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c;

	if (n != sizeof(said))
		return n < 0 ? -errno : -ECHILD;
	if (said < 0)
		return said;
	c = CMSG_FIRSTHDR(&message);
	if (!c || c->cmsg_type != SCM_RIGHTS)
		return -EBADMSG;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

int fake_child_start(const char *path, uid_t uid, pid_t *ret_child, int *ret_control)
{
	int pair[2];
	int r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	*ret_child = fork();
	if (*ret_child == 0)
		child_main(path, pair[1], uid);
	r = *ret_child < 0 ? -errno : 0;
	close(pair[1]);
	*ret_control = pair[0];
	return r < 0 ? r : receive_fd(pair[0]);
}

int fake_child_again(int control)
{
	if (send(control, "x", 1, MSG_NOSIGNAL) != 1)
		return -errno;
	return receive_fd(control);
}
