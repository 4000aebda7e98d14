// SPDX-License-Identifier: MIT
/*
 * look_cost QUEUES SLOTS LOADS: one look at what has ended (shim/capture/ends.h) and LOADS loads of
 * a signal that cannot be an end, for callgrind, which counts the exported functions. QUEUES are
 * live, each with a dispatch that the harvester has taken; SLOTS dispatches of the first have ended
 * since.
 */
#include <stdio.h>
#include <stdlib.h>

#include "shim/base/tsc_clock.h"
#include "shim/capture/front_ends/create.h"
#include "shim/capture/ends.h"
#include "shim/capture/harvest.h"
#include "shim/load/waits.h"
#include "tests/shim/capture/synth.h"

#define RING	  16384u
#define PASS_NS	  100000000u
#define PASSES	  4u
#define SLOTS_MAX 8192u

#define EXPORT __attribute__((visibility("default"), noinline))

EXPORT void look_once(struct capture *capture);
EXPORT int64_t load_often(
	__typeof__(hsa_signal_load_relaxed) *load, hsa_signal_t signal, unsigned loads);
EXPORT int64_t load_plainly(
	__typeof__(hsa_signal_load_relaxed) *load, hsa_signal_t signal, unsigned loads);

static void fail(const char *what)
{
	fprintf(stderr, "look_cost: %s\n", what);
	exit(1);
}

static void dispatch(struct capture *c, struct synth_queue *queue, unsigned count)
{
	const struct synth_packet packet = {
		.type = HSA_PACKET_TYPE_KERNEL_DISPATCH, .has_barrier = true, .kernel_object = 1};

	for (unsigned i = 0; i < count; i++)
		(void)synth_submit(c, queue, &packet);
	while (synth_step(queue, SYNTH_DOORBELL))
		;
}

EXPORT void look_once(struct capture *capture)
{
	ends_look(capture);
}

/* Alike, so that one less the other is what a load through us takes more. */
#define LOADS(name)                                                                                \
	EXPORT int64_t name(                                                                       \
		__typeof__(hsa_signal_load_relaxed) *load, hsa_signal_t signal, unsigned loads)    \
	{                                                                                          \
		int64_t sum = 0;                                                                   \
                                                                                                   \
		for (unsigned i = 0; i < loads; i++)                                               \
			sum += load(signal);                                                       \
		return sum;                                                                        \
	}

LOADS(load_often)
LOADS(load_plainly)

static hsa_signal_value_t runtime_load(hsa_signal_t signal)
{
	return synth_signal_load(signal);
}

static void loads_run(unsigned loads)
{
	static struct hsa_table table;
	__typeof__(hsa_signal_load_relaxed) *in_table = runtime_load;
	hsa_signal_t signal = synth_signal_new(1);

	table.real.hsa_signal_load_relaxed = runtime_load;
	table.slot.hsa_signal_load_relaxed = &in_table;
	waits_install(&table);
	if (in_table == runtime_load || load_often(in_table, signal, loads) != loads ||
		load_plainly(runtime_load, signal, loads) != loads)
		fail("the load is not followed");
	synth_signal_free(signal);
}

int main(int argc, char **argv)
{
	static const struct recorder_identity identity = {.pid = 1};
	unsigned queues = argc == 4 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	unsigned slots = argc == 4 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	uint64_t now_ns = PASS_NS;
	struct synth_queue *first = NULL;
	struct capture_hsa hsa;
	struct capture *c;

	if (!queues || queues > SYNTH_QUEUES_MAX || slots > SLOTS_MAX)
		fail("usage: look_cost QUEUES SLOTS LOADS");
	synth_hsa(&hsa);
	ticks_look();
	if (capture_create(&identity, &hsa, &c))
		fail("no capture");
	for (unsigned i = 0; i < queues; i++) {
		struct synth_queue *queue = synth_queue_new(RING);

		first = first ? first : queue;
		if (synth_adopt(c, queue, 0))
			fail("a queue is not followed");
		dispatch(c, queue, 1);
	}
	for (unsigned i = 0; i < PASSES; i++, now_ns += PASS_NS)
		(void)harvest_run(c, now_ns);
	dispatch(c, first, slots);
	look_once(c);
	loads_run((unsigned)strtoul(argv[3], NULL, 10));
	return 0;
}
