/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A GPU's counter beside CLOCK_BOOTTIME without reading either: the runtime converts any tick by a
 * line through readings of its own, and that line is followed to the tick that is now. For runtimes
 * that tell their clock to no other library (ROCm 6.3 and 6.4 where /dev/kfd cannot be opened). One
 * thread at a time.
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

/* How far a point of that line may be from the truth: the runtime keeps it within half a
 * microsecond of readings that are good to four (GpuAgent::TranslateTime). */
#define TICK_POINT_ERROR_NS 4500u

/*
 * The tick at about CLOCK_BOOTTIME, and exactly its place on the line. @tick_hz: of the agent's
 * counter. -EIO: the runtime does not convert, or what it says is no line.
 */
int tick_point_read(
	tick_convert *convert, hsa_agent_t agent, uint64_t tick_hz, struct tick_point *last);
