/* SPDX-License-Identifier: MIT
 *
 * shim-ticks: the clock that is found by the real runtime's conversion of ticks alone is the one
 * that the thunk reads. Fails where a point is further off than it says.
 */
#include "tests/softgpu/test_gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "proto/base/clock.h"
#include "shim/hsa/clock.h"

#define TURNS 200u

static struct gpu gpu;

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

int main(void)
{
	struct agents agents = {.count = 1};
	struct clock_source thunk = {.agents = &agents, .kfd = -1};
	struct clock_source line = {.agents = &agents,
		.kfd = -1,
		.convert = hsa_amd_profiling_convert_tick_to_system_domain};
	struct recorder_anchor first, last, found;
	uint64_t worst_ns = 0;
	void *symbol;

	gpu_open(&gpu);
	agents.gpu[0].handle = gpu.agent[0];
	HSA_OK(hsa_agent_get_info(gpu.agent[0], (hsa_agent_info_t)HSA_AMD_AGENT_INFO_DRIVER_NODE_ID,
		&agents.gpu[0].kfd_node));
	symbol = dlsym(RTLD_DEFAULT, "hsaKmtGetClockCounters");
	assert_non_null(symbol);
	memcpy(&thunk.counters, &symbol, sizeof(symbol));
	assert_int_equal(clock_source_read(&thunk, 0, &first), 0);
	do
		assert_int_equal(clock_source_read(&thunk, 0, &last), 0);
	while (last.boottime_ns - first.boottime_ns < 10000000);
	agents.gpu[0].tick_hz = clock_source_estimate_hz(&first, &last);
	assert_true(agents.gpu[0].tick_hz != 0);
	for (unsigned i = 0; i < TURNS; i++) {
		uint64_t by_thunk_ns, off_ns;

		assert_int_equal(clock_source_read(&line, 0, &found), 0);
		assert_int_equal(clock_source_read(&thunk, 0, &last), 0);
		/*
		 * Both counters follow the same clock, so both measure the same time between the
		 * two points.
		 */
		by_thunk_ns =
			last.boottime_ns + (uint64_t)((double)(int64_t)(found.tick - last.tick) *
						      1e9 / (double)agents.gpu[0].tick_hz);
		off_ns = distance(by_thunk_ns, found.boottime_ns);
		assert_in_range(off_ns, 0, found.error_ns + last.error_ns);
		worst_ns = off_ns > worst_ns ? off_ns : worst_ns;
	}
	fprintf(stderr, "%u points, none further off than %lu ns\n", TURNS, worst_ns);
	gpu_close();
	return 0;
}
