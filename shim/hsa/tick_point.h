/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Relates a GPU's counter to CLOCK_BOOTTIME without reading the counter: the runtime converts any
 * tick by a line through its own readings, and a search finds the tick that this line puts at the
 * present time. For runtimes that expose their clock to no other library (ROCm 6.3 and 6.4 where
 * /dev/kfd cannot be opened). One thread at a time.
 */
#include <stdint.h>

#include <hsa/hsa.h>

/* hsa_amd_profiling_convert_tick_to_system_domain() of the table. */
typedef hsa_status_t tick_convert(hsa_agent_t agent, uint64_t tick, uint64_t *system_ns);

/* The last point that was found, where the next search begins; all 0 at first. */
struct tick_point {
	uint64_t tick;
	uint64_t boottime_ns;
};

/*
 * Error bound of a point: the runtime keeps its line within half a microsecond of readings that are
 * good to four (GpuAgent::TranslateTime).
 */
#define TICK_POINT_ERROR_NS 4500u

/*
 * Finds a tick close to the present, and its exact time on the line. @tick_hz is the rate of the
 * agent's counter. -EIO if the runtime does not convert, or its answers form no line.
 */
int tick_point_read(
	tick_convert *convert, hsa_agent_t agent, uint64_t tick_hz, struct tick_point *last);
