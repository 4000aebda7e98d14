/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * roctx's functions as we export them (shim.map). Any application thread; no roctx header is
 * needed to build.
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
