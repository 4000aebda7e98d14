// SPDX-License-Identifier: MIT
// Likewise against hip_ext.h, whose functions C++ mangles.
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime.h>

/* hip_ext.h has a template that only hipcc's headers make complete. */
template <int N, class Tuple> void pArgs(Tuple &, void *);
template <class F, class Tuple> Tuple validateArgsCountType(F, Tuple);
#include <hip/hip_ext.h>

#include "proto/names/host_calls.h"
#include "tests/unit/proto/names/abi.h"

HOST_CALLS_EXT(SAME)
