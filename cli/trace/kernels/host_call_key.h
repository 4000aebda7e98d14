/* SPDX-License-Identifier: MIT */
#pragma once
/* One number for a host call, or for something else that is numbered within its process. */
#include <stdint.h>

/* The upper bits contain the process. */
#define HOST_CALL_PROCESS_SHIFT 40

static inline int64_t host_call_key(int64_t process, int64_t number)
{
	return (int64_t)((uint64_t)process << HOST_CALL_PROCESS_SHIFT | (uint64_t)number);
}
