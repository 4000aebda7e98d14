// SPDX-License-Identifier: MIT
/*
 * seen-killer RUNS SEED PROGRAM: runs PROGRAM RUNS times. Each time the program reports through a
 * word of shared memory how many of its kernels it has seen end, and is killed at a random moment.
 * Prints "pid told point" for each, with the number before the kill. In a third of the runs the
 * shim thread stops for good in the middle of a pass (RTL_FAULT=point:passing:hang), if this shim
 * has such points.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "proto/base/clock.h"

/* Longest life after the program has seen its first end. */
#define LIFE_NS	    30000000u
#define DEADLINE_NS 300000000000ull

static uint64_t random_below(uint64_t *state, uint64_t limit)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (*state >> 33) % limit;
}

static int fail(const char *what)
{
	perror(what);
	return 1;
}

static void become(const char *program, int fd, const char *point, unsigned passing, unsigned way)
{
	char path[64], first[16], fault[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getppid(), fd);
	snprintf(first, sizeof(first), "%u", way);
	snprintf(fault, sizeof(fault), "%s:%u:hang", point, passing);
	if (*point)
		setenv("RTL_FAULT", fault, 1);
	execl(program, program, "seen", "20", first, path, (char *)NULL);
	_exit(127);
}

static int run(const char *program, bool hold, uint64_t *seed)
{
	static const char *const points[] = {
		"after_done", "mid_label", "before_publish", "after_publish", "mid_free"};
	unsigned passing = 1 + (unsigned)random_below(seed, 40),
		 way = (unsigned)random_below(seed, 5);
	const char *point = hold ? points[random_below(seed, 5)] : "";
	uint64_t life_ns = random_below(seed, LIFE_NS), begin_ns, told = 0;
	int fd = memfd_create("told", MFD_CLOEXEC), status;
	_Atomic uint64_t *word;
	pid_t pid;

	if (fd < 0 || ftruncate(fd, sizeof(*word)))
		return fail("memfd");
	word = mmap(NULL, sizeof(*word), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (word == MAP_FAILED)
		return fail("mmap");
	pid = fork();
	if (pid < 0)
		return fail("fork");
	if (pid == 0)
		become(program, fd, point, passing, way);
	begin_ns = clock_monotonic_ns();
	while (!atomic_load(word)) {
		if (waitpid(pid, &status, WNOHANG) ||
			clock_monotonic_ns() - begin_ns > DEADLINE_NS) {
			fprintf(stderr, "seen-killer: %s saw no kernel end\n", program);
			kill(pid, SIGKILL);
			return 1;
		}
	}
	begin_ns = clock_monotonic_ns();
	/* Polls without sleeping, to hit the moment right after one of the program's stores. */
	while (clock_monotonic_ns() - begin_ns < life_ns)
		told = atomic_load(word);
	while (random_below(seed, 2) && atomic_load(word) == told &&
		clock_monotonic_ns() - begin_ns < 2 * LIFE_NS)
		;
	told = atomic_load_explicit(word, memory_order_acquire);
	kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	printf("%d %" PRIu64 " %s\n", (int)pid, told, *point ? point : "-");
	munmap((void *)word, sizeof(*word));
	close(fd);
	return !WIFSIGNALED(status);
}

int main(int argc, char **argv)
{
	unsigned long runs = argc == 4 ? strtoul(argv[1], NULL, 10) : 0;
	uint64_t seed = argc == 4 ? strtoull(argv[2], NULL, 10) : 0;
	int r = 0;

	if (!runs)
		fprintf(stderr, "usage: seen-killer RUNS SEED PROGRAM\n");
	for (unsigned long i = 0; !r && i < runs; i++)
		r = run(argv[3], i % 3 == 0, &seed);
	return runs ? r : 2;
}
