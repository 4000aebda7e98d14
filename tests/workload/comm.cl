/* SPDX-License-Identifier: MIT */
/*
 * The collectives of rtl-demo, as an object of their own like RCCL's. A few groups stride over
 * the buffer, as RCCL's channels do. Ranks exchange nothing through device memory: a rank
 * reduces the shards that it holds, so that every access stays inside its own buffers.
 */
#include "kernels.h"

#define COLLECTIVE(name, symbol)                                                                   \
	__kernel __attribute__((reqd_work_group_size(KERNEL_WORKGROUP, 1, 1))) void name(          \
		__global void *a, __global void *b, __global void *c, int n0, int n1, int n2,      \
		float f) __asm__(symbol);                                                          \
	__kernel __attribute__((reqd_work_group_size(KERNEL_WORKGROUP, 1, 1))) void name(          \
		__global void *a, __global void *b, __global void *c, int n0, int n1, int n2, float f)

#define FIRST                                                                                      \
	((int)(__builtin_amdgcn_workgroup_id_x() * KERNEL_WORKGROUP +                              \
		__builtin_amdgcn_workitem_id_x()))

/* c[n0] = (a[n0] + b[n0]) * f, by n1 groups. */
COLLECTIVE(all_reduce, SYM_ALL_REDUCE)
{
	for (int i = FIRST; i < n0; i += n1 * KERNEL_WORKGROUP)
		((__global float *)c)[i] =
			(((__global float *)a)[i] + ((__global float *)b)[i]) * f;
}

/* c[n0] = f * the sum of the n2 shards of a[n2 x n0], by n1 groups. */
COLLECTIVE(reduce_scatter, SYM_REDUCE_SCATTER)
{
	for (int i = FIRST; i < n0; i += n1 * KERNEL_WORKGROUP) {
		float sum = 0;

		for (int shard = 0; shard < n2; shard++)
			sum += ((__global float *)a)[shard * n0 + i];
		((__global float *)c)[i] = sum * f;
	}
}
