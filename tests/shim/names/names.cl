// SPDX-License-Identifier: MIT
/* Kernels whose names are the test: never executed. PLACEHOLDER is overwritten by the program. */
#define LABEL(text) __asm__(text)

__kernel void f_placeholder(void) LABEL("cycle_0000000000" LONG_TAIL);
__kernel void f_placeholder(void)
{
}

#ifdef MANY
/* Over 4 KiB, and over what is kept of a name. */
__kernel void f_long(void) LABEL("_Z" LONG_5000 "v");
__kernel void f_long(void)
{
}

__kernel void f_too_long(void) LABEL("long" LONG_20000);
__kernel void f_too_long(void)
{
}

/* Manglings. */
__kernel void f_half(void) LABEL("_Z8gemm_tnnIDF16_EvPT_i");
__kernel void f_half(void)
{
}

__kernel void f_bfloat(void) LABEL("_Z4castIDF16bEvPT_");
__kernel void f_bfloat(void)
{
}

__kernel void f_elementwise(void)
	LABEL("_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_15exp_kernel_cudaERNS_"
	      "18TensorIteratorBaseEENKUlvE_clEvENKUlvE0_clEvEUlfE_St5arrayIPcLm2EEEEviT0_T1_");
__kernel void f_elementwise(void)
{
}

/* Not mangled, or not for C++: left alone. */
__kernel void f_tensile(void)
	LABEL("Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_MI32x32x8x1_SN_1LDSB0_APM1_AF0EM1");
__kernel void f_tensile(void)
{
}

__kernel void f_triton(void) LABEL("triton_poi_fused_add_mul_0d1d2d3de");
__kernel void f_triton(void)
{
}

__kernel void f_rust(void) LABEL("_RNvCskwGfYPst2Cb_3gpu6matmul");
__kernel void f_rust(void)
{
}

/* Whatever a compiler lets through. */
__kernel void f_hostile(void) LABEL("x'); DROP TABLE rocpd_string; --\"\n\t\x1b[31m,=1+1|\\");
__kernel void f_hostile(void)
{
}

__kernel void f_bytes(void) LABEL("bytes\xff\xc0\xaf" "end");
__kernel void f_bytes(void)
{
}

__kernel void f_kd(void) LABEL("dot.kd.kd");
__kernel void f_kd(void)
{
}

__kernel void f_broken(void) LABEL("_ZN3brokenILi");
__kernel void f_broken(void)
{
}
#endif
