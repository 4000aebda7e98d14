// SPDX-License-Identifier: MIT
// A module of its own, for hipModuleLoad.
#include <hip/hip_runtime.h>

extern "C" __global__ void second_module(int *x)
{
	x[threadIdx.x] = 1;
}
