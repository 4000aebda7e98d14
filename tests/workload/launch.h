/* SPDX-License-Identifier: MIT */
/*
 * The parent of the ranks, for when no launcher started us: forks and execs them with torchrun's
 * variables, waits, and prints what each submitted. Single-threaded; never initialises HSA.
 */
#pragma once

#include "tests/workload/options.h"

/* Does not return when @opt wants it and exec succeeds: becomes the program without HSA. -errno. */
int launch_without_hsa(char **argv);

/* The exit status: 0, or that of the first rank that failed (128 + N after signal N). */
int launch_ranks(const struct options *opt, char **argv);
