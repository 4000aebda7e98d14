// SPDX-License-Identifier: MIT
/*
 * Stands before every target: the linker gives libFuzzer this function for the target's.
 *
 * With RTL_FUZZ_WRITE=FOLDER inputs are written there, numbered, and not run. libFuzzer keeps what
 * reaches something new and goes on from there, and what is reached is of addresses, times and
 * threads, too: no two searches are the same. Here nothing is reached but, by each of the first
 * RTL_FUZZ_SEEDS inputs, a thing of its own, so that they are kept and nothing else is: what is
 * made of them is of them and of the seed alone.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "tests/fuzz/bench.h"
#include "tests/fuzz/fuzz.h"

#define SEEDS_MAX  4096u
/* Processor time of all threads. -timeout= goes by the clock, which a busy machine uses up, too. */
#define CPU_NS_MAX 20000000000u

int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int __real_LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* libFuzzer counts each as code that an input may reach; it clears them before the next input. */
__attribute__((section("__libfuzzer_extra_counters"))) static uint8_t reached[SEEDS_MAX];

static void write_input(const char *folder, const uint8_t *data, size_t bytes)
{
	static unsigned count;
	const char *seeds = getenv("RTL_FUZZ_SEEDS");
	CLEANUP(close_p) int fd = -1;
	char path[256];

	/* The first of all is empty, and of the program, not of libFuzzer's search. */
	if (!bytes)
		return;
	snprintf(path, sizeof(path), "%s/%06u", folder, count);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	FUZZ_MUST(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
	FUZZ_MUST(seeds && strtoul(seeds, NULL, 10) <= SEEDS_MAX);
	if (count < strtoul(seeds, NULL, 10))
		reached[count] = 1;
	count++;
}

int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const char *folder = getenv("RTL_FUZZ_WRITE");
	uint64_t from = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
	int r;

	if (folder) {
		write_input(folder, data, bytes);
		return 0;
	}
	r = __real_LLVMFuzzerTestOneInput(data, bytes);
	FUZZ_MUST(clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - from < CPU_NS_MAX);
	return r;
}
