/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * How long a frame waits from being published to being acknowledged, to the millisecond: a thread
 * looks at the recorder. It must end before the recorder does.
 */
struct recorder;

/* 0 or -errno. */
int ack_times_start(const struct recorder *recorder);
/* Ends the thread and prints "acks n=N p50_us=N p99_us=N max_us=N". */
void ack_times_print(void);
