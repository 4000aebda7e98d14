/* SPDX-License-Identifier: MIT */
/*
 * Which rank this process is, according to the launcher's variables. Called by main before any
 * thread; reads the environment and nothing else.
 */
#pragma once

#include <stdbool.h>

/* -1 is "not known". */
struct rank_info {
	const char *launcher;
	int rank;
	int local_rank;
	int world_size;
};

/* False when no launcher's variables are set; @ret is then all unknown. */
bool rank_detect(struct rank_info *ret);

/* The number that picks a GPU: the rank on this node where known, else the rank. */
static inline int rank_on_node(const struct rank_info *info)
{
	return info->local_rank >= 0 ? info->local_rank : info->rank;
}
