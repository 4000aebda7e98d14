// SPDX-License-Identifier: MIT
#include "tests/workload/stamp.h"

/* Later times come from the runtime's conversion of ticks that the device never wrote. */
#define STAMP_NS_MAX (UINT64_C(1) << 62)

int stamp_open(const struct gpu *gpu, uint64_t every, uint64_t shared, struct stamp *ret)
{
	*ret = (struct stamp){.gpu = gpu, .every = every, .shared = shared};
	for (int i = 0; (every || shared) && i < STAMP_SIGNALS; i++)
		GPU_TRY(hsa_signal_create, 1, 0, NULL, &ret->signal[i]);
	return 0;
}

uint64_t stamp_batch_max(const struct stamp *stamp)
{
	if (!stamp->every && !stamp->shared)
		return UINT64_MAX;
	return (STAMP_SIGNALS - 1) * (stamp->every + stamp->shared);
}

static void stamp_read(struct stamp *stamp, hsa_signal_t signal)
{
	hsa_amd_profiling_dispatch_time_t time = {0};

	gpu_wait(signal);
	if (hsa_amd_profiling_get_dispatch_time(stamp->gpu->agent, signal, &time) ==
			HSA_STATUS_SUCCESS &&
		time.start && time.start < STAMP_NS_MAX && time.end && time.end < STAMP_NS_MAX)
		stamp->timed++;
}

hsa_signal_t stamp_next(struct stamp *stamp)
{
	uint64_t n = stamp->dispatches++;
	hsa_signal_t signal;

	if (!stamp->every && !stamp->shared)
		return (hsa_signal_t){0};
	if (stamp->every && (n + 1) % stamp->every)
		return (hsa_signal_t){0};
	if (stamp->shared && n % stamp->shared)
		return stamp->signal[(stamp->used - 1) % STAMP_SIGNALS];
	signal = stamp->signal[stamp->used % STAMP_SIGNALS];
	if (stamp->used++ >= STAMP_SIGNALS)
		stamp_read(stamp, signal);
	hsa_signal_store_relaxed(signal, stamp->shared ? (hsa_signal_value_t)stamp->shared : 1);
	return signal;
}

/* The last group may be incomplete; nothing else counts down what is missing. */
static void stamp_end_group(struct stamp *stamp)
{
	if (stamp->shared && stamp->dispatches % stamp->shared)
		hsa_signal_subtract_relaxed(stamp->signal[(stamp->used - 1) % STAMP_SIGNALS],
			(hsa_signal_value_t)(stamp->shared - stamp->dispatches % stamp->shared));
}

void stamp_close(struct stamp *stamp)
{
	uint64_t in_flight = stamp->used < STAMP_SIGNALS ? stamp->used : STAMP_SIGNALS;

	stamp_end_group(stamp);
	for (uint64_t i = stamp->used - in_flight; i < stamp->used; i++)
		stamp_read(stamp, stamp->signal[i % STAMP_SIGNALS]);
	for (int i = 0; (stamp->every || stamp->shared) && i < STAMP_SIGNALS; i++)
		hsa_signal_destroy(stamp->signal[i]);
}
