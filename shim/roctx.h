/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * roctx's functions as we export them (shim.map), and what they ask of markers.c. Any
 * application thread; no roctx header is needed to build.
 */
#include <stdint.h>

typedef uint64_t roctx_range_id;

void roctxMarkA(const char *message);
void roctxMark(const char *message);
int roctxRangePushA(const char *message);
int roctxRangePush(const char *message);
int roctxRangePop(void);
roctx_range_id roctxRangeStartA(const char *message);
roctx_range_id roctxRangeStart(const char *message);
void roctxRangeStop(roctx_range_id id);

/* markers.c: levels as roctx counts them, from 0; -1: no range is open. */
int markers_push(const char *text);
int markers_pop(void);
void markers_mark(const char *text);
uint64_t markers_start_id(void);
void markers_start(uint64_t id, const char *text);
void markers_stop(uint64_t id);
