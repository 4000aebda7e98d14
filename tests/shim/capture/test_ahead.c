// SPDX-License-Identifier: MIT
/*
 * Memory that dispatches are about to use is populated in advance, but no more than was already
 * used. mincore() counts the pages.
 */
#include "tests/shim/capture/fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/ahead.h"
#include "shim/capture/capture_internal.h"
#include "shim/capture/harvest.h"
#include "shim/capture/front_ends/shadow.h"
#include "shim/capture/front_ends/shadow_queue.h"
#include "shim/capture/front_ends/shadow_table.h"
#include "shim/base/thread.h"
#include "shim/capture/touch.h"

#define PAGE_BYTES 4096u
#define BYTES	   (8u << 20)
#define RING	   16384u
#define LOT_BYTES  (RECORDER_SLOT_CHUNK * sizeof(struct recorder_slot))
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static size_t resident(const void *memory, size_t bytes)
{
	static unsigned char page[BYTES / PAGE_BYTES];
	size_t pages = bytes / PAGE_BYTES, n = 0;

	assert_true(pages <= sizeof(page));
	assert_int_equal(mincore((void *)(uintptr_t)memory, bytes, page), 0);
	for (size_t i = 0; i < pages; i++)
		n += page[i] & 1;
	return n * PAGE_BYTES;
}

static char *map(void)
{
	char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(memory, MAP_FAILED);
	return memory;
}

/* Before Linux 5.14 nothing is populated. */
static bool is_supported(void)
{
	char *memory = map();
	bool is = !madvise(memory, PAGE_BYTES, MADV_POPULATE_WRITE);

	munmap(memory, BYTES);
	return is;
}

TEST_CASE(as_much_memory_is_populated_as_was_used)
{
	char *memory = map();
	struct ahead ahead = {0};

	ahead_of(&ahead, memory, BYTES, AHEAD_BYTES_LEAST - 1);
	assert_int_equal(resident(memory, BYTES), 0);
	/* The part that was used is not populated again. */
	ahead_of(&ahead, memory, BYTES, 1u << 18);
	assert_int_equal(resident(memory, 1u << 18), 0);
	assert_int_equal(resident(memory + (1u << 18), 1u << 18), 1u << 18);
	assert_int_equal(resident(memory, BYTES), 1u << 18);
	/* Continues where it stopped. */
	ahead_of(&ahead, memory, BYTES, 3u << 17);
	assert_int_equal(resident(memory, BYTES), 1u << 19);
	/* Up to a limit, and to the end of the memory. */
	ahead_of(&ahead, memory, BYTES, 4u << 20);
	assert_int_equal(resident(memory + (4u << 20), BYTES / 2), AHEAD_BYTES_MAX);
	ahead_of(&ahead, memory, BYTES, BYTES - PAGE_BYTES);
	assert_int_equal(resident(memory + BYTES - PAGE_BYTES, PAGE_BYTES), PAGE_BYTES);
	munmap(memory, BYTES);
}

TEST_CASE(whole_pages_are_populated)
{
	char *memory = map();

	ahead_all(memory + PAGE_BYTES + 100, PAGE_BYTES);
	assert_int_equal(resident(memory, BYTES), 2 * PAGE_BYTES);
	assert_int_equal(resident(memory + PAGE_BYTES, 2 * PAGE_BYTES), 2 * PAGE_BYTES);
	munmap(memory, BYTES);
}

/* Existing contents and size of a file stay. */
TEST_CASE(whole_file_is_populated_and_keeps_its_size)
{
	int fd = memfd_create("ahead", 0);
	struct stat file;
	char *memory;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, BYTES), 0);
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	memory[2 * PAGE_BYTES] = 'x';
	ahead_all_of_file(fd, PAGE_BYTES, memory + PAGE_BYTES, 4 * PAGE_BYTES);
	assert_int_equal(resident(memory, BYTES), 4 * PAGE_BYTES);
	assert_int_equal(resident(memory + PAGE_BYTES, 4 * PAGE_BYTES), 4 * PAGE_BYTES);
	assert_int_equal(memory[2 * PAGE_BYTES], 'x');
	ahead_all_of_file(fd, BYTES, memory, PAGE_BYTES);
	assert_int_equal(fstat(fd, &file), 0);
	assert_int_equal(file.st_size, BYTES);
	munmap(memory, BYTES);
	close(fd);
}

static void dispatch(struct fixture *f, unsigned n)
{
	while (n--)
		fixture_dispatch(f, 0);
}

static int setup(void **state)
{
	static struct fixture fixture;

	fixture_init(&fixture, RING);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	fixture_done(*state);
	return 0;
}

#define CASE(claim) TEST_CASE_WITH(claim, setup, teardown, struct fixture *f)

/*
 * Reservations far ahead of the walk, or in a call, are noted in memory that a queue cycles
 * through.
 */
CASE(busy_queue_has_its_note_pages_populated)
{
	struct origins *origins =
		&shadow_table_at(f->capture->head.shadow, f->queue->block)->origins;
	const size_t bytes = (origins->mask + 1) * sizeof(*origins->entry);
	const size_t used = RING / 4 * sizeof(*origins->entry);

	dispatch(f, RING / 4);
	fixture_settle(f);
	assert_int_equal(resident(origins->entry, bytes), 0);
	thread_state()->call = 1;
	dispatch(f, RING / 4);
	assert_int_equal(resident(origins->entry, bytes), used);
	fixture_settle(f);
	assert_int_equal(resident(origins->entry, bytes), 3 * used);
	/* For a queue that stands still or has gone round once, nothing is done. */
	fixture_settle(f);
	assert_int_equal(resident(origins->entry, bytes), 3 * used);
	/* Nor for a queue that is close to its walk by now. */
	thread_state()->call = 0;
	dispatch(f, RING / 4);
	fixture_settle(f);
	assert_int_equal(resident(origins->entry, bytes), 3 * used);
	thread_state()->call = 1;
	for (int i = 0; i < 8; i++) {
		dispatch(f, RING / 4);
		fixture_settle(f);
	}
	assert_int_equal(resident(origins->entry, bytes), bytes);
	thread_state()->call = 0;
	check_against_device(f->capture, f->reader, f->queue, 0);
}

/* However many are in flight, only as many more are made as the next burst is likely to need. */
CASE(burst_gets_slots_for_the_next_one)
{
	const uint32_t more = 4 * RECORDER_SLOT_CHUNK,
		       kept = (READY_LOTS + 2) * RECORDER_SLOT_CHUNK;

	dispatch(f, RING - 1);
	for (int i = 0; i < 64; i++)
		(void)harvest_run(f->capture, f->now_ns);
	assert_in_range(recorder_slots_used(f->recorder), RING + more, RING + more + kept);
	fixture_settle(f);
	check_against_device(f->capture, f->reader, f->queue, 0);
}

/* Lots for a queue that needs them: the first lots are in pages that were never touched. */
CASE(slots_of_a_busy_queue_have_populated_pages)
{
	struct capture *c = f->capture;
	struct capture_queue *q = &c->queues[f->queue->block];
	uint32_t before = recorder_slots_used(f->recorder);
	const char *end = (const char *)(f->recorder->slots + before);

	assert_int_equal((uintptr_t)end % PAGE_BYTES, 0);
	assert_int_equal(resident(end, RECORDER_SLOT_CHUNK * sizeof(*f->recorder->slots)), 0);
	dispatch(f, q->owned - 1);
	(void)harvest_run(c, f->now_ns);
	assert_true(recorder_slots_used(f->recorder) > before);
	assert_int_equal(resident(end, RECORDER_SLOT_CHUNK * sizeof(*f->recorder->slots)),
		RECORDER_SLOT_CHUNK * sizeof(*f->recorder->slots));
	fixture_settle(f);
	check_against_device(c, f->reader, f->queue, 0);
}

/* In a flood, a lot that is kept ready is used soon; otherwise it may never be. */
CASE(ready_lots_are_populated_in_a_flood)
{
	struct capture *c = f->capture;

	for (int is_flood = 0; is_flood < 2; is_flood++) {
		const char *lot;

		dispatch(f, is_flood ? RECORDER_SLOT_CHUNK : 1);
		lot = (const char *)(f->recorder->slots + recorder_slots_used(f->recorder));
		assert_true(pool_take_ready(c) || !is_flood);
		assert_true(pool_provide(c));
		assert_int_equal(resident(lot, LOT_BYTES), is_flood ? LOT_BYTES : 0);
		while (pool_provide(c))
			;
	}
	fixture_settle(f);
	check_against_device(c, f->reader, f->queue, 0);
}

/*
 * In the first round of the outbox: the pages that a frame is about to fill, if there are several.
 */
CASE(cell_of_a_large_frame_is_populated)
{
	struct recorder *r = f->recorder;
	const void *cell = recorder_cell_bytes(r, r->open_frame);

	touch_cell(f->capture, 16);
	assert_int_equal(resident(cell, RECORDER_CELL_BYTES), 0);
	touch_cell(f->capture, FRAME_RECORDS_MAX);
	assert_int_equal(resident(cell, RECORDER_CELL_BYTES), 5 * PAGE_BYTES);
	/* Enough for one frame. */
	dispatch(f, FRAME_RECORDS_MAX);
	fixture_settle(f);
	assert_int_equal(recorder_process_value(r, RTL_P_frames_published), 1);
	assert_true(recorder_process_value(r, RTL_P_bytes_published) > 3 * PAGE_BYTES);
	assert_int_equal(resident(cell, RECORDER_CELL_BYTES), 5 * PAGE_BYTES);
	r->open_frame += RECORDER_CELLS;
	cell = recorder_cell_bytes(r, r->open_frame);
	touch_cell(f->capture, FRAME_RECORDS_MAX);
	assert_int_equal(resident(cell, RECORDER_CELL_BYTES), 0);
	r->open_frame -= RECORDER_CELLS;
	check_against_device(f->capture, f->reader, f->queue, 0);
}

/* The small ring of notes, which each queue cycles through. */
CASE(notes_of_a_new_queue_are_populated)
{
	const struct origins *origins =
		&shadow_table_at(f->capture->head.shadow, f->queue->block)->origins;
	const size_t bytes = ORIGINS_NEAR * sizeof(*origins->near);

	assert_int_equal(resident(origins->near, bytes), bytes);
}

/* The shim runs inside the program's own calls. */
TEST_CASE(populating_keeps_errno)
{
	char *memory = map();
	struct ahead ahead = {0};

	munmap(memory, BYTES);
	errno = EDOM;
	ahead_all(memory, PAGE_BYTES);
	ahead_of(&ahead, memory, BYTES, BYTES / 2);
	ahead_all_of_file(-1, 0, memory, PAGE_BYTES);
	assert_int_equal(errno, EDOM);
}

/* A program may have closed the recorder's file and opened its own under that number. */
CASE(file_of_the_program_is_not_populated)
{
	const char *end = (const char *)(f->recorder->slots + recorder_slots_used(f->recorder));
	int kept = dup(f->recorder->fd), own = memfd_create("own", 0);
	struct stat file;

	assert_true(kept >= 0 && own >= 0);
	assert_int_equal(dup2(own, f->recorder->fd), f->recorder->fd);
	dispatch(f, f->capture->queues[f->queue->block].owned - 1);
	(void)harvest_run(f->capture, f->now_ns);
	assert_true((const char *)(f->recorder->slots + recorder_slots_used(f->recorder)) > end);
	assert_int_equal(resident(end, LOT_BYTES), 0);
	assert_int_equal(fstat(own, &file), 0);
	assert_int_equal(file.st_size, 0);
	assert_int_equal(file.st_blocks, 0);
	assert_int_equal(dup2(kept, f->recorder->fd), f->recorder->fd);
	close(kept);
	close(own);
	fixture_settle(f);
	check_against_device(f->capture, f->reader, f->queue, 0);
}

/* Slots that were made and never taken have no pages. */
CASE(end_touches_no_unused_slot)
{
	const size_t bytes = recorder_slots_used(f->recorder) * sizeof(*f->recorder->slots);
	size_t before;

	dispatch(f, 1);
	(void)harvest_run(f->capture, f->now_ns);
	before = resident(f->recorder->slots, bytes);
	assert_true(before < bytes / 2);
	capture_release_signals(f->capture);
	assert_int_equal(resident(f->recorder->slots, bytes), before);
	/* The device has not reached this packet. */
	assert_int_equal(f->capture->signal_chunks_kept, 1);
	f->capture->signal_chunks_kept = 0;
}

int main(void)
{
	/* With huge pages everywhere, one touch would populate 2 MiB. */
	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
		return 1;
	if (!is_supported()) {
		print_message("MADV_POPULATE_WRITE: not in this kernel\n");
		return 77;
	}
	return test_run(NULL, NULL);
}
