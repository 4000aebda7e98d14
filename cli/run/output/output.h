/* SPDX-License-Identifier: MIT */
#pragma once
/* The file that a private collector writes: its name, and whether it may be written there. */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/run/job/launcher.h"
#include "cli/run/job/options.h"

struct run_output {
	char path[PATH_MAX]; /* absolute */
	/* Where it is recorded until it is published; "" if it is recorded in its place. */
	char local[PATH_MAX];
	bool is_default; /* the user gave no name */
	char display[PATH_MAX];
};

/*
 * Expands @pattern to the name of an output: %p is the pid of this process, %h the host, %j the job
 * as in the session's name, %r the rank, %q{VARIABLE} an environment variable, %% a percent sign.
 * Returns 0, or an exit status after a message about an unknown field.
 */
int run_output_expand(const char *pattern, const struct run_launch *launch, char ret[PATH_MAX]);

/*
 * Returns where a private collector would write. The result is 0, or an exit status after a
 * message.
 */
int run_output_name(struct run_output *output, const struct run_options *options,
	const struct run_launch *launch);

/*
 * Checks whether a new database may be created there: refuses an existing file (unless -f or trace)
 * and a folder that cannot be written. Changes nothing. Returns 0; an exit status after a message;
 * or -errno if a name that the user did not choose cannot be used, which never stops the job.
 */
int run_output_check(const struct run_output *output, const struct run_options *options);

/*
 * Makes room: removes (-f) or moves aside an existing file; if a default name is taken, @output
 * gets a number. Called after run_output_check(), with the election's lock held. Returns the same
 * values.
 */
int run_output_clear(struct run_output *output, const struct run_options *options);

/*
 * True if @output is the file @device, @inode. With a default name the numbered names are tried,
 * too; @output becomes the one that matches.
 */
bool run_output_is(struct run_output *output, uintmax_t device, uintmax_t inode);
