/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What `rtl run` prints before and after the command. cmd_run.c calls the parts in order: job/ (what
 * is asked for), output/ (which file may be written where), collector/ (find, elect, start, join),
 * child/ (start, signals, wait), result.c (the last lines). There is one thread. The parts write to
 * stderr themselves, because errors of rtl are all that a user of `rtl run` sees of it.
 */
#include <stdbool.h>

#include "cli/database/session/verdict.h"
#include "cli/run/child/child.h"
#include "cli/run/collector/collector.h"
#include "cli/run/job/launcher.h"
#include "cli/run/job/options.h"

/*
 * Warns if the command would load a runtime with a known fault that this job can meet. One process
 * of a launch prints the line; most jobs are not examined. Blocks while the runtime starts.
 */
void run_say_known(const struct run_options *options, const struct run_launch *launch,
	const char *shim, const char *softgpu);

/*
 * Prints why queues of the command were not followed and what to do about it, one line for each
 * reason.
 */
void run_say_unfollowed(struct query *query, const struct verdict *verdict);

/*
 * The command has ended with @status: closes the session, waits for it, and prints the last line.
 * Returns the exit status of rtl.
 */
int run_verdict(struct run_collector *collector, const struct run_options *options,
	const struct run_child *child, int status);

/*
 * The command was not started, the reason was printed, and @status is the exit status: closes the
 * session without a message. Otherwise its collector would wait for a rank and keep its file in
 * use. Returns false if the session may not be closed.
 */
bool run_verdict_unstarted(struct run_collector *collector, struct run_child *child, int status);
