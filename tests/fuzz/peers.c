// SPDX-License-Identifier: MIT
/*
 * fuzz.peers, fuzz.sessions: the collector's loop and real sockets, and on the other end up to four
 * peers who say what they like: first frames of every kind with and without a recorder, requests,
 * records, bytes. An input is what they do, one after the other. Behind the loop is the double of
 * tests/unit/server (peers: fast), or the store and its databases (sessions). Everything is new for
 * each input.
 */
#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectord/config.h"
#include "collectord/listen.h"
#include "collectord/server.h"
#include "collectord/store.h"
#include "proto/cleanup.h"
#include "proto/frame.h"
#include "proto/limits.h"
#include "tests/fuzz/bench.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/fake_shim.h"
#include "tests/lib/mutate.h"
#ifdef FUZZ_FAKE_STORE
#include "tests/unit/server/fake_store.h"
#endif

#define PEERS 4u

enum action {
	ACT_FRAME,
	ACT_HELLO,
	ACT_RAW,
	ACT_CONNECT,
	ACT_CLOSE,
	ACT_SELECT,
	ACT_TURN,
	ACT_SETTLE,
	ACT_SHIM,
	ACTIONS
};

static char socket_path[128], store_path[128];
static struct listen_sockets sockets;
static struct server *server;
static struct store *store;
static int fds[PEERS];
static struct fake_shim shims[PEERS];
static unsigned current;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	pid_t pid = 0;

	(void)argc;
	(void)argv;
	snprintf(socket_path, sizeof(socket_path), "%s/s", fuzz_folder());
	snprintf(store_path, sizeof(store_path), "%s/store", fuzz_folder());
	sockets.lock.fd = -1;
	FUZZ_MUST(listen_bind(&sockets, socket_path, false, &pid) == 0);
	return 0;
}

/* ---- the collector -------------------------------------------------------------------------- */

#ifndef FUZZ_FAKE_STORE
static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}
#endif

static void turn(void)
{
	event_base_loop(server->base, EVLOOP_NONBLOCK);
}

static void mark_done(struct flush_ticket *ticket, int error)
{
	(void)error;
	*(bool *)ticket->data = true;
}

/* Until the store has answered all that was asked of it. */
static void settle(void)
{
	bool is_done = false;
	struct flush_ticket ticket = {.done = mark_done, .data = &is_done};

	turn();
	FUZZ_MUST(store_flush(store, STORE_EVERYBODY, &ticket) == 0);
	while (!is_done)
		event_base_loop(server->base, EVLOOP_ONCE);
	turn();
}

static void start(const struct config *config)
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
	FUZZ_MUST(server_new(config, &sockets, store, &server) == 0);
	while (server->is_recovering)
		event_base_loop(server->base, EVLOOP_ONCE);
}

static void stop(void)
{
	server = server_free(server);
#ifdef FUZZ_FAKE_STORE
	store = fake_store_free(store);
#else
	store = store_free(store);
	FUZZ_MUST(nftw(store_path, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0);
#endif
}

/* ---- the peers ------------------------------------------------------------------------------ */

/* What comes back is a frame of ours, whatever was sent. */
static void read_replies(unsigned peer)
{
	Rtl__Frame *frame = NULL;

	if (fds[peer] < 0)
		return;
	shims[peer].fd = fds[peer];
	for (;;) {
		int r = fake_receive(&shims[peer], 0, &frame);

		if (r < 0) {
			FUZZ_MUST(r == -ETIMEDOUT || r == -ECONNRESET);
			break;
		}
	}
	shims[peer].fd = -1;
}

static void disconnect(unsigned peer)
{
	read_replies(peer);
	close_p(&fds[peer]);
	fds[peer] = -1;
	shims[peer].reader.fill = 0;
}

static void connect_current(void)
{
	disconnect(current);
	fds[current] = fake_connect(socket_path);
	FUZZ_MUST(fds[current] >= 0);
	turn();
}

/* Never waits: a peer that sends more than is read is not what is tried here. */
static void send_some(const uint8_t *bytes, size_t n, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = n};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fds[current] < 0)
		connect_current();
	if (fd >= 0) {
		struct cmsghdr *c;

		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		c = CMSG_FIRSTHDR(&message);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	(void)!sendmsg(fds[current], &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	turn();
}

static void send_frame(const uint8_t *frame, size_t n, int fd)
{
	uint8_t *bytes = malloc(n + FRAME_PREFIX_BYTES);

	FUZZ_MUST(bytes);
	frame_put_length(bytes, (uint32_t)n);
	memcpy(bytes + FRAME_PREFIX_BYTES, frame, n);
	send_some(bytes, n + FRAME_PREFIX_BYTES, fd);
	free(bytes);
}

/* A shim that does as it should, so that what follows finds a session open. */
static void be_shim(struct tape *tape)
{
	static const char *const jobs[] = {NULL, "one", "two", "../\x1b[31m"};
	struct fake_shim *shim = &shims[current];

	shim->job = jobs[tape_number(tape, 1) % 4];
	connect_current();
	shim->fd = fds[current];
	shim->next = 1;
	FUZZ_MUST(fake_shim_send_hello(shim, 1) == 0);
	(void)fake_shim_define(shim);
	turn();
	(void)fake_shim_dispatch(shim, 3, false);
	shim->fd = -1;
	turn();
}

static void act(struct tape *tape)
{
	unsigned action = (unsigned)tape_number(tape, 1) % ACTIONS;
	const uint8_t *bytes;
	size_t n = 0;

	switch (action) {
	case ACT_FRAME:
	case ACT_HELLO:
	case ACT_RAW:
		bytes = tape_bytes(tape, (size_t)tape_number(tape, 2), &n);
		if (action == ACT_RAW)
			send_some(bytes, n, -1);
		else
			send_frame(bytes, n, action == ACT_HELLO ? shims[current].memfd : -1);
		break;
	case ACT_CONNECT:
		connect_current();
		break;
	case ACT_CLOSE:
		disconnect(current);
		break;
	case ACT_SELECT:
		current = (unsigned)tape_number(tape, 1) % PEERS;
		break;
	case ACT_SETTLE:
		settle();
		break;
	case ACT_SHIM:
		be_shim(tape);
		break;
	default:
		turn();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct config config = {.store_path = store_path, .db_dir = store_path};
	struct tape tape = {data, bytes};

	for (unsigned i = 0; i < PEERS; i++) {
		fds[i] = -1;
		FUZZ_MUST(fake_shim_init(&shims[i], NULL) == 0);
		/* Else no two runs would be the same. */
		memset(shims[i].recorder->token, (int)i + 1, 16);
	}
	current = 0;
	start(&config);
	while (tape.left)
		act(&tape);
	settle();
	for (unsigned i = 0; i < PEERS; i++)
		disconnect(i);
	turn();
	stop();
	for (unsigned i = 0; i < PEERS; i++)
		fake_shim_done(&shims[i]);
	return 0;
}

/* Of one of the frames in the input, or of the input. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t room, unsigned seed)
{
	uint64_t random = seed * 0x9e3779b97f4a7c15ull | 1;
	size_t at = 0;

	if (mutate_below(&random, 3) == 0)
		return LLVMFuzzerMutate(data, bytes, room);
	while (at + 3 < bytes) {
		unsigned action = data[at] % ACTIONS;
		size_t n = (size_t)data[at + 1] | (size_t)data[at + 2] << 8, rest, new_n;

		if (action > ACT_RAW) {
			at += action == ACT_SELECT || action == ACT_SHIM ? 2 : 1;
			continue;
		}
		at += 3;
		if (n > bytes - at)
			n = bytes - at;
		if (n > 0 && mutate_below(&random, 2)) {
			uint8_t frame[MUTATE_BYTES_MAX], tail[MUTATE_BYTES_MAX];
			size_t limit = room - bytes + n < 16384 ? room - bytes + n : 16384;

			rest = bytes - at - n;
			if (n > limit || rest > sizeof(tail))
				break;
			memcpy(frame, data + at, n);
			memcpy(tail, data + at + n, rest);
			new_n = mutate_message(frame, n, limit, &random);
			memcpy(data + at, frame, new_n);
			memcpy(data + at + new_n, tail, rest);
			data[at - 2] = (uint8_t)new_n;
			data[at - 1] = (uint8_t)(new_n >> 8);
			return at + new_n + rest;
		}
		at += n;
	}
	return LLVMFuzzerMutate(data, bytes, room);
}
