// SPDX-License-Identifier: MIT
/*
 * fuzz.peers, fuzz.sessions: the collector's loop and real sockets, and on the other end up to four
 * peers that send what they like: first frames of every kind with and without a recorder, requests,
 * records, bytes. An input is what they do, one after the other. Behind the loop is a double of the
 * store (peers), or the store and its databases (sessions).
 */
#include <errno.h>
#include <string.h>

#include "proto/base/cleanup.h"
#include "proto/base/limits.h"
#include "tests/fuzz/bench.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/loop.h"
#include "tests/lib/fake_shim.h"
#include "tests/lib/mutate.h"

#define PEERS 4u
#ifdef FUZZ_FAKE_STORE
#define IS_ACKNOWLEDGED false
#else
#define IS_ACKNOWLEDGED true
#endif
/* Behind the job, in the byte of ACT_SHIM. */
#define COMES_AGAIN 4u

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

static int fds[PEERS];
static struct fake_shim shims[PEERS];
static unsigned current, connects;
static bool has_acted[PEERS]; /* its process may have said anything */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	loop_init();
	return 0;
}

/* ---- the peers ------------------------------------------------------------------------------ */

/* Reads the replies, which must be valid frames whatever was sent. Returns a bit for each kind. */
static uint64_t read_replies(unsigned peer)
{
	Rtl__Frame *frame = NULL;
	uint64_t kinds = 0;

	if (fds[peer] < 0)
		return 0;
	shims[peer].fd = fds[peer];
	for (;;) {
		int r = fake_receive(&shims[peer], 0, &frame);

		if (r < 0) {
			FUZZ_MUST(r == -ETIMEDOUT || r == -ECONNRESET);
			break;
		}
		kinds |= 1ull << (frame->body_case & 63);
	}
	shims[peer].fd = -1;
	return kinds;
}

static void disconnect(unsigned peer)
{
	(void)read_replies(peer);
	close_p(&fds[peer]);
	fds[peer] = -1;
	shims[peer].reader.fill = 0;
}

static int connect_one(void)
{
	connects++;
	return loop_connect();
}

static void connect_current(void)
{
	disconnect(current);
	fds[current] = connect_one();
}

/* A peer that connects more often is disconnected or not, which depends on time. */
static bool may_connect(void)
{
	return connects <= CONNECTS_BURST_MAX;
}

static void say_hello(struct fake_shim *shim)
{
	int r = fake_shim_send_hello(shim, 1);

	FUZZ_MUST(r == 0 || !may_connect());
}

/* The same process on another connection, before the first one is closed: that one's end is not
 * its. */
static void come_again(struct fake_shim *shim)
{
	int first = fds[current];
	uint64_t kinds;

	(void)read_replies(current);
	shim->reader.fill = 0;
	shim->cursor = 0;
	fds[current] = shim->fd = connect_one();
	say_hello(shim);
	loop_settle();
	kinds = read_replies(current);
	close(first);
	loop_turn();
	shim->fd = fds[current];
	(void)fake_shim_define(shim);
	(void)fake_shim_dispatch(shim, 3, false);
	loop_settle();
	if (kinds & 1ull << RTL__FRAME__BODY_WELCOME && !has_acted[current] && IS_ACKNOWLEDGED &&
		may_connect())
		FUZZ_MUST(read_replies(current) & 1ull << RTL__FRAME__BODY_ACK);
	shim->fd = -1;
}

/* A shim that does as it should, so that what follows finds a session open. */
static void be_shim(struct tape *tape)
{
	static const char *const jobs[] = {NULL, "one", "two", "../\x1b[31m"};
	uint64_t how = tape_number(tape, 1);
	struct fake_shim *shim = &shims[current];

	shim->job = jobs[how % 4];
	connect_current();
	shim->fd = fds[current];
	shim->next = 1;
	say_hello(shim);
	(void)fake_shim_define(shim);
	loop_turn();
	(void)fake_shim_dispatch(shim, 3, false);
	shim->fd = -1;
	loop_turn();
	if (how & COMES_AGAIN)
		come_again(shim);
	has_acted[current] = true;
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
		has_acted[current] = true;
		bytes = tape_bytes(tape, (size_t)tape_number(tape, 2), &n);
		if (fds[current] < 0)
			connect_current();
		if (action == ACT_RAW)
			loop_send(fds[current], bytes, n, -1);
		else
			loop_send_frame(fds[current], bytes, n,
				action == ACT_HELLO ? shims[current].memfd : -1);
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
		loop_settle();
		break;
	case ACT_SHIM:
		be_shim(tape);
		break;
	default:
		loop_turn();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct tape tape = {data, bytes};

	for (unsigned i = 0; i < PEERS; i++) {
		fds[i] = -1;
		has_acted[i] = false;
		FUZZ_MUST(fake_shim_init(&shims[i], NULL) == 0);
		/* Else no two runs would be the same. */
		memset(shims[i].recorder->token, (int)i + 1, 16);
	}
	current = connects = 0;
	loop_start();
	while (tape.left)
		act(&tape);
	loop_settle();
	for (unsigned i = 0; i < PEERS; i++)
		disconnect(i);
	loop_turn();
	loop_stop();
	for (unsigned i = 0; i < PEERS; i++)
		fake_shim_done(&shims[i]);
	return 0;
}

/* Mutates one of the frames in the input, or the input. */
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
