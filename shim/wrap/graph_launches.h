/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * How often each executable graph was launched. Any thread; never waits. For so many graphs as
 * the table holds; others have no number.
 */
#include <stdint.h>

#define GRAPH_LAUNCH_UNKNOWN UINT64_MAX

/* 0 at the first launch of @exec. */
uint64_t graph_launches_next(const void *exec);

/* It ends: another one may have its address. */
void graph_launches_forget(const void *exec);
