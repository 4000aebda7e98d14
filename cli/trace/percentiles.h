/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Durations of many kernels, to tell their percentiles exactly: 4 bytes each, those of 4.3 s and
 * more 8. A zeroed struct is an empty list. One thread.
 */
#include <stddef.h>
#include <stdint.h>

struct durations_chunk;

struct durations {
	struct durations_chunk *first, *last;
	int64_t *long_ns; /* what does not fit in 4 bytes */
	size_t count, long_count, long_capacity;
};

/* Nearest rank: the least duration that so many percent are not longer than. */
struct durations_percentiles {
	int64_t p50_ns, p95_ns, p99_ns;
};

/* Room to put lists together and in order; zeroed at first. */
struct durations_room {
	uint32_t *ns, *other;
	int64_t *long_ns;
	size_t capacity, long_capacity;
};

/* -ENOMEM. One below 0, of a damaged file, counts as 0. */
int durations_add(struct durations *durations, int64_t ns);
void durations_done(struct durations *durations);

/* Of @count lists as one. -ENODATA: they are empty; -ENOMEM. */
int durations_of(const struct durations *const *lists, size_t count, struct durations_room *room,
	struct durations_percentiles *ret);
void durations_room_done(struct durations_room *room);
