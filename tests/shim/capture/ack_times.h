/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * How long a frame waits from being published to being acknowledged, to the millisecond: a thread
 * looks at the recorder. It must end before the recorder does.
 */
#include <stdint.h>

struct recorder;

/* Of each frame, to @path unless that is NULL, as soon as its Ack is there. */
struct ack_time {
	uint64_t published_ns; /* CLOCK_MONOTONIC */
	uint64_t waited_ns;
};

/* 0 or -errno. */
int ack_times_start(const struct recorder *recorder, const char *path);
/* Ends the thread and prints "acks n=N p50_us=N p99_us=N max_us=N". */
void ack_times_print(void);
