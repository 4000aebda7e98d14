/* SPDX-License-Identifier: MIT */
#pragma once
/* Arrays with room for one more element, of which each is copied a few times however many come. Pure. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/*
 * @array (NULL when there is none yet), of @count elements of @size bytes, keeps no capacity: it is
 * the power of two at or above the count. NULL: no memory, and @array stays as it is.
 */
static inline void *grow_by_one(void *array, size_t count, size_t size)
{
	if (count & (count - 1)) /* not a power of two: there is room */
		return array;
	return reallocarray(array, count ? count * 2 : 1, size);
}

/* By half: @array has @count of @capacity elements. 0 or -ENOMEM. */
#define GROW(array, count, capacity)                                                               \
	({                                                                                         \
		int grown_ = 0;                                                                    \
		if ((count) == (capacity)) {                                                       \
			size_t wanted_ = (capacity) + (capacity) / 2 + 64;                         \
			void *moved_ = reallocarray((array), wanted_, sizeof(*(array)));           \
			if (moved_) {                                                              \
				(array) = moved_;                                                  \
				(capacity) = wanted_;                                              \
			} else {                                                                   \
				grown_ = -ENOMEM;                                                  \
			}                                                                          \
		}                                                                                  \
		grown_;                                                                            \
	})
