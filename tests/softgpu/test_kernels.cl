// SPDX-License-Identifier: MIT
/* Kernels to be named and timed, never executed. */
__kernel void alpha(void)
{
}

__kernel void beta(void)
{
}

__kernel void gamma(__global int *a, int n)
{
	int i = __builtin_amdgcn_workitem_id_x();

	if (i < n)
		a[i] += n;
}

__kernel void delta(__global int *a)
{
	a[0] = 1;
}

/* Named as HIP's own, which the device copies and fills for. */
__kernel void __amd_rocclr_copyBuffer(void)
{
}

__kernel void __amd_rocclr_fillBufferAligned(void)
{
}
