/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Durations of many kernels, for exact percentiles. A zeroed struct is an empty list. One thread.
 */
#include <stddef.h>
#include <stdint.h>

struct durations {
	int64_t *ns;
	size_t count, capacity;
};

/* Nearest rank: the least duration such that this percentage is not longer. */
struct durations_percentiles {
	int64_t p50_ns, p95_ns, p99_ns;
};

/* Memory to join and sort lists; must be zeroed first. */
struct durations_room {
	int64_t *ns, *other;
	size_t capacity;
};

/* A negative duration, from a damaged file, counts as 0. */
void durations_add(struct durations *durations, int64_t ns);
void durations_done(struct durations *durations);

/*
 * Computes the percentiles of @count lists together. Returns 0, or -ENODATA if all are empty.
 */
int durations_of(const struct durations *const *lists, size_t count, struct durations_room *room,
	struct durations_percentiles *ret);
void durations_room_done(struct durations_room *room);
