// SPDX-License-Identifier: MIT
#include "tests/shim/capture/ack_times.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "proto/base/limits.h"
#include "shim/record/recorder.h"

#define LOOK_NS 1000000

static struct ack_times {
	const struct recorder *recorder;
	pthread_t thread;
	_Atomic bool stop;
	int fd;					   /* -1 if there is no file */
	uint64_t published_ns[2 * RECORDER_CELLS]; /* more than can be unacknowledged */
	uint32_t *us;
	size_t count, capacity;
} times = {.fd = -1};

static void put(uint64_t published_ns, uint64_t ns)
{
	struct ack_time time = {published_ns, ns};

	if (times.fd >= 0 && write(times.fd, &time, sizeof(time)) != sizeof(time))
		abort();
	if (times.count == times.capacity) {
		times.capacity = times.capacity ? 2 * times.capacity : 1024;
		times.us = realloc(times.us, times.capacity * sizeof(*times.us));
		if (!times.us)
			abort();
	}
	times.us[times.count++] = (uint32_t)(ns / 1000);
}

static void *look(void *unused)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	uint64_t published = 0, acked = 0;

	(void)unused;
	while (!atomic_load(&times.stop)) {
		/* In this order, so that too many rather than too few count as unacknowledged. */
		uint64_t now_published = recorder_published(times.recorder);
		uint64_t unacked = recorder_unacked(times.recorder);
		uint64_t now_ns = clock_monotonic_ns();

		while (published < now_published)
			times.published_ns[published++ % (2 * RECORDER_CELLS)] = now_ns;
		for (; acked + unacked < published; acked++) {
			uint64_t at_ns = times.published_ns[acked % (2 * RECORDER_CELLS)];

			put(at_ns, now_ns - at_ns);
		}
		nanosleep(&pause, NULL);
	}
	return NULL;
}

int ack_times_start(const struct recorder *recorder, const char *path)
{
	if (path) {
		times.fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
		if (times.fd < 0)
			return -errno;
	}
	times.recorder = recorder;
	return -pthread_create(&times.thread, NULL, look, NULL);
}

static int compare(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

void ack_times_print(void)
{
	size_t n;

	atomic_store(&times.stop, true);
	pthread_join(times.thread, NULL);
	n = times.count;
	if (n)
		qsort(times.us, n, sizeof(*times.us), compare);
	printf("acks n=%zu p50_us=%" PRIu32 " p99_us=%" PRIu32 " max_us=%" PRIu32 "\n", n,
		n ? times.us[n / 2] : 0, n ? times.us[n * 99 / 100] : 0, n ? times.us[n - 1] : 0);
	free(times.us);
	if (times.fd >= 0)
		close(times.fd);
}
