// SPDX-License-Identifier: MIT
/*
 * A thread leaves a doorbell and does not return: by siglongjmp() out of a signal handler, after
 * each single instruction, by its end, or from a place that the shim does not see. The queue still
 * works, and each dispatch is recorded once.
 */
#include "tests/shim/capture/fixture.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include <hsa/amd_hsa_signal.h>

#include "shim/capture/capture_internal.h"
#include "shim/capture/harvest.h"
#include "shim/capture/front_ends/shadow.h"
#include "shim/capture/front_ends/shadow_queue.h"

/* More instructions than any way through a doorbell. */
#define STEPS_MAX 20000

static struct {
	struct fixture *f;
	sigjmp_buf out;
	volatile long left; /* instructions until the jump */
	volatile bool is_told;
	uintptr_t frame;
} jump;

static void on_step(int number)
{
	char here;

	(void)number;
	if (jump.left-- > 0)
		return;
	if (jump.is_told)
		shadow_leave(jump.f->capture, (uintptr_t)&here, jump.frame, 0);
	siglongjmp(jump.out, 1);
}

/* Raises SIGTRAP after each instruction. */
static void steps_begin(void)
{
	__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" : : : "memory", "cc");
}

static void steps_end(void)
{
	__asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" : : : "memory", "cc");
}

/*
 * Rings for all packets up to @index and jumps out after @steps instructions. False if it was over
 * before.
 */
static __attribute__((noinline)) bool ring_and_leave(struct fixture *f, uint64_t index, long steps)
{
	char here;

	jump.frame = (uintptr_t)&here;
	jump.left = steps;
	if (sigsetjmp(jump.out, 1))
		return true;
	steps_begin();
	synth_ring(f->capture, f->queue, index);
	steps_end();
	return false;
}

/* With its frame at the same depth as ring_and_leave()'s. */
static __attribute__((noinline)) void ring(struct fixture *f, uint64_t index)
{
	synth_ring(f->capture, f->queue, index);
}

struct scene {
	const char *name;
	unsigned packets;  /* per doorbell */
	bool has_barriers; /* packets of another kind among them */
	bool has_signals;  /* every second one has the application's signal */
	uint32_t (*symbol_of)(uint64_t kernel_object);
	unsigned before; /* undisturbed dispatches before each */
};

static uint64_t put_all(struct fixture *f, const struct scene *scene, const hsa_signal_t *signals)
{
	uint64_t first = synth_add_index(f->capture, f->queue, scene->packets);

	for (unsigned i = 0; i < scene->packets; i++) {
		struct synth_packet packet = {.type = HSA_PACKET_TYPE_KERNEL_DISPATCH,
			.has_barrier = true,
			.kernel_object = 1,
			.signal = scene->has_signals && i % 2 ? signals[i].handle : 0};

		if (scene->has_barriers && i % 2)
			packet = (struct synth_packet){.type = HSA_PACKET_TYPE_BARRIER_AND};
		synth_put(f->queue, first + i, &packet);
	}
	return first + scene->packets - 1;
}

#define PACKETS_MAX 4

/* One round: ring, leave after @steps, and continue. False if it was not left. */
static bool round_of(
	struct fixture *f, const struct scene *scene, long steps, hsa_signal_t *signals)
{
	uint64_t last;
	bool is_left;

	for (unsigned i = 0; i < scene->before; i++)
		fixture_dispatch(f, 0);
	for (unsigned i = 0; i < PACKETS_MAX; i++)
		synth_store(f->capture, signals[i], 1);
	last = put_all(f, scene, signals);
	is_left = ring_and_leave(f, last, steps);
	/* The shim saw the jump, so no further doorbell is needed for what was begun. */
	if (jump.is_told)
		assert_true(!shadow_table_at(f->capture->head.shadow, f->queue->block)->walk);
	ring(f, last);
	assert_int_equal(synth_wdid(f->queue), last + 1);
	fixture_step(f);
	if (steps % 3 == 0)
		fixture_harvest(f, 100 * MS);
	fixture_dispatch(f, 0);
	fixture_settle(f);
	return is_left;
}

static uint32_t symbol_asked_for(uint64_t kernel_object)
{
	return (uint32_t)kernel_object;
}

static const struct scene scenes[] = {
	{.name = "one kernel", .packets = 1},
	{.name = "three kernels", .packets = 3},
	{.name = "kernels and barriers", .packets = 4, .has_barriers = true},
	{.name = "signals of the application", .packets = 2, .has_signals = true},
	{.name = "a kernel that has to be looked for", .packets = 1, .symbol_of = symbol_asked_for},
	{.name = "the queue's 256th", .packets = 2, .before = 61},
};

static void scene_run(const struct scene *scene, bool is_told)
{
	hsa_signal_t signals[PACKETS_MAX];
	struct sigaction action = {.sa_handler = on_step}, before;
	struct capture_hsa hsa;
	struct fixture f;
	uint64_t rescued;
	long steps = 0, rounds = 0, stride = 1;

	synth_hsa(&hsa);
	if (scene->symbol_of) {
		hsa.symbol_of = scene->symbol_of;
		hsa.symbols = NULL;
	}
	fixture_init_with(&f, 64, &hsa);
	for (unsigned i = 0; i < PACKETS_MAX; i++)
		signals[i] = synth_signal_new(1);
	jump.f = &f;
	jump.is_told = is_told;
	assert_int_equal(sigaction(SIGTRAP, &action, &before), 0);
	/* Each signal is one instruction; some 400,000 for the first scene. */
	if (scene != scenes && !getenv("RTL_TEST_LONG"))
		stride = 7;
	for (; round_of(&f, scene, steps, signals); rounds++) {
		steps += stride;
		assert_true(steps < STEPS_MAX);
	}
	assert_int_equal(sigaction(SIGTRAP, &before, NULL), 0);
	rescued = recorder_process_value(f.recorder, RTL_P_walks_rescued);
	print_message("%s: left after %ld of %ld instructions, %llu walks rescued\n", scene->name,
		rounds, steps, (unsigned long long)rescued);
	assert_true(rounds > 50 && rescued > 20);
	for (unsigned i = 0; i < PACKETS_MAX; i++)
		harvest_signal_destroy(f.capture, signals[i]);
	fixture_settle(&f);
	assert_int_equal(fixture_count(&f, RTL_Q_dropped_recorder_full), 0);
	assert_int_equal(fixture_count(&f, RTL_Q_foreign_writers), 0);
	assert_int_equal(capture_pending(f.capture), 0);
	check_against_device(f.capture, f.reader, f.queue, 0);
	for (unsigned i = 0; i < PACKETS_MAX; i++)
		synth_signal_free(signals[i]);
	fixture_done(&f);
}

TEST_CASE(jump_out_of_any_instruction_of_a_doorbell_loses_nothing)
{
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
		scene_run(&scenes[i], true);
}

TEST_CASE(unseen_jump_out_of_a_doorbell_is_repaired_at_the_next_one)
{
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
		scene_run(&scenes[i], false);
}
