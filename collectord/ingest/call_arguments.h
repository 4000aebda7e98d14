/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The arguments of host calls as JSON text. Any thread; no allocation. Words are a stranger's:
 * whatever they are, the result is one valid, bounded object.
 */
#include <stddef.h>
#include <stdint.h>

#include "proto/names/host_calls.h"

/* All words of a call at their longest, with names. */
#define ARGUMENTS_BYTES_MAX 2048u

/* {"bytes":4096,...} into @ret, ended; returns its length. "{}" for none. */
size_t arguments_json(
	const struct host_call_info *info, const uint64_t *words, char ret[ARGUMENTS_BYTES_MAX]);

/* "dst,src,bytes" into @ret, ended. */
void arguments_names(const struct host_call_info *info, char ret[ARGUMENTS_BYTES_MAX]);
