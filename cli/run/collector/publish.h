/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A record whose place is on a network file system is written to a local file, which is moved to its
 * place after the end.
 */
#include "cli/run/collector/collector.h"
#include "cli/run/job/why.h"
#include "cli/run/output/output.h"

/* True if it would be on a network file system, where the collector does not store files. */
bool run_output_is_remote(const struct run_output *output);

/*
 * Chooses a local place for the file (@output->local) and reserves its name at the remote place;
 * with @is_late an existing file there is continued. Called after run_output_clear(). Returns 0, or
 * -errno with @why.
 */
int run_output_go_local(struct run_output *output, const struct run_options *options, bool is_late,
	char why[RUN_WHY_BYTES]);

/* Called if nothing is recorded there after all. */
void run_output_leave_local(struct run_output *output);

/*
 * Checks that more than the collector's reserve is free. If not: -ENOSPC with @why if the user
 * named the output, otherwise only a message.
 */
int run_output_check_room(const struct run_output *output, const struct run_options *options,
	char why[RUN_WHY_BYTES]);

/*
 * Moves the file to its final place after the session has been closed and we were its last runner.
 * Returns false, after a message, if that failed.
 */
bool run_publish(struct run_collector *collector);
