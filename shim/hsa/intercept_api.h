/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The types of ROCr's intercept queue, which only its C++ header hsa_api_trace.h declares;
 * tests/unit/shim/hsa compares them. They are meant for tools, and the same in all releases.
 */
#include <stdint.h>

#include <hsa/hsa.h>

/* Passes @count packets on to the interceptor that was registered before, or to the device. */
typedef void hsa_intercept_writer(const void *packets, uint64_t count);

/* Called under the queue's mutex, on the thread that rings the doorbell or on one of ROCr's. */
typedef void hsa_intercept_handler(const void *packets, uint64_t count, uint64_t user_index,
	void *data, hsa_intercept_writer *writer);

typedef hsa_status_t hsa_intercept_register(
	hsa_queue_t *queue, hsa_intercept_handler *handler, void *data);
