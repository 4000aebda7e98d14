// SPDX-License-Identifier: MIT
/*
 * hostile-mutants SOCKET SEEDS COUNT SEED: processes that greet as they should (mostly), then send
 * COUNT frames of SEEDS (u8 field of Frame, u32 length, body) made worse: fields, numbers, types
 * and lengths changed, sequences that jump, go back and repeat, second Hellos, wrong lengths of
 * frames. A closed peer reconnects; some die, and their recorders are read. Says what became of it.
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "proto/base/limits.h"
#include "tests/lib/fake_shim.h"
#include "tests/lib/mutate.h"

#define LIVES	  4u
#define BURST_MAX 8u /* few: what comes behind a refused frame is not read */
#define SEEDS_MAX 4096u
#define DEATHS	  64u /* one of so many connections ends with its process */
/* Long, since only a failure waits it out, and 128 such connections make sessions of one store. */
#define ANSWER_MS (10 * FAKE_WAIT_MS)

struct seed {
	unsigned field;
	size_t bytes;
	uint8_t *body;
};

static struct seed seeds[SEEDS_MAX];
static unsigned n_seeds;
static uint64_t random_state;
static uint64_t sent, welcomed, refused, died;
static uint8_t burst[BURST_MAX * (MUTATE_BYTES_MAX + FRAME_PREFIX_BYTES)];

static unsigned one_of(unsigned count)
{
	return (unsigned)mutate_below(&random_state, count);
}

static void read_seeds(const char *path)
{
	FILE *file = fopen(path, "re");
	uint32_t bytes;
	int field;

	if (!file)
		err(1, "%s", path);
	while (n_seeds < SEEDS_MAX && (field = fgetc(file)) != EOF &&
		fread(&bytes, sizeof(bytes), 1, file) == 1) {
		uint8_t *body = malloc(bytes + 1u);

		if (!body || fread(body, 1, bytes, file) != bytes)
			errx(1, "%s: cut", path);
		seeds[n_seeds++] = (struct seed){(unsigned)field, bytes, body};
	}
	fclose(file);
	if (!n_seeds)
		errx(1, "%s: empty", path);
}

static size_t put_varint(uint8_t *at, uint64_t value)
{
	size_t n = 0;

	for (; value > 0x7f; value >>= 7)
		at[n++] = (uint8_t)(value | 0x80);
	at[n++] = (uint8_t)value;
	return n;
}

/* The next number mostly; else one that repeats, jumps, goes back. */
static uint64_t choose_number(uint64_t next)
{
	switch (one_of(16)) {
	case 0:
		return next - 1;
	case 1:
		return next + 1;
	case 2:
		return mutate_random(&random_state);
	case 3:
		return 0;
	default:
		return next;
	}
}

/* To @frame, with its prefix; how many bytes. */
static size_t make_frame(uint8_t *frame, uint64_t next)
{
	const struct seed *seed = &seeds[one_of(n_seeds)];
	uint8_t *at = frame + FRAME_PREFIX_BYTES;
	size_t n = 0;

	if (one_of(8)) {
		at[n++] = 1 << 3;
		n += put_varint(at + n, choose_number(next));
	}
	n += put_varint(at + n, seed->field << 3 | 2);
	n += put_varint(at + n, seed->bytes);
	if (seed->bytes < MUTATE_BYTES_MAX - 64)
		memcpy(at + n, seed->body, seed->bytes);
	n += seed->bytes < MUTATE_BYTES_MAX - 64 ? seed->bytes : 0;
	for (unsigned times = one_of(4); times--;)
		n = mutate_message(at, n, MUTATE_BYTES_MAX, &random_state);
	if (!n)
		at[n++] = 0;
	frame_put_length(frame, one_of(256) ? (uint32_t)n : (uint32_t)mutate_random(&random_state));
	return FRAME_PREFIX_BYTES + n;
}

/* False: the connection is closed. */
static bool read_replies(struct fake_shim *shim)
{
	Rtl__Frame *reply = NULL;

	for (;;) {
		int r = fake_receive(shim, 0, &reply);

		if (r == -ETIMEDOUT)
			return true;
		if (r == -ECONNRESET)
			return false;
		if (r < 0)
			errx(1, "the collector sent what is no frame: %s", strerror(-r));
		if (reply->body_case == RTL__FRAME__BODY_REFUSAL) {
			refused++;
			return false;
		}
		if (reply->body_case == RTL__FRAME__BODY_ACK)
			shim->next = reply->ack->frame + 1;
	}
}

static void patient(int fd)
{
	struct timeval wait = {.tv_sec = FAKE_WAIT_MS / 1000};

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
}

/* A process of its own that has said Hello. False: refused; then it is to be tried again. */
static bool greet(struct fake_shim *shim, const char *path)
{
	Rtl__Frame *reply = NULL;
	int r;

	if (!shim->child || !one_of(DEATHS)) {
		died += shim->child != 0;
		fake_shim_done(shim);
		if (fake_shim_init(shim, "mutants") < 0)
			errx(1, "no recorder");
		shim->rank = one_of(4) ? (int64_t)one_of(8) : -1;
		r = fake_shim_connect_child(shim, path);
	} else {
		r = fake_shim_reconnect_child(shim);
	}
	if (r < 0)
		errx(1, "no connection: %s", strerror(-r));
	patient(shim->fd);
	shim->next = 1;
	/* Without the one descriptor, or with more, it is refused. */
	if (fake_shim_send_hello(shim, one_of(32) ? 1 : one_of(4)) < 0)
		return false;
	r = fake_receive(shim, ANSWER_MS, &reply);
	if (r == -ETIMEDOUT)
		errx(1, "a Hello has no answer");
	if (r < 0 || reply->body_case != RTL__FRAME__BODY_WELCOME) {
		refused++;
		fake_shim_hang_up(shim);
		/* Its session was closed, or it was taken for ended: another one takes its place.
		 */
		fake_shim_done(shim);
		*shim = (struct fake_shim){.fd = -1, .memfd = -1, .control = -1};
		return false;
	}
	welcomed++;
	shim->next = reply->welcome->last_frame + 1;
	if (one_of(4))
		(void)fake_shim_define(shim);
	return true;
}

static void send_burst(struct fake_shim *shim)
{
	unsigned count = 1 + one_of(BURST_MAX);
	size_t n = 0;

	for (unsigned i = 0; i < count; i++)
		n += make_frame(burst + n, shim->next + i);
	sent += count;
	/* What was said before it was closed is there to be read. */
	(void)fake_send_bytes(shim->fd, burst, n);
	if (!read_replies(shim))
		fake_shim_hang_up(shim);
}

/* As whatever it likes: first frames that are no Hello, requests. */
static void be_tool(const char *path)
{
	struct fake_shim tool = {.fd = fake_connect(path), .memfd = -1, .control = -1};

	if (tool.fd < 0)
		errx(1, "no connection: %s", strerror(-tool.fd));
	patient(tool.fd);
	frame_reader_init(&tool.reader, REPLY_BYTES_MAX);
	msg_arena_init(&tool.arena, ARENA_BYTES_MAX);
	send_burst(&tool);
	fake_shim_done(&tool);
}

int main(int argc, char **argv)
{
	static struct fake_shim lives[LIVES];
	uint64_t count;

	if (argc != 5)
		errx(2, "usage: hostile-mutants SOCKET SEEDS COUNT SEED");
	read_seeds(argv[2]);
	count = strtoull(argv[3], NULL, 10);
	random_state = strtoull(argv[4], NULL, 10) * 0x9e3779b97f4a7c15ull | 1;
	for (unsigned i = 0; i < LIVES; i++)
		lives[i] = (struct fake_shim){.fd = -1, .memfd = -1, .control = -1};
	while (sent < count) {
		struct fake_shim *shim = &lives[one_of(LIVES)];

		if (!one_of(16))
			be_tool(argv[1]);
		else if (shim->fd >= 0 || greet(shim, argv[1]))
			send_burst(shim);
	}
	for (unsigned i = 0; i < LIVES; i++)
		fake_shim_done(&lives[i]);
	printf("sent=%llu welcomed=%llu refused=%llu died=%llu\n", (unsigned long long)sent,
		(unsigned long long)welcomed, (unsigned long long)refused,
		(unsigned long long)died);
	return 0;
}
