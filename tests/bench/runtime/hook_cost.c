// SPDX-License-Identifier: MIT
/*
 * hook_cost BATCHES PACKETS [own] [paced]: kernels submitted as HIP does it, an index, a packet and
 * a doorbell each, on the runtime without ROCr, with whatever tool HSA_TOOLS_LIB names. Between two
 * batches the device runs and the tool reads all times, so that each batch finds the tool as the
 * one before did.
 *
 * own: each packet has one of 64 signals of the program's, which is stored to before; when all have
 * fired they are used again at once, so that a store finds times that the tool still needs.
 *
 * paced: before each batch a pause in which the tools that read times have read them, so that what
 * reads none is as cold, and is seen by as much of the machine's life, as what does.
 *
 * Prints one line of JSON; ns are of the processor:
 *
 *   dispatches, timed  kernels done, and those whose packet had a signal by then
 *   thread_ns          of this thread within submit_batch(), per dispatch
 *   alone, alone_ns    batches during which no other thread used the core, here or on the
 *                      host below, as far as a probe before and after tells; likewise, of these
 *   probe_ns           that probe, at best
 *   tool_ns            likewise, and all that the tool's own threads took
 *   clock_ns           one clock_gettime(CLOCK_MONOTONIC), of the best 1,000
 *   seconds            of the clock, for all of that
 *   threads, switches  of the tool, and how often they came out of a wait meanwhile
 *   tool               the file of HSA_TOOLS_LIB, if it is in this process, or ""
 *
 * getppid(), which nothing else calls, stands before and after each batch, for strace.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "tests/bench/runtime/runtime.h"

#define RING	     4096u
#define WAIT_MAX_NS  120000000000ull
#define LOOK_NS	     100000
#define CLOCKS	     1000u
#define CLOCK_ROUNDS 10u
#define KERNEL_NS    2000u
#define SIGNALS	     64u
/* The shim's thread looks every 5 ms. */
#define PACE_NS	     6000000
/* Additions that do not wait for each other: beside a neighbour half as long again. */
#define PROBES	     4000u
#define ALONE	     1.1
/* Time in which a tool can read what has ended, if nothing tells it when. */
#define PAUSE_NS     20000000
/* Batches after which tools have made what they make on first use. */
#define WARM_UP	     16u

#define EXPORT __attribute__((visibility("default"), noinline))

EXPORT void submit_batch(hsa_queue_t *queue, unsigned packets);

static hsa_signal_t own[SIGNALS];
static bool has_own, is_paced;
static uint64_t submitted;

/* The cost of a batch, and the slower of the probes before and after it. */
struct batch_cost {
	uint64_t spent_ns;
	uint64_t probe_ns;
};

static uint64_t cpu_ns(clockid_t clock)
{
	struct timespec at;

	clock_gettime(clock, &at);
	return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

static void submit(hsa_queue_t *queue, unsigned i)
{
	hsa_kernel_dispatch_packet_t *ring = queue->base_address, *at;
	hsa_kernel_dispatch_packet_t body = {
		.setup = 1,
		.workgroup_size_x = 256,
		.workgroup_size_y = 1,
		.workgroup_size_z = 1,
		.grid_size_x = 256 * (1 + i % 8),
		.grid_size_y = 1,
		.grid_size_z = 1,
		.kernel_object = runtime_kernel(i % RUNTIME_KERNELS),
		.kernarg_address =
			(void *)(uintptr_t)KERNEL_NS, /* the synthetic device's duration */
	};
	uint64_t index;

	if (has_own) {
		body.completion_signal = own[i % SIGNALS];
		hsa_signal_store_screlease(body.completion_signal, 1);
	}
	index = hsa_queue_add_write_index_screlease(queue, 1);
	at = &ring[index & (queue->size - 1)];
	memcpy((char *)at + sizeof(at->header), (char *)&body + sizeof(at->header),
		sizeof(body) - sizeof(at->header));
	__atomic_store_n(&at->header, HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE,
		__ATOMIC_RELEASE);
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

/* This function is measured; its name also finds it in the profiler. */
void submit_batch(hsa_queue_t *queue, unsigned packets)
{
	for (unsigned i = 0; i < packets; i++)
		submit(queue, i);
}

/*
 * If the tool's own thread held the queue while a doorbell rang, that thread publishes the packets,
 * which may be after submit_batch().
 */
static bool is_executed(void)
{
	runtime_device_run();
	return runtime_executed() >= submitted;
}

static bool wait_until(bool (*is_met)(void), const char *what)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	uint64_t deadline_ns = clock_monotonic_ns() + WAIT_MAX_NS;

	while (!is_met()) {
		if (clock_monotonic_ns() > deadline_ns) {
			fprintf(stderr, "hook_cost: the tool has not %s in 120 s\n", what);
			return false;
		}
		nanosleep(&pause, NULL);
	}
	return true;
}

/* Counts the threads other than this one, and their context switches. */
static unsigned threads_look(uint64_t *ret_switches)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	unsigned threads = 0;

	*ret_switches = 0;
	while (tasks && (entry = readdir(tasks))) {
		char path[64], line[128];
		uint64_t switches;
		FILE *file;

		if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%.20s/status", entry->d_name);
		file = fopen(path, "re");
		threads++;
		while (file && fgets(line, sizeof(line), file))
			if (sscanf(line, "voluntary_ctxt_switches: %" SCNu64, &switches) == 1)
				*ret_switches += switches;
		if (file)
			fclose(file);
	}
	if (tasks)
		closedir(tasks);
	return threads;
}

static const char *tool_in_process(void)
{
	const char *path = getenv("HSA_TOOLS_LIB"), *name;
	FILE *maps = path ? fopen("/proc/self/maps", "re") : NULL;
	char line[4096 + 128];
	bool is_there = false;

	if (!maps)
		return "";
	name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	while (fgets(line, sizeof(line), maps)) {
		const char *file = strrchr(line, '/');

		line[strcspn(line, "\n")] = '\0';
		is_there |= file && !strcmp(file + 1, name);
	}
	fclose(maps);
	return is_there ? name : "";
}

static double clock_cost(void)
{
	uint64_t best_ns = UINT64_MAX;

	for (unsigned round = 0; round < CLOCK_ROUNDS; round++) {
		uint64_t start_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID), spent_ns;

		for (unsigned i = 0; i < CLOCKS; i++)
			(void)clock_monotonic_ns();
		spent_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns;
		if (spent_ns < best_ns)
			best_ns = spent_ns;
	}
	return (double)best_ns / CLOCKS;
}

/* Runs as many operations at a time as the core can; a thread that shares the core slows these,
 * whatever it runs. */
static uint64_t probe_ns(void)
{
	uint64_t start_ns = clock_monotonic_ns(), a = 0, b = 0, c = 0, d = 0;

	for (unsigned i = 0; i < PROBES; i++) {
		a++, b++, c++, d++;
		__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
	}
	return clock_monotonic_ns() - start_ns;
}

/* Adds to @cost. False: the tool keeps packets back. */
static bool batch_run(hsa_queue_t *queue, unsigned packets, struct batch_cost *cost)
{
	uint64_t start_ns, before_ns = probe_ns(), after_ns;

	start_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
	(void)getppid();
	submit_batch(queue, packets);
	(void)getppid();
	cost->spent_ns += cpu_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns;
	after_ns = probe_ns();
	cost->probe_ns = before_ns > after_ns ? before_ns : after_ns;
	submitted += packets;
	return wait_until(is_executed, "published all packets");
}

/* False: the tool does not come to an end with them. @costs: zeroed, one for each batch. */
static bool batches_run(
	hsa_queue_t *queue, unsigned long batches, unsigned packets, struct batch_cost *costs)
{
	for (unsigned long i = 0; i < batches; i++) {
		if (has_own) {
			for (unsigned done = 0; done < packets; done += SIGNALS)
				if (!batch_run(queue, SIGNALS, &costs[i]))
					return false;
			nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
			continue;
		}
		if (is_paced)
			nanosleep(&(struct timespec){.tv_nsec = PACE_NS}, NULL);
		if (!batch_run(queue, packets, &costs[i]) ||
			!wait_until(runtime_is_read, "read all times"))
			return false;
	}
	return true;
}

static void alone_print(const struct batch_cost *costs, unsigned long batches, unsigned packets)
{
	uint64_t alone_ns = 0, best_ns = costs[0].probe_ns;
	unsigned long alone = 0;

	for (unsigned long i = 0; i < batches; i++)
		if (costs[i].probe_ns < best_ns)
			best_ns = costs[i].probe_ns;
	for (unsigned long i = 0; i < batches; i++) {
		if ((double)costs[i].probe_ns > ALONE * (double)best_ns)
			continue;
		alone_ns += costs[i].spent_ns;
		alone++;
	}
	printf("{\"alone\": %lu, \"alone_ns\": %.2f, \"probe_ns\": %" PRIu64 ", ", alone,
		(double)alone_ns / ((double)alone * packets), best_ns);
}

/* @costs: zeroed, for the longer of warming up and @batches. */
static int measure(
	hsa_queue_t *queue, unsigned long batches, unsigned packets, struct batch_cost *costs)
{
	uint64_t spent_ns = 0, outside_ns, switches, before, process_ns, thread_ns, begin_ns;
	double dispatches = (double)batches * packets;
	unsigned threads;

	if (!batches_run(queue, WARM_UP, packets, costs))
		return 1;
	memset(costs, 0, WARM_UP * sizeof(*costs));
	process_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
	thread_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
	begin_ns = clock_monotonic_ns();
	(void)threads_look(&before);
	if (!batches_run(queue, batches, packets, costs))
		return 1;
	threads = threads_look(&switches);
	for (unsigned long i = 0; i < batches; i++)
		spent_ns += costs[i].spent_ns;
	outside_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - thread_ns - spent_ns;
	process_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - process_ns;
	alone_print(costs, batches, packets);
	printf("\"dispatches\": %" PRIu64 ", \"timed\": %" PRIu64 ", \"thread_ns\": %.2f, "
	       "\"tool_ns\": %.2f, \"clock_ns\": %.2f, \"seconds\": %.3f, "
	       "\"threads\": %u, \"switches\": %" PRIu64 ", \"tool\": \"%s\"}\n",
		runtime_executed(), runtime_timed(), (double)spent_ns / dispatches,
		(double)(process_ns - outside_ns) / dispatches, clock_cost(),
		(double)(clock_monotonic_ns() - begin_ns) / 1e9, threads, switches - before,
		tool_in_process());
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long batches = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned packets = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	hsa_agent_t gpu = {RUNTIME_GPU};
	struct batch_cost *costs;
	hsa_queue_t *queue;
	int r;

	for (int i = 3; i < argc; i++) {
		has_own |= !strcmp(argv[i], "own");
		is_paced |= !strcmp(argv[i], "paced");
	}
	if (!batches || !packets || packets > RING || (has_own && packets % SIGNALS)) {
		fprintf(stderr,
			"usage: hook_cost BATCHES PACKETS [own] [paced]: packets up to %u; own: by "
			"%u\n",
			RING, SIGNALS);
		return 2;
	}
	if (!runtime_begin() || hsa_executable_freeze((hsa_executable_t){1}, "") ||
		hsa_queue_create(gpu, RING, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue)) {
		fprintf(stderr, "hook_cost: no runtime\n");
		return 1;
	}
	for (unsigned i = 0; has_own && i < SIGNALS; i++)
		(void)hsa_signal_create(0, 0, NULL, &own[i]);
	costs = calloc(batches > WARM_UP ? batches : WARM_UP, sizeof(*costs));
	r = costs ? measure(queue, batches, packets, costs) : 1;
	free(costs);
	for (unsigned i = 0; has_own && i < SIGNALS; i++)
		(void)hsa_signal_destroy(own[i]);
	(void)hsa_queue_destroy(queue);
	runtime_end();
	return r;
}
