/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Anchors and Counters frames from what the recorder holds: only what changed since the last
 * time, or everything for a fresh connection. The shim thread; no sockets, no clocks.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/limits.h"
#include "shim/record/recorder.h"

struct telemetry {
	uint64_t anchors_sent[RECORDER_GPUS]; /* by recorder_anchors.count */
	uint64_t queue_sum[RECORDER_QUEUES];  /* counters only rise: a sum shows any change */
	uint64_t process_sum;
};

/* Room that telemetry_encode() needs at most. */
#define TELEMETRY_BYTES_MAX (512u << 10)

/* Bytes of whole frames written to @at; 0: nothing changed. */
size_t telemetry_encode(
	struct telemetry *telemetry, const struct recorder *recorder, bool is_whole, uint8_t *at);
