/* SPDX-License-Identifier: MIT */
#include "collectord/loop/connections/receiver.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectord/channel/passing.h"
#include "collectord/loop/connections/timers.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"
#include "proto/wire/frame.h"

#define PIECE_BYTES   (FRAME_PREFIX_BYTES + HELLO_BYTES_MAX)
/* The process answers without blocking; the limit allows for a machine of CI that stalls. */
#define ANSWER_MS_MAX 5000
/* The process that closes parked connections is killed after this time. */
#define CLOSER_NS_MAX 1000000000u
/* The process ends after this time without a connection to read. */
#define IDLE_NS	      1000000000u
#define TICK_MS	      100
/* Parked connections given to one process: so many fit in any usual limit of descriptors. */
#define CLOSER_MAX    512u

struct question {
	size_t bytes; /* upper bound for the read; 0: close the connection */
};

struct answer {
	ssize_t got; /* number of bytes, or -errno */
	unsigned passed;
	uint8_t data[PIECE_BYTES];
};

/*
 * The seals are checked first: F_GET_SEALS succeeds for shared memory only, so that fstatfs() never
 * reaches a file system that a tenant controls.
 */
const char *receiver_check_memfd(int fd)
{
	const int wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct statfs fs;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & wanted) != wanted)
		return "the recorder is not a sealed memfd";
	if (fstatfs(fd, &fs) < 0 || fs.f_type != TMPFS_MAGIC)
		return "the recorder is not on tmpfs";
	return NULL;
}

/* Sends @data and the descriptor @fd, unless that is -1. */
static ssize_t send_with(int channel, const void *data, size_t bytes, int fd)
{
	struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = bytes};

	return passing_send(channel, &(struct msghdr){.msg_iov = &iov, .msg_iovlen = 1}, fd, 0);
}

/* ---- the process ------------------------------------------------------------------------- */

/*
 * Answers one question. Returns true if the process may go on. A connection that must be closed,
 * and every descriptor that is not a recorder, are closed when the process exits.
 */
static bool answer_one(int channel)
{
	static struct answer answer;
	static int fds[PASSING_MAX];
	struct question question;
	unsigned count;
	int connection, recorder = -1;
	bool is_harmless;

	if (passing_receive(channel, &question, sizeof(question), 0, fds, &count) !=
			(ssize_t)sizeof(question) ||
		count != 1)
		return false;
	if (!question.bytes)
		return true; /* it stays open until the collector has closed its own descriptor,
			      * and then the channel */
	connection = fds[0];
	answer.got = passing_receive(
		connection, answer.data, question.bytes, MSG_DONTWAIT, fds, &answer.passed);
	close(connection); /* the collector still has it open, because it waits for the answer */
	if (answer.passed == 1 && !receiver_check_memfd(fds[0]))
		recorder = fds[0];
	is_harmless = !answer.passed || recorder >= 0;
	if (send_with(channel, &answer,
		    offsetof(struct answer, data) + (answer.got > 0 ? (size_t)answer.got : 0),
		    recorder) < 0 ||
		!is_harmless)
		return false;
	close_p(&recorder);
	return true;
}

/* Drops all descriptors of the collector, so that the process blocks nothing if it never ends. */
static void run(int channel)
{
	if (dup2(channel, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		_exit(1);
	if (close_range(1, ~0u, 0) < 0) /* fails before Linux 5.9 */
		for (int fd = (int)sysconf(_SC_OPEN_MAX); fd > 0; fd--)
			close(fd);
	while (answer_one(0))
		;
	_exit(0);
}

/* ---- the collector ----------------------------------------------------------------------- */

/* Starts a process and opens the channel to it. */
static int start(pid_t *ret_pid, int *ret_channel)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	*ret_pid = fork();
	if (*ret_pid == 0)
		run(pair[1]);
	close(pair[1]);
	if (*ret_pid < 0) {
		int r = -errno;

		close(pair[0]);
		return r;
	}
	*ret_channel = pair[0];
	return 0;
}

static void reap(struct receiver *receiver)
{
	for (unsigned i = 0; i < receiver->n_leaving;) {
		if (waitpid(receiver->leaving[i], NULL, WNOHANG) == 0)
			i++;
		else
			receiver->leaving[i] = receiver->leaving[--receiver->n_leaving];
	}
}

/* Takes no more from this process: it ends, or it hangs closing what it was sent. */
static void leave(struct receiver *receiver)
{
	close(TAKE_FD(receiver->channel));
	receiver->leaving[receiver->n_leaving++] = receiver->pid;
}

/*
 * Gives the parked connections to one new process. The collector closes its own descriptors of them
 * and the channel, so that the process makes the last close.
 */
static void start_closer(struct receiver *receiver)
{
	const struct question question = {0};
	unsigned left = 0;
	int channel;

	if (start(&receiver->closer, &channel) < 0) {
		receiver->closer = 0;
		return;
	}
	for (unsigned i = 0; i < receiver->n_parked; i++) {
		if (left || i == CLOSER_MAX ||
			send_with(channel, &question, sizeof(question), receiver->parked[i]) < 0)
			receiver->parked[left++] = receiver->parked[i];
		else
			close(receiver->parked[i]);
	}
	receiver->n_parked = left;
	receiver->closer_ns = clock_monotonic_ns();
	close(channel);
}

/* Descriptors in a connection that was never read do not keep the process alive past SIGKILL. */
static void watch_closer(struct receiver *receiver)
{
	if (receiver->closer && waitpid(receiver->closer, NULL, WNOHANG) != 0)
		receiver->closer = 0;
	else if (receiver->closer && clock_monotonic_ns() > receiver->closer_ns + CLOSER_NS_MAX)
		kill(receiver->closer, SIGKILL);
	if (!receiver->closer && receiver->n_parked)
		start_closer(receiver);
}

static const struct timeval tick = {.tv_usec = TICK_MS * 1000};

static void go_on(struct receiver *receiver)
{
	reap(receiver);
	watch_closer(receiver);
	if (receiver->channel >= 0 && receiver->n_leaving < RECEIVER_LEAVING_MAX &&
		clock_monotonic_ns() > receiver->used_ns + IDLE_NS)
		leave(receiver);
	if (receiver->closer || receiver->n_parked || receiver->n_leaving || receiver->channel >= 0)
		event_add(receiver->timer, &tick);
}

static void on_tick(evutil_socket_t fd, short what, void *data)
{
	(void)fd;
	(void)what;
	go_on(data);
}

void receiver_init(struct receiver *receiver, bool is_trusting)
{
	*receiver = (struct receiver){.is_trusting = is_trusting, .channel = -1};
}

int receiver_watch(struct receiver *receiver, struct event_base *base)
{
	receiver->timer = evtimer_new(base, on_tick, receiver);
	return receiver->timer ? 0 : -ENOMEM;
}

void receiver_done(struct receiver *receiver)
{
	event_done(receiver->timer);
	/* The parked connections are left to processes that close them. */
	for (unsigned before = UINT_MAX; receiver->n_parked && receiver->n_parked < before;) {
		before = receiver->n_parked;
		start_closer(receiver);
	}
	if (receiver->channel < 0)
		return;
	close(TAKE_FD(receiver->channel));
	(void)waitpid(receiver->pid, NULL, 0);
}

ssize_t receiver_read(int connection, void *at, size_t bytes)
{
	struct iovec iov = {.iov_base = at, .iov_len = bytes};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t got = recvmsg(connection, &message, MSG_PEEK | MSG_DONTWAIT);

	if (got <= 0)
		return got < 0 ? -errno : 0;
	if (message.msg_flags & MSG_CTRUNC)
		return -EBADMSG;
	/* Descriptors that arrive meanwhile come after these bytes, so recv() cannot take them. */
	got = recv(connection, at, (size_t)got, MSG_DONTWAIT);
	return got < 0 ? -errno : got;
}

/* Does in this process what the separate process does otherwise. */
static ssize_t take_here(
	int connection, void *at, size_t bytes, int *ret_recorder, unsigned *ret_passed)
{
	int fds[PASSING_MAX];
	ssize_t got = passing_receive(connection, at, bytes, MSG_DONTWAIT, fds, ret_passed);

	if (*ret_passed == 1 && !receiver_check_memfd(fds[0])) {
		*ret_recorder = fds[0];
		return got;
	}
	passing_close(fds);
	return got;
}

static ssize_t await(struct receiver *receiver, struct answer *answer, int *ret_recorder)
{
	struct pollfd channel = {.fd = receiver->channel, .events = POLLIN};
	int fds[PASSING_MAX];
	unsigned count;
	ssize_t got;

	if (poll(&channel, 1, ANSWER_MS_MAX) != 1)
		return -EIO;
	got = passing_receive(
		receiver->channel, answer, sizeof(*answer), MSG_DONTWAIT, fds, &count);
	if (got < (ssize_t)offsetof(struct answer, data))
		return -EIO;
	*ret_recorder = fds[0];
	return answer->got;
}

ssize_t receiver_take(struct receiver *receiver, int connection, void *at, size_t bytes,
	int *ret_recorder, unsigned *ret_passed)
{
	struct question question = {.bytes = bytes < PIECE_BYTES ? bytes : PIECE_BYTES};
	struct answer answer;
	ssize_t got;

	*ret_recorder = -1;
	*ret_passed = 0;
	if (receiver->is_trusting)
		return take_here(connection, at, bytes, ret_recorder, ret_passed);
	receiver->used_ns = clock_monotonic_ns();
	go_on(receiver);
	if (receiver->n_leaving == RECEIVER_LEAVING_MAX)
		return -EBUSY;
	if (receiver->channel < 0 && start(&receiver->pid, &receiver->channel) < 0)
		return -EIO;
	event_add(receiver->timer, &tick);
	if (send_with(receiver->channel, &question, sizeof(question), connection) < 0)
		got = -EIO;
	else
		got = await(receiver, &answer, ret_recorder);
	if (got == -EIO) {
		kill(receiver->pid, SIGKILL);
		leave(receiver);
		return got;
	}
	if (answer.passed && *ret_recorder < 0)
		leave(receiver);
	*ret_passed = answer.passed;
	if (got > 0)
		memcpy(at, answer.data, (size_t)got);
	return got;
}

/*
 * True if unread descriptors are in the connection; the bytes before them are consumed. The
 * connection is shut down, so no more can arrive.
 */
static bool has_descriptors(int connection)
{
	uint8_t bytes[PIECE_BYTES];
	ssize_t got;

	do {
		got = receiver_read(connection, bytes, sizeof(bytes));
	} while (got > 0);
	return got == -EBADMSG;
}

void receiver_drop(struct receiver *receiver, int connection)
{
	if (receiver->is_trusting || shutdown(connection, SHUT_RDWR) < 0 ||
		!has_descriptors(connection) || receiver->n_parked == RECEIVER_PARKED_MAX) {
		close(connection);
		return;
	}
	receiver->parked[receiver->n_parked++] = connection;
	go_on(receiver);
}
