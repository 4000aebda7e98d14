/* SPDX-License-Identifier: MIT */
/*
 * The compute kernels of rtl-demo: small, but real: each stays inside the buffers that its
 * arguments describe and needs nothing but the compiler (no device library). Kernels that a
 * job would get from Tensile, Composable Kernel or ATen carry such a name by an asm label.
 */
#include "kernels.h"

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define KERNEL(name, symbol)                                                                       \
	__kernel __attribute__((reqd_work_group_size(KERNEL_WORKGROUP, 1, 1))) void name(          \
		__global void *a, __global void *b, __global void *c, int n0, int n1, int n2,      \
		float f) __asm__(symbol);                                                          \
	__kernel __attribute__((reqd_work_group_size(KERNEL_WORKGROUP, 1, 1))) void name(          \
		__global void *a, __global void *b, __global void *c, int n0, int n1, int n2, float f)

#define ITEM  ((int)__builtin_amdgcn_workitem_id_x())
#define GROUP ((int)__builtin_amdgcn_workgroup_id_x())
#define INDEX (GROUP * KERNEL_WORKGROUP + ITEM)

#define LOG2_E 1.44269504f

static inline void group_sync(void)
{
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	__builtin_amdgcn_s_barrier();
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

static inline float exp_of(float x)
{
	return __builtin_exp2f(x * LOG2_E);
}

/* The sum of @x over the workgroup, to every item. */
static inline float group_sum(__local float *scratch, float x)
{
	scratch[ITEM] = x;
	group_sync();
	for (int half_width = KERNEL_WORKGROUP / 2; half_width > 0; half_width /= 2) {
		if (ITEM < half_width)
			scratch[ITEM] += scratch[ITEM + half_width];
		group_sync();
	}
	x = scratch[0];
	group_sync();
	return x;
}

/* c[n] = a[n] + b[n]: the one whose result the host checks on a real GPU. */
KERNEL(vector_add, SYM_VECTOR_ADD)
{
	if (INDEX < n0)
		((__global float *)c)[INDEX] =
			((__global float *)a)[INDEX] + ((__global float *)b)[INDEX];
}

/*
 * c[n0 x n1] = a[n0 x n2] * b[n2 x n1], f times over; a group of 16 x 16 items makes a tile.
 * n0 and n1 are multiples of GEMM_TILE_MAX, n2 of GEMM_TILE_K.
 */
#define GEMM(name, symbol, TILE)                                                                   \
	KERNEL(name, symbol)                                                                       \
	{                                                                                          \
		__local half tile_a[TILE * GEMM_TILE_K], tile_b[GEMM_TILE_K * TILE];               \
		const int tiles_n = n1 / TILE, row0 = GROUP / tiles_n * TILE;                      \
		const int col0 = GROUP % tiles_n * TILE, x = ITEM % 16, y = ITEM / 16;             \
		float sum[TILE / 16][TILE / 16];                                                   \
                                                                                                   \
		for (int i = 0; i < TILE / 16; i++)                                                \
			for (int j = 0; j < TILE / 16; j++)                                        \
				sum[i][j] = 0;                                                     \
		for (int pass = 0; pass < (int)f * n2; pass += GEMM_TILE_K) {                      \
			const int k0 = pass % n2;                                                  \
                                                                                                   \
			for (int e = ITEM; e < TILE * GEMM_TILE_K; e += KERNEL_WORKGROUP) {        \
				const int r = e / GEMM_TILE_K, k = e % GEMM_TILE_K;                \
                                                                                                   \
				tile_a[e] = ((__global half *)a)[(row0 + r) * n2 + k0 + k];        \
				tile_b[k * TILE + r] = ((__global half *)b)[(k0 + k) * n1 + col0 + r]; \
			}                                                                          \
			group_sync();                                                              \
			for (int k = 0; k < GEMM_TILE_K; k++)                                      \
				for (int i = 0; i < TILE / 16; i++)                                \
					for (int j = 0; j < TILE / 16; j++)                        \
						sum[i][j] += (float)tile_a[(y + 16 * i) * GEMM_TILE_K + k] * \
							     (float)tile_b[k * TILE + x + 16 * j]; \
			group_sync();                                                              \
		}                                                                                  \
		for (int i = 0; i < TILE / 16; i++)                                                \
			for (int j = 0; j < TILE / 16; j++)                                        \
				((__global half *)c)[(row0 + y + 16 * i) * n1 + col0 + x + 16 * j] = \
					(half)(sum[i][j] / f);                                     \
	}

GEMM(gemm_fwd, SYM_GEMM_FWD, 128)
GEMM(gemm_dgrad, SYM_GEMM_DGRAD, 128)
GEMM(gemm_wgrad, SYM_GEMM_WGRAD, 128)
GEMM(gemm_fwd_slow, SYM_GEMM_FWD_SLOW, 32)
GEMM(gemm_dgrad_slow, SYM_GEMM_DGRAD_SLOW, 32)
GEMM(gemm_wgrad_slow, SYM_GEMM_WGRAD_SLOW, 32)

/* Scores of query row @row of @head against key row @key; qkv rows are 3 * @width wide. */
static inline float attn_score(__global const half *qkv, int width, int head, int row, int key)
{
	__global const half *q = qkv + row * 3 * width + head * ATTN_HEAD_DIM;
	__global const half *k = qkv + key * 3 * width + width + head * ATTN_HEAD_DIM;
	float s = 0;

	for (int d = 0; d < ATTN_HEAD_DIM; d++)
		s += (float)q[d] * (float)k[d];
	return s * 0.1767767f;
}

/* c[n0 x n1] = causal attention of a = qkv[n0 x 3 n1]; an item per (row, head), online softmax. */
KERNEL(attn_fwd, SYM_ATTN_FWD)
{
	const int heads = n1 / ATTN_HEAD_DIM, row = INDEX / heads, head = INDEX % heads;
	__global const half *qkv = a;
	float sum[ATTN_HEAD_DIM], top = -1e30f, norm = 0;

	if (row >= n0)
		return;
	for (int d = 0; d < ATTN_HEAD_DIM; d++)
		sum[d] = 0;
	for (int key = 0; key <= row; key++) {
		__global const half *v = qkv + key * 3 * n1 + 2 * n1 + head * ATTN_HEAD_DIM;
		const float s = attn_score(qkv, n1, head, row, key);
		const float new_top = s > top ? s : top, fade = exp_of(top - new_top);
		const float p = exp_of(s - new_top);

		for (int d = 0; d < ATTN_HEAD_DIM; d++)
			sum[d] = sum[d] * fade + p * (float)v[d];
		norm = norm * fade + p;
		top = new_top;
	}
	for (int d = 0; d < ATTN_HEAD_DIM; d++)
		((__global half *)c)[row * n1 + head * ATTN_HEAD_DIM + d] = (half)(sum[d] / norm);
}

/* The queries' gradient into c = dqkv[n0 x 3 n1], from a = qkv and b = dout[n0 x n1]. */
KERNEL(attn_bwd, SYM_ATTN_BWD)
{
	const int heads = n1 / ATTN_HEAD_DIM, row = INDEX / heads, head = INDEX % heads;
	__global const half *qkv = a, *dout = (__global const half *)b + row * n1 + head * ATTN_HEAD_DIM;
	float dq[ATTN_HEAD_DIM], norm = 0, mean = 0;

	if (row >= n0)
		return;
	for (int d = 0; d < ATTN_HEAD_DIM; d++)
		dq[d] = 0;
	for (int pass = 0; pass < 2; pass++) {
		for (int key = 0; key <= row; key++) {
			__global const half *k = qkv + key * 3 * n1 + n1 + head * ATTN_HEAD_DIM;
			const float p = exp_of(attn_score(qkv, n1, head, row, key));
			float dp = 0;

			for (int d = 0; d < ATTN_HEAD_DIM; d++)
				dp += (float)dout[d] * (float)k[n1 + d];
			if (pass == 0) {
				norm += p;
				mean += p * dp;
				continue;
			}
			for (int d = 0; d < ATTN_HEAD_DIM; d++)
				dq[d] += p / norm * (dp - mean / norm) * (float)k[d];
		}
	}
	for (int d = 0; d < ATTN_HEAD_DIM; d++)
		((__global half *)c)[row * 3 * n1 + head * ATTN_HEAD_DIM + d] = (half)dq[d];
}

/* c[n0 x n1] = a / rms(a) * b[n1]; a workgroup per row. */
KERNEL(rms_norm, SYM_RMS_NORM)
{
	__local float scratch[KERNEL_WORKGROUP];
	__global const half *x = (__global const half *)a + GROUP * n1, *w = b;
	float sum = 0;

	for (int i = ITEM; i < n1; i += KERNEL_WORKGROUP)
		sum += (float)x[i] * (float)x[i];
	sum = group_sum(scratch, sum);
	for (int i = ITEM; i < n1; i += KERNEL_WORKGROUP)
		((__global half *)c)[GROUP * n1 + i] =
			(half)((float)x[i] * __builtin_amdgcn_rsqf(sum / n1 + f) * (float)w[i]);
}

/* Rotates the pairs of c = qkv[n0 x 3 n1]'s first 2 n1 columns by a[n1] = (cos, sin) of each angle. */
KERNEL(rotary, SYM_ROTARY)
{
	const int row = INDEX / n1, pair = INDEX % n1;
	__global half *x = (__global half *)c + row * 3 * n1 + 2 * pair;
	__global const float *angle = (__global const float *)a + 2 * (pair % (n1 / 2));
	float re, im;

	if (row >= n0)
		return;
	re = x[0];
	im = x[1];
	x[0] = (half)(re * angle[0] - im * angle[1]);
	x[1] = (half)(re * angle[1] + im * angle[0]);
}

/* c[n0 x n1] = silu(gate) * up, where a row of a[n0 x 2 n1] is gate, up. */
KERNEL(silu_mul, SYM_SILU_MUL)
{
	const int row = INDEX / n1, col = INDEX % n1;

	if (row < n0) {
		const float gate = ((__global half *)a)[row * 2 * n1 + col];
		const float up = ((__global half *)a)[row * 2 * n1 + n1 + col];

		((__global half *)c)[INDEX] = (half)(gate / (1 + exp_of(-gate)) * up);
	}
}

/* c[n0] = a[n0] + b[n0] */
KERNEL(add, SYM_ADD)
{
	if (INDEX < n0)
		((__global half *)c)[INDEX] = ((__global half *)a)[INDEX] + ((__global half *)b)[INDEX];
}

/* c[n0 x n1] = softmax of the rows of a. */
KERNEL(softmax, SYM_SOFTMAX)
{
	__local float scratch[KERNEL_WORKGROUP];
	__global const half *x = (__global const half *)a + GROUP * n1;
	float sum = 0;

	for (int i = ITEM; i < n1; i += KERNEL_WORKGROUP)
		sum += exp_of((float)x[i]);
	sum = group_sum(scratch, sum);
	for (int i = ITEM; i < n1; i += KERNEL_WORKGROUP)
		((__global half *)c)[GROUP * n1 + i] = (half)(exp_of((float)x[i]) / sum);
}

/* c[n0 x n1] = a - mean(a * b) * b per row. */
KERNEL(norm_grad, SYM_NORM_GRAD)
{
	__local float scratch[KERNEL_WORKGROUP];
	__global const half *dy = (__global const half *)a + GROUP * n1;
	__global const half *x = (__global const half *)b + GROUP * n1;
	float sum = 0;

	for (int i = ITEM; i < n1; i += KERNEL_WORKGROUP)
		sum += (float)dy[i] * (float)x[i];
	sum = group_sum(scratch, sum) / n1;
	for (int i = ITEM; i < n1; i += KERNEL_WORKGROUP)
		((__global half *)c)[GROUP * n1 + i] = (half)((float)dy[i] - sum * (float)x[i]);
}

/* Adam on b[n0] by the gradient a[n0]; c[2 n0] holds the moments, f is the rate. */
KERNEL(adam, SYM_ADAM)
{
	__global float *moment = (__global float *)c + 2 * INDEX;

	if (INDEX < n0) {
		const float g = ((__global float *)a)[INDEX];

		moment[0] = 0.9f * moment[0] + 0.1f * g;
		moment[1] = 0.99f * moment[1] + 0.01f * g * g;
		((__global float *)b)[INDEX] -=
			f * moment[0] * __builtin_amdgcn_rsqf(moment[1] + 1e-8f);
	}
}

/* Ends when a[0] becomes non-zero, which the host never does. */
KERNEL(hang, SYM_HANG)
{
	while (__atomic_load_n((volatile __global int *)a, __ATOMIC_RELAXED) == 0)
		__builtin_amdgcn_s_sleep(100);
}
