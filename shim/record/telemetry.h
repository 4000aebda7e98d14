/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Encodes Anchors and Counters frames from the recorder's contents: what has changed since the last
 * time, or everything for a new connection. Runs on the shim thread; no sockets, no clocks.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/limits.h"
#include "shim/record/recorder.h"

struct telemetry {
	uint64_t anchors_sent[RECORDER_GPUS]; /* last value of recorder_anchors.count */
	uint64_t queue_sum[RECORDER_QUEUES]; /* counters only rise, so their sum shows any change */
	uint64_t process_sum;
};

/* Most bytes that telemetry_encode() writes. */
#define TELEMETRY_BYTES_MAX (512u << 10)

/* Returns the bytes of whole frames written to @at; 0 if nothing changed. */
size_t telemetry_encode(
	struct telemetry *telemetry, const struct recorder *recorder, bool is_whole, uint8_t *at);
