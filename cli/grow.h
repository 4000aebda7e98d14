/* SPDX-License-Identifier: MIT */
#pragma once
/* Arrays that grow by half: room for one more element. Pure. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/* @array has @count of @capacity elements. 0 or -ENOMEM. */
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
