// SPDX-License-Identifier: MIT
/*
 * Where our signals are, and when they are returned: memory that the device may still write to is
 * never returned to the runtime.
 */
#include "tests/shim/capture/fixture.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "shim/capture/capture_internal.h"
#include "shim/capture/harvest.h"
#include "shim/capture/signals.h"

#define RING 64u

/* The signal in the packet of a dispatch that the device has not seen yet. */
static uint64_t signal_of_next(struct fixture *f)
{
	uint64_t index = fixture_dispatch(f, 0);

	return f->queue->ring[index % RING].completion_signal.handle;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool is_in_a_chunk(const struct capture *c, uint64_t handle)
{
	for (uint32_t i = 0; i < SIGNAL_CHUNKS; i++) {
		uint64_t chunk = (uint64_t)(uintptr_t)atomic_load(&c->signal_chunk[i]);

		if (chunk && handle - chunk < SIGNALS_OF_CHUNK * sizeof(amd_signal_t))
			return true;
	}
	return false;
}

CAPTURE_CASE(each_signal_is_a_cache_line_of_the_runtime_s_memory)
{
	uint64_t handle[RING / 2];

	for (uint32_t i = 0; i < RING / 2; i++) {
		const amd_signal_t *signal;

		handle[i] = signal_of_next(f);
		signal = (const amd_signal_t *)(uintptr_t)handle[i];
		assert_int_equal(handle[i] % sizeof(*signal), 0);
		assert_true(is_in_a_chunk(f->capture, handle[i]));
		assert_int_equal(signal->kind, AMD_SIGNAL_KIND_USER);
		assert_int_equal(signal->value, 1);
		assert_int_equal(signal->start_ts, 0);
		assert_int_equal(signal->end_ts, 0);
		assert_int_equal(signal->event_mailbox_ptr, 0);
	}
	qsort(handle, RING / 2, sizeof(*handle), compare);
	for (uint32_t i = 1; i < RING / 2; i++)
		assert_int_not_equal(handle[i], handle[i - 1]);
	/* One allocation for many signals. */
	assert_int_equal(synth.signals_live, 1);
	fixture_settle(f);
	check_against_device(f->capture, f->reader, f->queue, 0);
}

/* More slots than one chunk has signals for. */
static void second_chunk_make(struct fixture *f)
{
	while (recorder_slots_used(f->recorder) <= SIGNALS_OF_CHUNK)
		assert_true(pool_provide(f->capture));
	assert_int_equal(synth.signals_live, 2);
}

/* In two chunks, wherever they are, and not for addresses around them. */
CAPTURE_CASE(our_signals_are_distinguished_from_all_others)
{
	hsa_signal_t own;

	assert_false(signals_has(f->capture, 0));
	second_chunk_make(f);
	own = synth_signal_new(1);
	for (uint32_t i = 0; i < 2; i++) {
		uint64_t chunk = (uint64_t)(uintptr_t)atomic_load(&f->capture->signal_chunk[i]);
		uint64_t end = chunk + SIGNALS_OF_CHUNK * sizeof(amd_signal_t);

		assert_true(signals_has(f->capture, chunk));
		assert_true(signals_has(f->capture, end - sizeof(amd_signal_t)));
		assert_int_equal(signals_has(f->capture, end), is_in_a_chunk(f->capture, end));
		assert_int_equal(
			signals_has(f->capture, chunk - 1), is_in_a_chunk(f->capture, chunk - 1));
	}
	assert_false(signals_has(f->capture, own.handle));
	assert_false(signals_has(f->capture, UINT64_MAX));
	synth_signal_free(own);
}

CAPTURE_CASE(all_signals_are_returned_when_nothing_runs)
{
	second_chunk_make(f);
	(void)signal_of_next(f);
	fixture_settle(f);
	capture_stop(f->capture);
	capture_release_signals(f->capture);
	assert_int_equal(synth.signals_live, 0);
	capture_release_signals(f->capture);
	assert_int_equal(synth.signals_live, 0);
}

CAPTURE_CASE(signal_memory_of_a_running_kernel_stays)
{
	uint64_t handle = signal_of_next(f);

	second_chunk_make(f);
	capture_stop(f->capture);
	capture_release_signals(f->capture);
	assert_int_equal(synth.signals_live, 1);
	assert_true(is_in_a_chunk(f->capture, handle));
	/* Otherwise a sanitizer would report the leak. */
	fixture_step(f);
	assert_int_equal(synth_signal_load((hsa_signal_t){handle}), 0);
	f->capture->signal_chunks_kept = 0;
}

/* Its times were invalid, so the device may not have written the last of them yet. */
CAPTURE_CASE(memory_of_a_quarantined_signal_stays)
{
	f->queue->has_no_times = true;
	(void)signal_of_next(f);
	fixture_settle(f);
	assert_int_equal(capture_pending(f->capture), 0);
	assert_int_not_equal(f->capture->quarantine_head, f->capture->quarantine_tail);
	capture_stop(f->capture);
	capture_release_signals(f->capture);
	assert_int_equal(synth.signals_live, 1);
	f->capture->signal_chunks_kept = 0;
}

/* The same, without a cell for its record, so that it is in no quarantine yet. */
CAPTURE_CASE(memory_of_a_doubtful_signal_without_a_cell_stays)
{
	while (recorder_unacked(f->recorder) < RECORDER_CELLS) {
		(void)signal_of_next(f);
		fixture_step(f);
		(void)harvest_flush(f->capture, f->now_ns += MS);
	}
	f->queue->has_late_times = true;
	(void)signal_of_next(f);
	assert_true(synth_step(f->queue, SYNTH_DOORBELL));
	capture_stop(f->capture);
	(void)harvest_last(f->capture, f->now_ns += MS);
	assert_int_equal(fixture_count(f, RTL_Q_untimed_timestamp_invalid), 1);
	assert_int_equal(capture_pending(f->capture), 1);
	capture_release_signals(f->capture);
	assert_int_equal(synth.signals_live, 1);
	assert_false(synth_step(f->queue, SYNTH_DOORBELL)); /* writes them */
	f->capture->signal_chunks_kept = 0;
}

/* For instance by a tool that ends after us, with a kernel that never ends. */
static void destroy_a_queue_after_the_end(struct fixture *f)
{
	(void)signal_of_next(f);
	fixture_harvest(f, MS);
	(void)signal_of_next(f);
	capture_stop(f->capture);
	capture_release_signals(f->capture);
	fixture_destroy_queue(f);
	assert_int_equal(fixture_count(f, RTL_Q_unresolved), 2);
}

CAPTURE_CASE(queue_can_be_destroyed_after_the_end)
{
	destroy_a_queue_after_the_end(f);
	assert_int_equal(synth.signals_live, 1);
	f->capture->signal_chunks_kept = 0;
}

TEST_CASE(queue_with_the_runtime_s_signals_can_be_destroyed_after_the_end)
{
	struct capture_hsa hsa;
	struct fixture f;

	synth_hsa(&hsa);
	hsa.signal_memory_get = NULL;
	fixture_init_with(&f, RING, &hsa);
	destroy_a_queue_after_the_end(&f);
	assert_int_equal(synth.signals_live, 2);
	for (int i = 0; i < 2; i++)
		synth_signal_free(f.queue->ring[i].completion_signal);
	fixture_done(&f);
}

/* Rule 14: a ring slot still has one, whose memory was returned to the runtime. */
CAPTURE_CASE(stale_signal_is_removed_after_the_end)
{
	uint64_t stale;

	for (uint32_t i = 0; i < RING; i++)
		fixture_dispatch(f, 0);
	stale = f->queue->ring[0].completion_signal.handle;
	assert_int_not_equal(stale, 0);
	fixture_settle(f);
	capture_stop(f->capture);
	(void)harvest_last(f->capture, f->now_ns += MS);
	capture_release_signals(f->capture);
	assert_int_equal(synth.signals_live, 0);
	fixture_dispatch(f, stale);
	assert_int_equal(f->queue->ring[0].completion_signal.handle, 0);
	fixture_step(f);
}

/* Blocks of the program's signals, all in flight at once: each has its place, or no time. */
TEST_CASE(application_signals_at_any_address_are_watched)
{
	static const struct {
		uint32_t count, stride, block;
		size_t step;
	} layout[] = {
		{1024, 64, 1024, 0},
		{4096, 64, 4096, 0},
		{4096, 128, 4096, 0},
		{4096, 192, 4096, 0},
		{1024, 128, 32, 2 << 20},
		{4096, 64, 64, 64 << 10},
		{4096, 64, 256, 2 << 20},
		{4096, 128, 64, 1 << 20},
	};

	for (size_t l = 0; l < sizeof(layout) / sizeof(*layout); l++) {
		size_t bytes = layout[l].count / layout[l].block * layout[l].step +
			       (size_t)layout[l].block * layout[l].stride;
		struct fixture f;
		char *memory;

		memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		assert_ptr_not_equal(memory, MAP_FAILED);
		fixture_init(&f, 4096);
		for (uint32_t i = 0; i < layout[l].count; i++) {
			amd_signal_t *signal =
				(amd_signal_t *)(memory + i / layout[l].block * layout[l].step +
						 (size_t)(i % layout[l].block) * layout[l].stride);

			*signal = (amd_signal_t){.kind = AMD_SIGNAL_KIND_USER, .value = 1};
			fixture_dispatch(&f, (uint64_t)(uintptr_t)signal);
		}
		fixture_settle(&f);
		assert_int_equal(fixture_count(&f, RTL_Q_untimed_early), 0);
		assert_int_equal(fixture_count(&f, RTL_Q_own_signals_read), layout[l].count);
		fixture_done(&f);
		munmap(memory, bytes);
	}
}

TEST_CASE(without_system_memory_signals_are_the_runtime_s)
{
	struct capture_hsa hsa;
	struct fixture f;
	uint64_t handle;

	synth_hsa(&hsa);
	hsa.signal_memory_get = NULL;
	fixture_init_with(&f, RING, &hsa);
	handle = signal_of_next(&f);
	assert_int_not_equal(handle, 0);
	assert_int_equal(synth.signals_live, recorder_slots_used(f.recorder));
	capture_stop(f.capture);
	capture_release_signals(f.capture);
	assert_int_equal(synth.signals_live, 1);
	fixture_step(&f);
	synth_signal_free((hsa_signal_t){handle});
	fixture_done(&f);
}

/* Rule 6: they are recognised by the ring slot that they were stored into. */
TEST_CASE(stale_signal_of_the_runtime_is_replaced)
{
	struct capture_hsa hsa;
	struct fixture f;
	uint64_t stale;

	synth_hsa(&hsa);
	hsa.signal_memory_get = NULL;
	fixture_init_with(&f, 64, &hsa);
	for (int i = 0; i < 64; i++)
		fixture_dispatch(&f, 0);
	stale = f.queue->ring[0].completion_signal.handle;
	fixture_step(&f);
	/* The ring slot again, with every field written except the signal. */
	fixture_dispatch(&f, stale);
	assert_int_not_equal(f.queue->ring[0].completion_signal.handle, stale);
	fixture_settle(&f);
	assert_int_equal(fixture_count(&f, RTL_Q_own_signals_seen), 0);
	assert_int_equal(fixture_count(&f, RTL_Q_recorded), 65);
	check_against_device(f.capture, f.reader, f.queue, 0);
	fixture_done(&f);
}

static bool is_refused;

static void *memory_refuse(size_t bytes)
{
	struct capture_hsa hsa;

	synth_hsa(&hsa);
	return is_refused ? NULL : hsa.signal_memory_get(bytes);
}

TEST_CASE(dispatch_without_a_signal_has_no_times)
{
	struct capture_hsa hsa;
	struct fixture f;

	synth_hsa(&hsa);
	hsa.signal_memory_get = memory_refuse;
	is_refused = true;
	fixture_init_with(&f, RING, &hsa);
	assert_int_equal(signal_of_next(&f), 0);
	fixture_settle(&f);
	assert_int_equal(fixture_row(&f, 0)->untimed, RTL_UNTIMED_SIGNAL_POOL);
	is_refused = false;
	check_against_device(f.capture, f.reader, f.queue, 0);
	fixture_done(&f);
}
