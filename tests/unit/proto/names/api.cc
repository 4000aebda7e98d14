// SPDX-License-Identifier: MIT
// Compiling is the test: our prototypes against the installed hip_runtime_api.h. Its templates
// would make overloads of the functions, so it is read as a C compiler reads it.
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/names/host_calls.h"
#include "tests/unit/proto/names/abi.h"

#define __HIP_PLATFORM_AMD__ 1
#undef __cplusplus
#define _Bool bool
#include <hip/hip_runtime_api.h>

HOST_CALLS_API(SAME)

/* The fields that COPY3D reads. */
static_assert(offsetof(hipMemcpy3DParms, extent) == 128, "extent");
static_assert(offsetof(hipMemcpy3DParms, kind) == 152, "kind");
static_assert(sizeof(hipExtent) == sizeof(host_extent), "hipExtent");
static_assert(offsetof(hipExtent, depth) == offsetof(host_extent, depth), "hipExtent");
static_assert(offsetof(hipPitchedPtr, ptr) == offsetof(host_pitched, address), "hipPitchedPtr");
static_assert(hipMemcpyHostToHost == 0 && hipMemcpyDefault == 4, "hipMemcpyKind");
static_assert(hipErrorNoDevice == 100, "what a wrapper without HIP returns");
