/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Counts the launches of each executable graph. Any thread; never waits. Graphs that do not fit
 * into the table have no number.
 */
#include <stdint.h>

#define GRAPH_LAUNCH_UNKNOWN UINT64_MAX

/* Number of this launch of @exec, from 0; GRAPH_LAUNCH_UNKNOWN if the table is full. */
uint64_t graph_launches_next(const void *exec);

/* The graph is destroyed, so another one may get its address. */
void graph_launches_forget(const void *exec);
