// SPDX-License-Identifier: MIT
/*
 * fuzz.<kind>: what a shim sends after Welcome, one kind of frame a run of the program:
 * --body=dispatches and so on. An input is the body of one frame.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/wire/frame.h"
#include "proto/base/limits.h"
#include "tests/fuzz/bench.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/mutate.h"

#define FIELD_DEFINES 4u

static const struct {
	const char *name;
	unsigned field;
	bool is_numbered;
} bodies[] = {
	{"defines", FIELD_DEFINES, false},
	{"dispatches", 5, true},
	{"markers", 6, true},
	{"counters", 7, false},
	{"anchors", 8, false},
	{"copies", 21, true},
	{"host_calls", 22, true},
	{"collectives", 23, true},
};

static struct bench bench;
static unsigned body;
static bool must_take;
static uint8_t frame[FRAME_BYTES_MAX + 64];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	for (int i = 1; i < *argc; i++) {
		must_take |= !strcmp((*argv)[i], "--must-take");
		for (unsigned b = 0; b < sizeof(bodies) / sizeof(*bodies); b++)
			if (!strncmp((*argv)[i], "--body=", 7) &&
				!strcmp((*argv)[i] + 7, bodies[b].name))
				body = b;
	}
	bench_init(&bench);
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

static void take_body(const uint8_t *data, size_t bytes)
{
	size_t n = 0;
	int r;

	if (bodies[body].is_numbered) {
		frame[n++] = 1 << 3;
		n += put_varint(frame + n, bench.process->frame + 1);
	}
	n += put_varint(frame + n, bodies[body].field << 3 | 2);
	n += put_varint(frame + n, bytes);
	memcpy(frame + n, data, bytes);
	r = bench_take(&bench, frame, n + bytes, false);
	FUZZ_MUST(r == 0 || !must_take);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	if (bytes > FRAME_BYTES_MAX)
		return -1;
	bench_begin(&bench);
	/* The first definition of an id counts. */
	if (bodies[body].field != FIELD_DEFINES)
		bench_take_base(&bench);
	/* Twice: what is sent again under the next number must not be taken for new either. */
	take_body(data, bytes);
	take_body(data, bytes);
	if (bodies[body].field == FIELD_DEFINES)
		bench_use_shapes(&bench);
	bench_check(&bench);
	bench_end(&bench);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t room, unsigned seed)
{
	return fuzz_mutate(data, bytes, room, seed);
}
