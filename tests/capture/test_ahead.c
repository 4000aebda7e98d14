// SPDX-License-Identifier: MIT
/*
 * What dispatches are about to use is touched before, and no more of it than was used already.
 * Pages are counted by mincore().
 */
#include "tests/capture/fixture.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "shim/ahead.h"
#include "shim/capture_state.h"
#include "shim/harvest.h"
#include "shim/shadow_queue.h"
#include "shim/shadow_table.h"

#define PAGE_BYTES 4096u
#define BYTES	   (8u << 20)
#define RING	   16384u
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

/* Before Linux 5.14 nothing is. */
static bool is_supported(void)
{
	char *memory = map();
	bool is = !madvise(memory, PAGE_BYTES, MADV_POPULATE_WRITE);

	munmap(memory, BYTES);
	return is;
}

static void as_much_ahead_as_was_used(void **state)
{
	char *memory = map();
	struct ahead ahead = {0};

	(void)state;
	ahead_of(&ahead, memory, BYTES, AHEAD_BYTES_LEAST - 1);
	assert_int_equal(resident(memory, BYTES), 0);
	/* What was used is there, if it was: it is not touched again. */
	ahead_of(&ahead, memory, BYTES, 1u << 18);
	assert_int_equal(resident(memory, 1u << 18), 0);
	assert_int_equal(resident(memory + (1u << 18), 1u << 18), 1u << 18);
	assert_int_equal(resident(memory, BYTES), 1u << 18);
	/* From where it was touched last. */
	ahead_of(&ahead, memory, BYTES, 3u << 17);
	assert_int_equal(resident(memory, BYTES), 1u << 19);
	/* With a bound, and to the end. */
	ahead_of(&ahead, memory, BYTES, 4u << 20);
	assert_int_equal(resident(memory + (4u << 20), BYTES / 2), AHEAD_BYTES_MAX);
	ahead_of(&ahead, memory, BYTES, BYTES - PAGE_BYTES);
	assert_int_equal(resident(memory + BYTES - PAGE_BYTES, PAGE_BYTES), PAGE_BYTES);
	munmap(memory, BYTES);
}

static void all_of_it_whole_pages(void **state)
{
	char *memory = map();

	(void)state;
	ahead_all(memory + PAGE_BYTES + 100, PAGE_BYTES);
	assert_int_equal(resident(memory, BYTES), 2 * PAGE_BYTES);
	assert_int_equal(resident(memory + PAGE_BYTES, 2 * PAGE_BYTES), 2 * PAGE_BYTES);
	munmap(memory, BYTES);
}

static void dispatch(struct fixture *f, unsigned n)
{
	while (n--)
		fixture_dispatch(f, 0);
}

/* Whose packets are whose is noted in memory that a queue goes round. */
static void queue_on_the_move_finds_its_pages(void **state)
{
	struct fixture *f = *state;
	struct origins *origins =
		&shadow_table_at(f->capture->head.shadow, f->queue->block)->origins;
	const size_t bytes = (origins->mask + 1) * sizeof(*origins->entry);
	const size_t used = RING / 4 * sizeof(*origins->entry);

	dispatch(f, RING / 4);
	assert_int_equal(resident(origins->entry, bytes), used);
	fixture_settle(f);
	assert_int_equal(resident(origins->entry, bytes), 2 * used);
	/* One that stands still, or goes round again, is not looked after. */
	fixture_settle(f);
	assert_int_equal(resident(origins->entry, bytes), 2 * used);
	for (int i = 0; i < 8; i++) {
		dispatch(f, RING / 4);
		fixture_settle(f);
	}
	assert_int_equal(resident(origins->entry, bytes), bytes);
	check_against_device(f->capture, f->reader, f->queue, 0);
}

/* Lots for a queue that needs them: the first of all lie in pages that nobody has touched. */
static void slots_that_are_needed_have_their_pages(void **state)
{
	struct fixture *f = *state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_much_ahead_as_was_used),
		cmocka_unit_test(all_of_it_whole_pages),
		cmocka_unit_test_setup_teardown(queue_on_the_move_finds_its_pages, setup, teardown),
		cmocka_unit_test_setup_teardown(
			slots_that_are_needed_have_their_pages, setup, teardown),
	};

	/* Where all memory is of huge pages one touch is 2 MiB. */
	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
		return 1;
	if (!is_supported()) {
		print_message("MADV_POPULATE_WRITE: not in this kernel\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
