/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The abstract address (unix(7)) of a collector whose socket lies in a folder that is closed to
 * others: any process of the network namespace reaches it, and both sides look at whose the other
 * is. Pure; any thread.
 */
#include <stddef.h>
#include <string.h>

#define ABSTRACT_PREFIX "rtl:"

/* Writes sun_path, which has @room bytes, and returns how many of them count; 0: @path is too long
 * for one. */
static inline size_t abstract_address(const char *path, char *sun_path, size_t room)
{
	size_t prefix = strlen(ABSTRACT_PREFIX), bytes = strlen(path);

	if (1 + prefix + bytes > room)
		return 0;
	sun_path[0] = '\0';
	memcpy(sun_path + 1, ABSTRACT_PREFIX, prefix);
	memcpy(sun_path + 1 + prefix, path, bytes);
	return 1 + prefix + bytes;
}
