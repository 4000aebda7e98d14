// SPDX-License-Identifier: MIT
// What the stand-in for RCCL launches, under the name of RCCL's own; and kernels of the programs.
__kernel void ncclDevKernel_Generic_1(__global int *p)
{
	p[__builtin_amdgcn_workgroup_id_x()] = 1;
}

__kernel void work_a(__global int *p)
{
	p[__builtin_amdgcn_workgroup_id_x()] = 2;
}

__kernel void work_b(__global int *p)
{
	p[__builtin_amdgcn_workgroup_id_x()] = 3;
}
