// SPDX-License-Identifier: MIT
/*
 * A rank without ROCr: the shim's own recorder, capture path, thread and connection over the
 * synthetic device, for tests that kill and restart collectors and ranks. It ends like a job that
 * outlives its last kernel: when everything has been acknowledged, at most a minute later. SIGTERM
 * ends the dispatching. --polite dispatches more slowly when the recorder fills, so that a busy
 * machine drops nothing; SIGUSR1 ends that. Every kernel's duration, symbol and shape encode its
 * number in its queue, independently of the number that the shim assigns.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "shim/events/events.h"
#include "shim/events/markers.h"
#include "proto/settings/rank.h"
#include "shim/capture/front_ends/create.h"
#include "shim/capture/front_ends/shadow.h"
#include "shim/capture/tables/symbols.h"
#include "shim/send/worker.h"
#include "tests/shim/capture/ack_times.h"
#include "tests/shim/capture/synth.h"
#include "tests/shim/capture/system_calls.h"

#define KERNELS	       10u
#define QUEUE_PACKETS  4096u
#define PAUSE_NS       200000
/* At a low rate, polling is rare: a thousand ranks share two processors. */
#define PAUSE_NS_MAX   10000000
#define LOOKS	       4u /* polls of a producer per kernel */
#define DEVICE_LOOKS   16u
#define ACKED_WAIT_NS  300000000000ull
#define KERNEL_OBJECT0 0x7f0000001000ull
/* Each kernel takes 1 ns more than the one before it in its queue, up to this. */
#define DURATIONS      65536u
/* --polite waits from here on: a quarter of the outbox, an eighth of the slots. */
#define POLITE_FRAMES  (RECORDER_CELLS / 4)
#define POLITE_SLOTS   (RECORDER_SLOTS / 8)
/* Dispatches between two checks of these. */
#define POLITE_BURST   256u

enum option_key {
	KEY_ACKS = 0x100,
	KEY_CALLS,
	KEY_TICK_BITS,
	KEY_SLEEPS,
	KEY_POLITE,
	KEY_ACKS_TO,
};

static struct options {
	const char *socket;
	uint64_t dispatches; /* of the whole process */
	uint64_t rate;	     /* of the process, per second; 0 means without a limit */
	unsigned queues;
	unsigned gpus;
	uint64_t marks;	      /* of the whole process */
	const char *progress; /* file with two numbers: marks begun, marks made */
	int rank;	      /* -1 means as in the environment */
	bool acks, calls;     /* print how long frames waited, and what waited in the shim */
	const char *acks_to;  /* file with a struct ack_time per frame */
	unsigned tick_bits;   /* the device's counter wraps at this many bits; 0 if never */
	bool sleeps;	      /* the device's counter stops while the machine is suspended */
} options = {.socket = "", .dispatches = 10000, .queues = 1, .gpus = 1, .rank = -1};

static struct program {
	struct identity identity;
	struct rank_info rank;
	struct agents agents;
	struct clock_source clocks;
	struct strings strings;
	struct symbols symbols;
	struct capture *capture;
	struct synth_queue *queue[SYNTH_QUEUES_MAX];
	_Atomic uint64_t submitted;
	_Atomic bool is_told_to_end;
	_Atomic bool is_polite;
} program;

static const struct argp_option known[] = {
	{"socket", 's', "PATH", 0, "The collector (default: the usual places)", 0},
	{"dispatches", 'n', "N", 0, "Kernels of this process (default 10000)", 0},
	{"rate", 'r', "HZ", 0, "Kernels per second (default: as fast as they go)", 0},
	{"queues", 'q', "N", 0, "Spread over N queues, a thread for each (default 1)", 0},
	{"gpus", 'g', "N", 0, "Queues are spread over N GPUs (default 1)", 0},
	{"marks", 'm', "N", 0, "Marks of this process, spread over its life (default 0)", 0},
	{"progress", 'p', "FILE", 0, "Marks begun and made are there, whatever happens", 0},
	{"rank", 'k', "N", 0, "Rank (default: from the environment)", 0},
	{"acks", KEY_ACKS, NULL, 0, "Say how long frames waited for their Ack", 0},
	{"acks-to", KEY_ACKS_TO, "FILE", 0, "That, and of each frame into FILE, which is there", 0},
	{"calls", KEY_CALLS, NULL, 0,
		"Say how many system calls that may wait dispatching threads made in the shim", 0},
	{"tick-bits", KEY_TICK_BITS, "N", 0, "The device's counter has N bits", 0},
	{"sleeps", KEY_SLEEPS, NULL, 0,
		"The device's counter stands still while the machine is suspended", 0},
	{"polite", KEY_POLITE, NULL, 0, "Dispatch less where the recorder fills", 0},
	{0},
};

static error_t parse(int key, char *value, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 's':
		o->socket = value;
		return 0;
	case 'n':
		o->dispatches = strtoull(value, NULL, 10);
		return 0;
	case 'r':
		o->rate = strtoull(value, NULL, 10);
		return 0;
	case 'q':
		o->queues = (unsigned)strtoul(value, NULL, 10);
		return 0;
	case 'g':
		o->gpus = (unsigned)strtoul(value, NULL, 10);
		return 0;
	case 'm':
		o->marks = strtoull(value, NULL, 10);
		return 0;
	case 'p':
		o->progress = value;
		return 0;
	case 'k':
		o->rank = (int)strtol(value, NULL, 10);
		return 0;
	case KEY_ACKS_TO:
		o->acks_to = value;
		o->acks = true;
		return 0;
	case KEY_ACKS:
		o->acks = true;
		return 0;
	case KEY_CALLS:
		o->calls = true;
		return 0;
	case KEY_TICK_BITS:
		o->tick_bits = (unsigned)strtoul(value, NULL, 10);
		return 0;
	case KEY_SLEEPS:
		o->sleeps = true;
		return 0;
	case KEY_POLITE:
		atomic_store(&program.is_polite, true);
		return 0;
	case ARGP_KEY_END:
		if (!o->queues || o->queues > SYNTH_QUEUES_MAX || !o->gpus || o->gpus > 64)
			argp_error(state, "1 to %u queues, 1 to 64 GPUs", SYNTH_QUEUES_MAX);
		if (o->tick_bits > 63)
			argp_error(state, "at most 63 bits");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* A tick is a nanosecond. */
static uint64_t ticks(void)
{
	return options.sleeps ? clock_monotonic_ns() : clock_boottime_ns();
}

/* Answers like hsaKmtGetClockCounters. */
static int counters(uint32_t node, void *ret)
{
	uint64_t now_ns = clock_boottime_ns();
	const uint64_t answer[4] = {ticks() & synth.tick_mask, now_ns, now_ns, 1000000000};

	(void)node;
	memcpy(ret, answer, sizeof(answer));
	return 0;
}

static uint32_t symbol_of(uint64_t kernel_object)
{
	return symbols_find(&program.symbols, kernel_object);
}

static uint32_t symbol_define(uint64_t kernel_object)
{
	return symbols_define_unknown(&program.symbols, kernel_object);
}

static void agents_invent(struct agents *agents)
{
	agents->count = options.gpus;
	agents->cpu_nodes = 1;
	for (uint32_t i = 0; i < options.gpus; i++) {
		struct agent *gpu = &agents->gpu[i];

		gpu->gpu_id = i;
		gpu->kfd_node = i + 1;
		gpu->location_id = (i + 1) << 8;
		gpu->tick_hz = 1000000000;
		snprintf(gpu->gfx, sizeof(gpu->gfx), "gfx90a");
		snprintf(gpu->name, sizeof(gpu->name), "SIMULATED synthetic device");
	}
}

static int shim_start(struct program *p)
{
	struct recorder_identity identity = {0};
	struct worker_setup setup = {
		.strings = &p->strings,
		.agents = &p->agents,
		.clocks = &p->clocks,
		.socket = options.socket,
		.exit_ns = 60000000000u,
		.hello = {.identity = &p->identity,
			.rank = &p->rank,
			.agents = &p->agents,
			.mode = "default",
			.front_end = shadow_front_end.name,
			.runtime = "synthetic"},
	};
	struct capture_hsa hsa;
	int r;

	r = identity_read(&p->identity);
	if (r < 0)
		return r;
	memcpy(identity.boot_id, p->identity.boot_id, sizeof(identity.boot_id));
	memcpy(identity.token, p->identity.token, sizeof(identity.token));
	identity.pid = p->identity.pid;
	identity.start_time = p->identity.start_time;
	rank_detect((const char *const *)environ, &p->rank);
	if (options.rank >= 0)
		p->rank.rank = (struct rank_number){true, (uint32_t)options.rank};
	agents_invent(&p->agents);
	p->clocks = (struct clock_source){
		.agents = &p->agents, .counters = counters, .kfd = -1, .runtime = "synthetic"};
	synth_hsa(&hsa);
	hsa.symbol_of = symbol_of;
	hsa.symbols = p->symbols.entry;
	hsa.symbols_mask = SYMBOLS_CAPACITY - 1;
	hsa.symbol_define = symbol_define;
	r = capture_create(&identity, &hsa, &p->capture);
	if (r < 0)
		return r;
	strings_init(&p->strings, capture_recorder(p->capture));
	symbols_init(&p->symbols, capture_recorder(p->capture), &p->strings);
	setup.capture = p->capture;
	setup.hello.recorder_bytes = capture_recorder(p->capture)->bytes;
	return worker_start(&setup);
}

static void kernels_load(struct program *p)
{
	char name[64];

	for (uint64_t i = 0; i < KERNELS; i++) {
		int bytes = snprintf(name, sizeof(name), "synthetic_kernel_%" PRIu64 ".kd", i);

		symbols_add(&p->symbols, KERNEL_OBJECT0 + 64 * i, name, (size_t)bytes);
	}
}

/* Queue @number's share of the first @n dispatches of the process. */
static uint64_t share_of(uint64_t n, uint64_t number)
{
	return n / options.queues + (number < n % options.queues);
}

static void submit(struct synth_queue *queue, uint64_t i)
{
	struct synth_packet packet = {
		.type = HSA_PACKET_TYPE_KERNEL_DISPATCH,
		.has_barrier = true,
		.kernel_object = KERNEL_OBJECT0 + 64 * (i % KERNELS),
		.variant = (uint32_t)(i % 60),
		.cookie = 1 + i % DURATIONS,
	};
	uint64_t index;

	/* Like synth_submit(), except that the application waits for room in the ring. */
	system_calls_enter();
	index = synth_add_index(program.capture, queue, 1);
	system_calls_leave();
	synth_put(queue, index, &packet);
	system_calls_enter();
	synth_ring(program.capture, queue, index);
	system_calls_leave();
}

/* In a file, so it outlives this process. */
static struct progress {
	_Atomic uint64_t begun, made;
} * progress;

static int progress_open(void)
{
	int fd = open(options.progress, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *shared = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, sizeof(*progress)))
		shared = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (shared == MAP_FAILED)
		return -errno;
	progress = shared;
	return 0;
}

/* Makes all marks, each with a different text, so that a second copy would show. */
static void *mark(void *argument)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	char text[64];

	(void)argument;
	for (uint64_t i = 0; i < options.marks; i++) {
		snprintf(text, sizeof(text), "mark %" PRIu64, i);
		atomic_store(&progress->begun, i + 1);
		markers_mark(text);
		atomic_store(&progress->made, i + 1);
		if (i % 8 == 7)
			nanosleep(&pause, NULL);
	}
	return NULL;
}

static bool is_crowded(void)
{
	return atomic_load(&program.is_polite) &&
	       (recorder_unacked(capture_recorder(program.capture)) > POLITE_FRAMES ||
		       capture_pending(program.capture) > POLITE_SLOTS);
}

/* Pause of a thread that polls @looks times per kernel, but at least @least_ns. */
static uint64_t pause_ns(uint64_t looks, uint64_t least_ns)
{
	uint64_t ns = options.rate ? 1000000000u / options.rate / looks : 0;

	return ns < least_ns ? least_ns : ns > PAUSE_NS_MAX ? PAUSE_NS_MAX : ns;
}

static void *produce(void *argument)
{
	uint64_t number = (uintptr_t)argument;
	uint64_t total = share_of(options.dispatches, number), done = 0;
	uint64_t start_ns = clock_monotonic_ns();

	if (options.calls && system_calls_trap() < 0)
		abort();
	while (done < total && !atomic_load(&program.is_told_to_end)) {
		uint64_t due = total, begin_ns = clock_monotonic_ns();

		if (is_crowded()) {
			/* Dispatches that were not made meanwhile are not made up for. */
			system_calls_pause(PAUSE_NS);
			start_ns += clock_monotonic_ns() - begin_ns;
			continue;
		}
		if (options.rate) {
			double s = (double)(clock_monotonic_ns() - start_ns) / 1e9;

			due = share_of((uint64_t)(s * (double)options.rate), number);
		}
		for (unsigned i = 0; i < POLITE_BURST && done < due && done < total; i++)
			submit(program.queue[number], done++);
		if (done < total && done >= due)
			system_calls_pause(pause_ns(LOOKS, PAUSE_NS));
	}
	atomic_fetch_add(&program.submitted, done);
	return NULL;
}

static bool wait_for(bool (*condition)(void), uint64_t ns)
{
	struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint64_t deadline = clock_monotonic_ns() + ns;

	while (!condition()) {
		if (clock_monotonic_ns() > deadline)
			return false;
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < PAUSE_NS_MAX / 2)
			pause.tv_nsec *= 2;
	}
	return true;
}

static uint64_t executed(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < options.queues; i++)
		sum += atomic_load(&program.queue[i]->executed);
	return sum;
}

static bool is_executed(void)
{
	return executed() == atomic_load(&program.submitted);
}

static bool is_acknowledged(void)
{
	return capture_pending(program.capture) == 0 &&
	       recorder_unacked(capture_recorder(program.capture)) == 0;
}

static int run(struct program *p)
{
	pthread_t thread[SYNTH_QUEUES_MAX], marker;

	for (unsigned i = 0; i < options.queues; i++) {
		p->queue[i] = synth_queue_new(QUEUE_PACKETS);
		if (synth_adopt(p->capture, p->queue[i], i % options.gpus) < 0)
			return 1;
	}
	if (options.acks && ack_times_start(capture_recorder(p->capture), options.acks_to))
		return 1;
	synth.pause_ns = (long)pause_ns(DEVICE_LOOKS, synth.pause_ns);
	synth_start(SYNTH_EAGER);
	for (unsigned i = 0; i < options.queues; i++)
		if (system_calls_thread(&thread[i], produce, (void *)(uintptr_t)i))
			return 1;
	if (options.marks && (progress_open() || pthread_create(&marker, NULL, mark, NULL)))
		return 1;
	for (unsigned i = 0; i < options.queues; i++)
		pthread_join(thread[i], NULL);
	if (options.marks)
		pthread_join(marker, NULL);
	if (!wait_for(is_executed, ACKED_WAIT_NS))
		return 1;
	if (!wait_for(is_acknowledged, ACKED_WAIT_NS))
		fprintf(stderr, "synthetic-shim: not all was acknowledged\n");
	if (options.acks)
		ack_times_print();
	if (options.calls)
		printf("calls futex=%" PRIu64 " others=%" PRIu64 "\n", system_calls.futex,
			system_calls.others);
	capture_stop(p->capture);
	if (!events_stop(clock_monotonic_ns() + ACKED_WAIT_NS))
		return 1;
	if (!worker_stop(true))
		return 1;
	if (!capture_pending(p->capture))
		capture_release_signals(p->capture);
	synth_stop();
	printf("dispatched rank=%d gpu=0 kernels=%" PRIu64 "\n", options.rank, executed());
	return 0;
}

static void on_user(int signal)
{
	(void)signal;
	atomic_store(&program.is_polite, false);
}

static void on_term(int signal)
{
	(void)signal;
	atomic_store(&program.is_told_to_end, true);
}

int main(int argc, char **argv)
{
	static const struct argp argp = {.options = known,
		.parser = parse,
		.doc = "A rank with a synthetic device, for tests of collectors."};
	int r;

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	synth.clock = ticks;
	synth.tick_mask = options.tick_bits ? (1ull << options.tick_bits) - 1 : UINT64_MAX;
	synth.takes_cookie = true;
	synth.is_forgetful = true;
	(void)signal(SIGTERM, on_term);
	(void)signal(SIGUSR1, on_user);
	r = shim_start(&program);
	if (r < 0) {
		fprintf(stderr, "synthetic-shim: %s\n", strerror(-r));
		return 1;
	}
	kernels_load(&program);
	return run(&program);
}
