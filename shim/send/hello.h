/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Encodes the first frame of a connection, from what the process knows about itself. It is built
 * once, and the same bytes are sent on every reconnect.
 */
#include <stddef.h>
#include <stdint.h>

#include "shim/hsa/agents.h"
#include "shim/base/process/identity.h"
#include "proto/settings/rank.h"

struct hello {
	const struct identity *identity;
	const struct rank_info *rank;
	const struct agents *agents;
	const char *mode;
	const char *front_end;
	const char *runtime;
	uint64_t recorder_bytes;
	unsigned unrecorded; /* errno why there is no recorder; 0 if there is one */
};

/*
 * Returns a frame with its prefix from malloc(). It is at most HELLO_BYTES_MAX long; the command is
 * truncated for that.
 */
uint8_t *hello_encode(const struct hello *hello, size_t *ret_bytes);
