/* SPDX-License-Identifier: MIT */
/*
 * The life of one rank, in a process of its own: takes its GPU, loads its kernels, does its work
 * and ends in the way it was told to. Called by main, once.
 */
#pragma once

#include "tests/workload/options.h"
#include "tests/workload/rank.h"

/* The exit status, for the ways to end that return. */
int worker_run(const struct options *opt, const struct rank_info *info, char **argv);
