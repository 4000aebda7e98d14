// SPDX-License-Identifier: MIT
#include "tests/reliability/clocks/stepped_clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct stepped_clocks *clocks;

/* Before main(), and so before any other thread. */
__attribute__((constructor)) static void clocks_map(void)
{
	const char *path = getenv("RTL_CLOCKS");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *map;

	if (!path)
		return;
	map = mmap(NULL, sizeof(*clocks), PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		perror("RTL_CLOCKS");
		_exit(99);
	}
	close(fd);
	clocks = map;
}

static void add_ns(struct timespec *time, int64_t ns)
{
	ns += time->tv_nsec;
	time->tv_sec += ns / 1000000000;
	time->tv_nsec = ns % 1000000000;
	if (time->tv_nsec < 0) {
		time->tv_nsec += 1000000000;
		time->tv_sec--;
	}
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *ret)
{
	int r = (int)syscall(SYS_clock_gettime, id, ret);

	if (!r && clocks && id == CLOCK_REALTIME)
		add_ns(ret, clocks->realtime_ns);
	if (!r && clocks && id == CLOCK_BOOTTIME)
		add_ns(ret, clocks->boottime_ns);
	return r;
}
