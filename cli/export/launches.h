/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Which host calls have launched something, for readers that want to be told with the call. Two
 * bits a call where calls are dense, and 16 bytes more for one with several kernels. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/trace/id_map.h"

/* Numbers of calls from here on are in no export's arrows. */
#define LAUNCHES_CALLS_MAX ((int64_t)1 << 27)

/* Zeroed: none. */
struct launches {
	struct idmap index; /* process << 18 | call >> 9 */
	struct launches_chunk *chunks;
	size_t count;
	struct idmap more; /* process << 27 | call: how many kernels, where they are several */
};

/* One more kernel of @call: how many it had before. -ENOMEM. */
int64_t launches_add_kernel(struct launches *launches, size_t process, int64_t call);
/* 1: the first copy of the call; 0: there was one before; -ENOMEM. */
int launches_add_copy(struct launches *launches, size_t process, int64_t call);
/* How many kernels. */
int64_t launches_kernels(const struct launches *launches, size_t process, int64_t call);
bool launches_has_copy(const struct launches *launches, size_t process, int64_t call);
void launches_done(struct launches *launches);
