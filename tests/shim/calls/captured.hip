// SPDX-License-Identifier: MIT
// A kernel (KERNEL) and its launch (LAUNCH), by the one function of HIP 5.2 that a stream capture takes
// launches from. Compiled twice: for the programs, and for the stand-in for RCCL.
#include <hip/hip_runtime.h>

extern "C" __global__ void KERNEL(int *x)
{
	x[blockIdx.x] = 1;
}

extern "C" int LAUNCH(unsigned grid, hipStream_t stream)
{
	int *nothing = nullptr;
	void *params[] = {&nothing};

	return hipLaunchKernel((const void *)KERNEL, dim3(grid), dim3(1), params, 0, stream);
}
