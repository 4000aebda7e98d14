/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Keeps which host calls have launched something, for readers that need this together with the
 * call. It takes two bits per call where calls are dense, and 16 bytes more for a call with several
 * kernels. Everything runs on one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/trace/id_map.h"

/* Calls with this number or a larger one have no arrows in any export. */
#define LAUNCHES_CALLS_MAX ((int64_t)1 << 27)

/* Zeroed: empty. */
struct launches {
	struct idmap index; /* process << 18 | call >> 9 */
	struct launches_chunk *chunks;
	size_t count;
	struct idmap more; /* process << 27 | call: number of kernels, if there are several */
};

/* Adds a kernel of @call. Returns the number of kernels that the call had before, or -ENOMEM. */
int64_t launches_add_kernel(struct launches *launches, size_t process, int64_t call);
/* Adds a copy of @call. Returns 1 if it is the first one, 0 if not, or -ENOMEM. */
int launches_add_copy(struct launches *launches, size_t process, int64_t call);
/* Returns the number of kernels of @call. */
int64_t launches_kernels(const struct launches *launches, size_t process, int64_t call);
bool launches_has_copy(const struct launches *launches, size_t process, int64_t call);
void launches_done(struct launches *launches);
