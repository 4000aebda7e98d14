// SPDX-License-Identifier: MIT
/*
 * fuzz.hello, fuzz.requests: what a connection says first, one message an input.
 *
 * --first=hello: the first byte says what of it is put right behind the rest (the last value of a
 * field counts), so that an input made elsewhere is of this process and machine. The same Hello
 * then opens a process in a real database.
 * --first=request: the first byte says whose (a tool's, a runner's), beside ranks of two jobs.
 * Whatever is asked has an answer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/cleanup.h"
#include "proto/base/limits.h"
#include "tests/fuzz/bench.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/loop.h"
#include "tests/lib/fake_shim.h"

#define FIX_TOKEN   1u
#define FIX_BOOT    2u
#define FIX_BYTES   4u
#define FIX_VERSION 8u
#define NO_FD	    16u

#define FIELD_HELLO 2u
#define ROOM	    (HELLO_BYTES_MAX + 128u)
#define WIRE_VARINT 0u
#define WIRE_BYTES  2u

static bool is_hello, must_take;
static struct bench bench;
static struct fake_shim shim, other; /* of another job: a request sees both */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	for (int i = 1; i < *argc; i++) {
		is_hello |= !strcmp((*argv)[i], "--first=hello");
		must_take |= !strcmp((*argv)[i], "--must-take");
	}
	if (is_hello)
		bench_init(&bench);
	loop_init();
	return 0;
}

static size_t put_varint(uint8_t *at, uint64_t value)
{
	size_t n = 0;

	for (; value > 0x7f; value >>= 7)
		at[n++] = (uint8_t)(value | 0x80);
	at[n++] = (uint8_t)value;
	return n;
}

static size_t put_number(uint8_t *at, unsigned field, uint64_t value)
{
	size_t n = put_varint(at, field << 3 | WIRE_VARINT);

	return n + put_varint(at + n, value);
}

static size_t put_bytes(uint8_t *at, unsigned field, const uint8_t *bytes, size_t count)
{
	size_t n = put_varint(at, field << 3 | WIRE_BYTES);

	n += put_varint(at + n, count);
	memcpy(at + n, bytes, count);
	return n + count;
}

/* Behind the @n bytes of a Hello at @at. */
static size_t put_right(uint8_t *at, size_t n, uint64_t what)
{
	if (what & FIX_VERSION)
		n += put_number(at + n, 1, shim.version_min);
	if (what & FIX_VERSION)
		n += put_number(at + n, 2, shim.version_max);
	if (what & FIX_TOKEN)
		n += put_bytes(at + n, 3, shim.recorder->token, sizeof(shim.recorder->token));
	if (what & FIX_BOOT)
		n += put_bytes(at + n, 4, shim.recorder->boot_id, sizeof(shim.recorder->boot_id));
	if (what & FIX_BYTES)
		n += put_number(at + n, 22, shim.recorder->total_bytes);
	return n;
}

/* Counts the replies, which must be valid frames. *@ret_welcome: one of them was a Welcome. */
static unsigned read_replies(struct fake_shim *peer, bool *ret_welcome)
{
	Rtl__Frame *frame = NULL;
	unsigned count = 0;
	int r;

	while ((r = fake_receive(peer, 0, &frame)) == 0) {
		*ret_welcome |= frame->body_case == RTL__FRAME__BODY_WELCOME;
		count++;
	}
	FUZZ_MUST(r == -ETIMEDOUT || r == -ECONNRESET);
	return count;
}

/* The store takes whatever the loop has let pass. */
static void open_process(const uint8_t *frame, size_t bytes)
{
	Rtl__Frame *unpacked = NULL;

	FUZZ_MUST(writer_begin(bench.writer) == 0);
	FUZZ_MUST(msg_unpack(&bench.arena, frame, bytes, &unpacked) == 0);
	FUZZ_MUST(process_open(bench.writer, bench.session_id, unpacked->hello, 0, 1007, 4242,
			  &bench.process) == 0);
	bench_check(&bench);
	bench_end(&bench);
}

/* Only a peer that has proved its identity is let in. */
static void check_welcomed(const uint8_t *body, size_t n, uint64_t how)
{
	Rtl__Hello *hello = rtl__hello__unpack(NULL, n, body);

	FUZZ_MUST(hello && !(how & NO_FD));
	FUZZ_MUST(hello->token.len == 16 && hello->boot_id.len == 16);
	FUZZ_MUST(!memcmp(hello->token.data, shim.recorder->token, 16));
	FUZZ_MUST(hello->recorder_bytes == shim.recorder->total_bytes);
	FUZZ_MUST(hello->n_gpus <= RECORDER_GPUS);
	rtl__hello__free_unpacked(hello, NULL);
}

static void say_hello(struct tape *tape)
{
	uint8_t body[ROOM], frame[ROOM + 16];
	uint64_t how = tape_number(tape, 1);
	bool is_welcome = false;
	size_t n, bytes;
	const uint8_t *from = tape_bytes(tape, HELLO_BYTES_MAX, &n);

	memcpy(body, from, n);
	n = put_right(body, n, how);
	bytes = put_bytes(frame, FIELD_HELLO, body, n);
	shim.fd = loop_connect();
	loop_send_frame(shim.fd, frame, bytes, how & NO_FD ? -1 : shim.memfd);
	loop_settle();
	FUZZ_MUST(read_replies(&shim, &is_welcome) > 0);
	FUZZ_MUST(is_welcome || !must_take);
	if (!is_welcome)
		return;
	check_welcomed(body, n, how);
	(void)fake_shim_define(&shim);
	(void)fake_shim_dispatch(&shim, 3, false);
	loop_settle();
	open_process(frame, bytes);
}

static void know_control(Rtl__Hello *hello, void *data)
{
	(void)data;
	hello->has_has_control = hello->has_control = true;
}

/* The rank reports that it has applied the control, whatever that was, since the requester waits
 * for that. */
static void say_done(const struct fake_shim *rank)
{
	Rtl__ControlDone done = RTL__CONTROL_DONE__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	done.has_seq = done.has_is_recording = done.has_closed = true;
	done.seq = UINT64_MAX;
	done.is_recording = true;
	frame.body_case = RTL__FRAME__BODY_CONTROL_DONE;
	frame.control_done = &done;
	(void)fake_send(rank->fd, &frame);
}

static void come(struct fake_shim *rank)
{
	bool is_welcome = false;

	rank->fd = loop_connect();
	rank->next = 1;
	rank->edit_hello = know_control;
	FUZZ_MUST(fake_shim_send_hello(rank, 1) == 0);
	(void)fake_shim_define(rank);
	(void)fake_shim_dispatch(rank, 3, false);
	loop_settle();
	FUZZ_MUST(read_replies(rank, &is_welcome) > 0 && is_welcome);
}

static void ask(struct tape *tape)
{
	static const unsigned fields[] = {12, 14, 16, 18, 20, 9, 24};
	struct fake_shim tool = {.memfd = -1, .control = -1};
	uint8_t frame[ROOM];
	unsigned field = fields[tape_number(tape, 1) % (sizeof(fields) / sizeof(*fields))];
	bool is_welcome = false;
	size_t n;
	const uint8_t *from = tape_bytes(tape, REQUEST_BYTES_MAX, &n);

	come(&shim);
	come(&other);
	frame_reader_init(&tool.reader, REPLY_BYTES_MAX);
	msg_arena_init(&tool.arena, ARENA_BYTES_MAX);
	tool.fd = loop_connect();
	loop_send_frame(tool.fd, frame, put_bytes(frame, field, from, n), -1);
	loop_settle();
	say_done(&shim);
	say_done(&other);
	loop_settle();
	FUZZ_MUST(read_replies(&tool, &is_welcome) > 0);
	fake_shim_done(&tool);
}

/* Else no two runs would be the same: @token. */
static void begin(struct fake_shim *rank, const char *job, int token)
{
	FUZZ_MUST(fake_shim_init(rank, job) == 0);
	memset(rank->recorder->token, token, sizeof(rank->recorder->token));
	FUZZ_MUST(fake_shim_keep_hello(rank) == 0); /* sealed, as its process says */
}

static void end(struct fake_shim *rank)
{
	fake_shim_hang_up(rank);
	loop_settle();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct tape tape = {data, bytes};

	begin(&shim, "job", 1);
	if (!is_hello)
		begin(&other, "other", 2);
	loop_start();
	if (is_hello)
		say_hello(&tape);
	else
		ask(&tape);
	end(&shim);
	if (!is_hello)
		end(&other);
	loop_stop();
	fake_shim_done(&shim);
	if (!is_hello)
		fake_shim_done(&other);
	return 0;
}

/* Mutates the message, mostly. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t room, unsigned seed)
{
	if (bytes < 2 || seed % 8 == 0)
		return LLVMFuzzerMutate(data, bytes, room);
	return 1 + fuzz_mutate(data + 1, bytes - 1, room - 1, seed);
}
