/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A runtime of HSA without ROCr: the tables that a tool gets in OnLoad, before the synthetic device
 * of tests/shim/capture. Any tool of HSA_TOOLS_LIB runs on it, ours or another, and nothing but the tool
 * and the program costs anything: no driver, no thread. One GPU, one executable. It calls itself
 * libhsa-runtime64.so.1, so that a tool which links the runtime gets this one.
 */
#include <stdbool.h>
#include <stdint.h>

#include <hsa/hsa.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RUNTIME_API	__attribute__((visibility("default")))
#define RUNTIME_KERNELS 10u
#define RUNTIME_GPU	1u
#define RUNTIME_CPU	2u

/* As hsa_init and hsa_shut_down: loads what HSA_TOOLS_LIB names, a path. False: it does not load.
 */
RUNTIME_API bool runtime_begin(void);
RUNTIME_API void runtime_end(void);

/* Returns the handle of a kernel of the executable. */
RUNTIME_API uint64_t runtime_kernel(unsigned number);

/* The device executes all that was published, on this thread. */
RUNTIME_API void runtime_device_run(void);

/*
 * Whether the tool has read all times that the device wrote: asked the runtime for them, or made
 * the signals ready for their next use.
 */
RUNTIME_API bool runtime_is_read(void);

/* Kernels ever done, and those of them that had a signal. */
RUNTIME_API uint64_t runtime_executed(void);
RUNTIME_API uint64_t runtime_timed(void);

/* table.cc: struct HsaApiTable. */
void *runtime_table(void);

#ifdef __cplusplus
}
#endif
