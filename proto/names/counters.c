/* SPDX-License-Identifier: MIT */
#include "proto/names/counters.h"

#include <stddef.h>

const char *const rtl_queue_counter_name[] = {
	RTL_QUEUE_COUNTERS_PRODUCER(RTL_COUNTER_NAME) RTL_QUEUE_COUNTERS_HARVESTER(
		RTL_COUNTER_NAME)};

const char *const rtl_process_counter_name[] = {RTL_PROCESS_COUNTERS(RTL_COUNTER_NAME)};

const char *rtl_untimed_name(unsigned why)
{
	static const char *const name[RTL_UNTIMED_COUNT] = {
		[RTL_UNTIMED_SHARED] = "untimed_shared",
		[RTL_UNTIMED_IPC] = "untimed_ipc",
		[RTL_UNTIMED_EARLY] = "untimed_early",
		[RTL_UNTIMED_SIGNAL_POOL] = "untimed_signal_pool",
		[RTL_UNTIMED_TIMESTAMP_INVALID] = "untimed_timestamp_invalid",
		[RTL_UNTIMED_TIMESTAMP_FAILED] = "untimed_timestamp_failed",
		[RTL_UNTIMED_UNSTAMPED] = "untimed_unstamped",
		[RTL_UNTIMED_MODE] = "untimed_mode",
	};

	return why < RTL_UNTIMED_COUNT ? name[why] : NULL;
}
