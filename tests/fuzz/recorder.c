// SPDX-License-Identifier: MIT
/*
 * fuzz.recorder: the memfd of a dead process, or of a living one that is let go. An input is a row
 * of changes to a good recorder: bytes anywhere, whole cells, slots, entries of rings, definitions.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collectord/recorder/drain.h"
#include "proto/recorder/checksum.h"
#include "tests/fuzz/bench.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/collectord/store/recorder.h"

#define IS_ALIVE   1u
#define GIVES_UP   2u
#define IS_CUT	   4u
#define IS_RESUMED 8u

enum change {
	CHANGE_HEADER,
	CHANGE_BYTES,
	CHANGE_CELL,
	CHANGE_SLOT,
	CHANGE_MARKER,
	CHANGE_CALL,
	CHANGE_DEFINES,
	CHANGE_RAW_CELL,
	CHANGE_CELL_LENGTH,
	CHANGES
};

static struct bench bench;
static int memfd;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	bench_init(&bench);
	memfd = memfd_create("fuzz", MFD_CLOEXEC);
	FUZZ_MUST(memfd >= 0);
	return 0;
}

static void change_bytes(struct hand_recorder *r, struct tape *tape, size_t room)
{
	size_t at = (size_t)tape_number(tape, 3) % room, n;
	const uint8_t *from = tape_bytes(tape, (size_t)tape_number(tape, 1) % 16, &n);

	memcpy((uint8_t *)r + at, from, n < room - at ? n : room - at);
}

/* Fills a cell with a whole frame or with other bytes, and with the right checksum. */
static void change_cell(struct hand_recorder *r, struct tape *tape, bool is_raw)
{
	uint64_t number = tape_number(tape, 1);
	struct recorder_cell *cell = (void *)r->cell[number % HAND_CELLS];
	uint8_t *bytes = (uint8_t *)(cell + 1);
	size_t n;
	const uint8_t *from = tape_bytes(tape, (size_t)tape_number(tape, 2) % 16384, &n);

	cell->records = (uint32_t)tape_number(tape, 2);
	cell->number = number;
	if (number > r->header.published)
		r->header.published = number;
	memcpy(bytes + (is_raw ? 0 : 4), from, n);
	cell->length = (uint32_t)(n + (is_raw ? 0 : 4));
	if (!is_raw)
		memcpy(bytes, &(uint32_t){(uint32_t)n}, 4);
	cell->checksum = checksum32(bytes, cell->length, number);
}

/* A cell that says another length, twice the same. */
static void change_cell_length(struct hand_recorder *r, struct tape *tape)
{
	struct recorder_cell *cell = (void *)r->cell[tape_number(tape, 1) % HAND_CELLS];
	uint32_t length = (uint32_t)tape_number(tape, 4);

	cell->length = length;
	memcpy(cell + 1, &(uint32_t){length - 4}, 4);
}

static void change_slot(struct hand_recorder *r, struct tape *tape)
{
	unsigned i = (unsigned)tape_number(tape, 1) % HAND_SLOTS;
	uint32_t state = (uint32_t)tape_number(tape, 1) % 5;
	uint64_t seq = tape_number(tape, 2), frame = tape_number(tape, 1);
	size_t n;
	const uint8_t *from;

	hand_recorder_slot(r, i, state, seq, frame);
	from = tape_bytes(tape, (size_t)tape_number(tape, 1) % sizeof(r->slot[i]), &n);
	memcpy((uint8_t *)&r->slot[i] + offsetof(struct recorder_slot, seq), from, n < 32 ? n : 32);
}

/* An entry of a ring: whole, and of whatever content. */
static void change_entry(void *entry, size_t stride, unsigned count, struct tape *tape)
{
	uint64_t position = tape_number(tape, 1);
	struct recorder_event *event = (void *)((uint8_t *)entry + position % count * stride);
	size_t n;
	const uint8_t *from;

	event->turn = position - position % count + 1;
	event->frame = tape_number(tape, 1);
	from = tape_bytes(tape, (size_t)tape_number(tape, 2) % stride, &n);
	if (n > stride - sizeof(*event))
		n = stride - sizeof(*event);
	memcpy(event + 1, from, n);
}

static void change_defines(struct hand_recorder *r, struct tape *tape)
{
	size_t n, at = r->header.define_bytes;
	const uint8_t *from = tape_bytes(tape, (size_t)tape_number(tape, 2) % 4096, &n);

	if (at > sizeof(r->define) || n + 4 > sizeof(r->define) - at)
		return;
	memcpy(r->define + at, &(uint32_t){(uint32_t)n}, 4);
	memcpy(r->define + at + 4, from, n);
	r->header.define_bytes = at + 4 + n;
}

static void change(struct hand_recorder *r, struct tape *tape)
{
	switch (tape_number(tape, 1) % CHANGES) {
	case CHANGE_HEADER:
		change_bytes(r, tape, sizeof(r->header));
		break;
	case CHANGE_BYTES:
		change_bytes(r, tape, sizeof(*r));
		break;
	case CHANGE_CELL:
		change_cell(r, tape, false);
		break;
	case CHANGE_RAW_CELL:
		change_cell(r, tape, true);
		break;
	case CHANGE_CELL_LENGTH:
		change_cell_length(r, tape);
		break;
	case CHANGE_SLOT:
		change_slot(r, tape);
		break;
	case CHANGE_MARKER:
		change_entry(r->marker, sizeof(r->marker[0]), HAND_MARKERS, tape);
		break;
	case CHANGE_CALL:
		change_entry(tape_number(tape, 1) & 1 ? r->call : r->spare_call, sizeof(r->call[0]),
			HAND_CALLS, tape);
		r->header.spare_calls_used = HAND_CALLS;
		break;
	default:
		change_defines(r, tape);
	}
}

static void drain_all(bool is_alive)
{
	FUZZ_MUST(drain_recorder(bench.writer, bench.process, memfd, is_alive) == 0);
}

/*
 * Where cells lie as they should: a frame is of the number that its cell says, so the process has
 * come no further than they lead; and what comes next is not there, or counted.
 */
static void check_cells(const struct hand_recorder *r, const struct recorder_region *cells)
{
	uint64_t frame = bench.process->frame, next = frame + 1;
	const struct recorder_cell *cell = (const void *)r->cell[next % HAND_CELLS];
	const uint64_t *loss = bench.process->ledger.loss;

	if (loss[LEDGER_BAD_RECORDER] || !r->header.ready ||
		memcmp(&r->header.cells, cells, sizeof(*cells)))
		return;
	FUZZ_MUST(frame <= HAND_CELLS || frame - HAND_CELLS <= r->header.published);
	FUZZ_MUST(cell->number != next || loss[LEDGER_CORRUPT_FRAMES]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct tape tape = {data, bytes};
	uint64_t flags = tape_number(&tape, 1);
	struct hand_recorder *r = hand_recorder_new(7);
	struct recorder_region cells = r->header.cells;
	size_t size = flags & IS_CUT ? (size_t)tape_number(&tape, 3) % sizeof(*r) : sizeof(*r);

	while (tape.left)
		change(r, &tape);
	FUZZ_MUST(ftruncate(memfd, 0) == 0 && ftruncate(memfd, (off_t)size) == 0);
	FUZZ_MUST(pwrite(memfd, r, size, 0) == (ssize_t)size);
	bench_begin(&bench);
	bench.writer->is_resumed = flags & IS_RESUMED;
	/* Whatever the recorder holds, its losses are counted, and no other process's transaction
	 * fails. */
	if (flags & GIVES_UP)
		FUZZ_MUST(drain_give_up(
				  bench.writer, bench.process, memfd, LEDGER_CORRUPT_FRAMES) == 0);
	else
		drain_all(flags & IS_ALIVE);
	if (!(flags & GIVES_UP))
		check_cells(r, &cells);
	free(r);
	bench_check(&bench);
	bench_end(&bench);
	return 0;
}
