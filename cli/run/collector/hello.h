/* SPDX-License-Identifier: MIT */
#pragma once
/* RunnerHello: tells a collector what is recorded, and takes its answer. */
#include "cli/run/collector/collector.h"

/*
 * Sends RunnerHello and waits for the answer, before a command runs whose signals would have to
 * wait. With @is_early it does not wait for errors that only the disk can cause. Returns 0 or the
 * errors of client_receive().
 */
int run_collector_greet(struct run_collector *collector, const struct run_options *options,
	const char *job, const char *output, bool is_early);

/*
 * The two halves of run_collector_greet(), to send the same RunnerHello on a new connection. The
 * message may be in the socket's queue before a collector reads it. A caller that waits for several
 * events waits for the answer itself.
 */
int run_collector_say_hello(struct run_collector *collector, bool is_early);
/* Returns 0, or -EBADMSG if @reply is not an answer to RunnerHello. */
int run_collector_take(struct run_collector *collector, const Rtl__Frame *reply);
