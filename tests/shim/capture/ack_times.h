/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Measures how long frames wait between publication and acknowledgement, to the millisecond: a
 * thread polls the recorder. It must be stopped before the recorder is closed.
 */
#include <stdint.h>

struct recorder;

/*
 * One entry per frame, written to @path as soon as the frame is acknowledged, unless @path is NULL.
 */
struct ack_time {
	uint64_t published_ns; /* CLOCK_MONOTONIC */
	uint64_t waited_ns;
};

/* Returns 0 or -errno. */
int ack_times_start(const struct recorder *recorder, const char *path);
/* Stops the thread and prints "acks n=N p50_us=N p99_us=N max_us=N". */
void ack_times_print(void);
