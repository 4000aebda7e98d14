/* SPDX-License-Identifier: MIT */
#pragma once
/* The private collector of a launch: the first rtl run of the launch starts it, the others join. */
#include "cli/run/collector/collector.h"
#include "cli/run/job/why.h"
#include "cli/run/output/output.h"

/*
 * Attaches to a private collector that writes @output: that of this launch, or a new one. Returns 0
 * if attached; an exit status after a message; or -errno if there is no collector, with @why if the
 * reason is known.
 */
int run_private_attach(struct run_collector *collector, const struct run_options *options,
	const struct run_launch *launch, struct run_output *output, char why[RUN_WHY_BYTES]);

/* Attaches only to a collector that this launch already has. Returns 0 or -errno. */
int run_private_join(struct run_collector *collector, const struct run_options *options,
	const struct run_launch *launch, const struct run_output *output);

/* Removes the socket's name after the session has been closed and we were its last runner. */
void run_private_forget(const struct run_collector *collector);

/* Records that the database is another file now, for ranks of the launch that start later. */
void run_private_note_file(const struct run_collector *collector);
