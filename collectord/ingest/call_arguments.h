/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Formats the arguments of host calls as JSON. Any thread; no allocation. The words come from an
 * untrusted process: whatever they are, the result is one valid object of bounded length.
 */
#include <stddef.h>
#include <stdint.h>

#include "proto/names/host_calls.h"

/* Enough for the longest call with all words and names. */
#define ARGUMENTS_BYTES_MAX 2048u

/*
 * Writes {"bytes":4096,...} to @ret with a NUL and returns its length. "{}" if there are no
 * arguments.
 */
size_t arguments_json(
	const struct host_call_info *info, const uint64_t *words, char ret[ARGUMENTS_BYTES_MAX]);

/* Writes "dst,src,bytes" to @ret with a NUL. */
void arguments_names(const struct host_call_info *info, char ret[ARGUMENTS_BYTES_MAX]);
