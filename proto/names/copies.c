/* SPDX-License-Identifier: MIT */
#include "proto/names/copies.h"

#include <stddef.h>

const char *rtl_copy_how_name(unsigned how)
{
	static const char *const name[RTL_COPY_HOW_COUNT] = {
		[RTL_COPY_ASYNC] = "async",
		[RTL_COPY_ON_ENGINE] = "on_engine",
		[RTL_COPY_RECT] = "rect",
		[RTL_COPY_BATCH] = "batch",
		[RTL_COPY_TIMES] = "times",
	};

	return how < RTL_COPY_HOW_COUNT ? name[how] : NULL;
}

const char *rtl_copy_direction_name(unsigned direction)
{
	static const char *const name[RTL_COPY_DIRECTION_COUNT] = {
		[RTL_COPY_UNKNOWN] = "unknown",
		[RTL_COPY_H2D] = "h2d",
		[RTL_COPY_D2H] = "d2h",
		[RTL_COPY_D2D] = "d2d",
		[RTL_COPY_P2P] = "p2p",
		[RTL_COPY_H2H] = "h2h",
	};

	return direction < RTL_COPY_DIRECTION_COUNT ? name[direction] : NULL;
}

enum rtl_copy_direction rtl_copy_direction_between(int32_t source, int32_t target)
{
	if (source < RTL_COPY_PLACE_HOST || target < RTL_COPY_PLACE_HOST)
		return RTL_COPY_UNKNOWN;
	if (source == RTL_COPY_PLACE_HOST)
		return target == RTL_COPY_PLACE_HOST ? RTL_COPY_H2H : RTL_COPY_H2D;
	if (target == RTL_COPY_PLACE_HOST)
		return RTL_COPY_D2H;
	return source == target ? RTL_COPY_D2D : RTL_COPY_P2P;
}
