/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The first frame of a connection, from what the process knows of itself. Built once by the
 * shim thread; the connection sends the same bytes on every reconnect.
 */
#include <stddef.h>
#include <stdint.h>

#include "shim/hsa/agents.h"
#include "shim/base/identity.h"
#include "proto/settings/rank.h"

struct hello {
	const struct identity *identity;
	const struct rank_info *rank;
	const struct agents *agents;
	const char *mode;
	const char *front_end;
	const char *runtime;
	uint64_t recorder_bytes;
	unsigned unrecorded; /* errno: there is no recorder; 0: there is */
};

/* malloc'ed frame with its prefix, never past HELLO_BYTES_MAX: the command is cut for it. */
uint8_t *hello_encode(const struct hello *hello, size_t *ret_bytes);
