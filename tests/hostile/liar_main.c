// SPDX-License-Identifier: MIT
/*
 * Ranks with a recorder that lies: `liar SOCKET LIE RANK [PROCESSES]`. It says Hello as every shim
 * does, prints "welcomed", and stands still until it is killed; then the collector reads what it
 * left. "none" tells no lie: so many honest idle processes. `liar --list` prints the lies.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "proto/wire/frame.h"
#include "proto/wire/msg.h"
#include "shim/send/hello.h"
#include "tests/hostile/lies.h"

#define DEADLINE_S 900

static void require(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "liar: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int collector_connect(const char *path)
{
	const struct timeval deadline = {.tv_sec = DEADLINE_S};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	require(strlen(path) < sizeof(address.sun_path), "a shorter path");
	memcpy(address.sun_path, path, strlen(path));
	require(fd >= 0 && !connect(fd, (struct sockaddr *)&address, sizeof(address)), "connect");
	require(!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof(deadline)), "deadline");
	return fd;
}

static void send_hello(int fd, const struct hello *hello, int memfd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	size_t bytes = 0;
	uint8_t *frame = hello_encode(hello, &bytes);
	struct iovec iov = {.iov_base = frame, .iov_len = bytes};
	struct msghdr message = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	require(frame, "a Hello");
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &memfd, sizeof(memfd));
	require(sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)bytes, "send");
	free(frame);
}

/* False: refused. */
static bool await_welcome(int fd)
{
	struct msg_arena arena;
	uint8_t prefix[FRAME_PREFIX_BYTES], body[4096];
	Rtl__Frame *frame;
	uint32_t bytes;

	msg_arena_init(&arena, ARENA_BYTES_MAX);
	require(recv(fd, prefix, sizeof(prefix), MSG_WAITALL) == sizeof(prefix), "an answer");
	bytes = frame_get_length(prefix);
	require(bytes <= sizeof(body) && recv(fd, body, bytes, MSG_WAITALL) == (ssize_t)bytes,
		"a whole answer");
	require(msg_unpack(&arena, body, bytes, &frame) == 0, "an answer that makes sense");
	if (frame->body_case == RTL__FRAME__BODY_REFUSAL)
		fprintf(stderr, "liar: %.*s\n", (int)frame->refusal->text.len,
			(char *)frame->refusal->text.data);
	return frame->body_case == RTL__FRAME__BODY_WELCOME;
}

/* One rank, until it is killed. */
static void tell(const char *path, const struct lie *lie, uint32_t number)
{
	struct identity identity = {0};
	struct rank_info rank = {0};
	struct agents agents = {.count = LIE_GPUS};
	struct recorder_identity named = {0};
	struct recorder recorder;
	struct hello hello = {.identity = &identity,
		.rank = &rank,
		.agents = &agents,
		.mode = "standard",
		.front_end = "none",
		.runtime = "a liar"};
	int fd;

	require(identity_read(&identity) == 0, "our identity cannot be read");
	memcpy(named.boot_id, identity.boot_id, sizeof(named.boot_id));
	memcpy(named.token, identity.token, sizeof(named.token));
	named.pid = identity.pid;
	named.start_time = identity.start_time;
	require(recorder_create(&named, &recorder) == 0, "a recorder");
	rank_detect((const char *const *)environ, &rank);
	rank.rank = (struct rank_number){true, number};
	for (uint32_t i = 0; i < LIE_GPUS; i++)
		agents.gpu[i] = (struct agent){.gpu_id = i, .tick_hz = 1000000000, .gfx = "gfx90a"};
	hello.recorder_bytes = recorder.bytes;
	if (lie->before)
		lie->before(&recorder);
	fd = collector_connect(path);
	send_hello(fd, &hello, recorder.fd);
	require(await_welcome(fd), "a welcome");
	if (lie->after)
		lie->after(&recorder);
	puts("welcomed");
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	const struct lie *lie = lies;
	unsigned processes = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 1;

	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (; lie->name; lie++)
			printf("%s %s\n", lie->name, lie->found_as);
		return 0;
	}
	require(argc > 3, "SOCKET LIE RANK [PROCESSES]");
	while (lie->name && strcmp(lie->name, argv[2]))
		lie++;
	require(lie->name, "a lie that is known");
	for (unsigned i = 1; i < processes; i++) {
		pid_t parent = getpid(), pid = fork();

		require(pid >= 0, "fork");
		if (pid)
			continue;
		/* They end with us. */
		require(!prctl(PR_SET_PDEATHSIG, SIGKILL) && getppid() == parent, "a parent");
		tell(argv[1], lie, (uint32_t)strtoul(argv[3], NULL, 10) + i);
	}
	tell(argv[1], lie, (uint32_t)strtoul(argv[3], NULL, 10));
}
