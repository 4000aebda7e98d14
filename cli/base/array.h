/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Arrays that grow so that each element is copied only a few times, however many are added; and
 * search in sorted ones. Pure functions.
 */
#include <stddef.h>
#include <stdlib.h>

#include "cli/base/memory.h"

/*
 * @array has @count elements of @size bytes (NULL if it has none yet) and stores no capacity, which
 * is always the power of two at or above the count.
 */
static inline void *grow_by_one(void *array, size_t count, size_t size)
{
	if (count & (count - 1)) /* not a power of two, so there is room */
		return array;
	return xreallocarray(array, count ? count * 2 : 1, size);
}

/* Grows by half: @array has @count of @capacity elements. Its value is 0. */
#define GROW(array, count, capacity)                                                               \
	({                                                                                         \
		int grown_ = 0;                                                                    \
		if ((count) == (capacity)) {                                                       \
			(capacity) += (capacity) / 2 + 64;                                         \
			(array) = xreallocarray((array), (capacity), sizeof(*(array)));            \
		}                                                                                  \
		grown_;                                                                            \
	})

/*
 * Binary search: the least index below @count for which the expression @is_before, of the index
 * @at, is false; @count if there is none. It is true for all smaller indices and false for all
 * others.
 */
#define PARTITION_POINT(count, at, is_before)                                                      \
	({                                                                                         \
		size_t low_ = 0, high_ = (count);                                                  \
		while (low_ < high_) {                                                             \
			size_t at = low_ + (high_ - low_) / 2;                                     \
			if (is_before)                                                             \
				low_ = at + 1;                                                     \
			else                                                                       \
				high_ = at;                                                        \
		}                                                                                  \
		low_;                                                                              \
	})
