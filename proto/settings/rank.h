/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Which rank of which job this process is, from the environment its launcher gave it. A pure
 * function: no file, no getenv, no allocation; any thread. What the launcher does not say
 * stays unknown and is never 0.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/base/limits.h"

struct rank_number {
	bool is_known;
	uint32_t value;
};

struct rank_info {
	const char *launcher; /* "torchrun", "openmpi", ...; NULL: none known */
	struct rank_number rank;
	struct rank_number local_rank;
	struct rank_number world_size;
	struct rank_number attempt;
	char job[LABEL_BYTES_MAX]; /* the launcher's job key or RTL_JOB_ID; "": none */
	bool is_job_reused;	   /* later launches of this node may have the same one */
	bool is_own_word;	   /* PyTorch's variables: no launcher around it knows better */
};

/* @environment: NULL-terminated "NAME=value" strings. The innermost launcher wins. */
void rank_detect(const char *const *environment, struct rank_info *ret);

/*
 * True for the one process of a launch on its node that says what concerns all of them, local rank
 * 0; and for a process whose local rank is not known: rank 0 may be on another node.
 */
bool rank_is_first(const struct rank_info *info);
