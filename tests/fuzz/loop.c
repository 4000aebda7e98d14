/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/loop.h"

#include <event2/event.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "collectord/service/config.h"
#include "collectord/service/listen.h"
#include "collectord/loop/server.h"
#include "collectord/store/store.h"
#include "proto/wire/frame.h"
#include "proto/base/limits.h"
#include "tests/fuzz/bench.h"
#include "tests/lib/fake_shim.h"
#ifdef FUZZ_FAKE_STORE
#include "tests/unit/collectord/loop/fake_store.h"
#endif

/* The linker puts it in front of libevent's. */
int __wrap_event_add(struct event *event, const struct timeval *timeout);
int __real_event_add(struct event *event, const struct timeval *timeout);

static char socket_path[128], store_path[128];
static struct listen_sockets sockets;
static struct config config;
static struct server *server;
static struct store *store;

/* A peer is not late because its machine stood still: what takes seconds runs out in no input. */
int __wrap_event_add(struct event *event, const struct timeval *timeout)
{
	static const struct timeval never = {.tv_sec = 1000000};

	return __real_event_add(event, timeout && timeout->tv_sec ? &never : timeout);
}

void loop_init(void)
{
	pid_t pid = 0;

	snprintf(socket_path, sizeof(socket_path), "%s/s", fuzz_folder());
	snprintf(store_path, sizeof(store_path), "%s/store", fuzz_folder());
	sockets.lock.fd = -1;
	FUZZ_MUST(listen_bind(&sockets, socket_path, false, &pid) == 0);
	config.db_dir = config.store_path = store_path;
}

#ifndef FUZZ_FAKE_STORE
static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}
#endif

void loop_turn(void)
{
	event_base_loop(server->base, EVLOOP_NONBLOCK);
}

static void mark_done(struct flush_ticket *ticket, int error)
{
	(void)error;
	*(bool *)ticket->data = true;
}

void loop_settle(void)
{
	bool is_done = false;
	struct flush_ticket ticket = {.done = mark_done, .data = &is_done};

	loop_turn();
	FUZZ_MUST(store_flush(store, STORE_EVERYBODY, &ticket) == 0);
	while (!is_done)
		event_base_loop(server->base, EVLOOP_ONCE);
	loop_turn();
}

void loop_start(void)
{
#ifdef FUZZ_FAKE_STORE
	store = fake_store_new();
#else
	char index_path[160];
	struct store_config store_config = {.index_path = index_path};

	snprintf(index_path, sizeof(index_path), "%s/index.db", store_path);
	FUZZ_MUST(mkdir(store_path, 0755) == 0);
	FUZZ_MUST(store_new(&store_config, &store) == 0);
#endif
	FUZZ_MUST(server_new(&config, &sockets, store, &server) == 0);
	while (server->is_recovering)
		event_base_loop(server->base, EVLOOP_ONCE);
}

void loop_stop(void)
{
	server = server_free(server);
#ifdef FUZZ_FAKE_STORE
	store = fake_store_free(store);
#else
	store = store_free(store);
	FUZZ_MUST(nftw(store_path, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0);
#endif
}

int loop_connect(void)
{
	int fd = fake_connect(socket_path);

	FUZZ_MUST(fd >= 0);
	loop_turn();
	return fd;
}

void loop_send(int fd, const uint8_t *bytes, size_t n, int memfd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = n};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};

	if (memfd >= 0) {
		struct cmsghdr *c;

		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		c = CMSG_FIRSTHDR(&message);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &memfd, sizeof(int));
	}
	(void)!sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	loop_turn();
}

void loop_send_frame(int fd, const uint8_t *frame, size_t n, int memfd)
{
	uint8_t *bytes = malloc(n + FRAME_PREFIX_BYTES);

	FUZZ_MUST(bytes);
	frame_put_length(bytes, (uint32_t)n);
	memcpy(bytes + FRAME_PREFIX_BYTES, frame, n);
	loop_send(fd, bytes, n + FRAME_PREFIX_BYTES, memfd);
	free(bytes);
}
