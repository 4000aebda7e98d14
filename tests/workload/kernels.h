/* SPDX-License-Identifier: MIT */
/*
 * The kernels of rtl-demo: their symbols, kernarg layout and workgroup size. Included by the
 * OpenCL sources (asm labels) and by the host, so that the two cannot disagree. The names are
 * of the kind that a training job shows in a trace: Tensile GEMMs, mangled C++ templates over
 * _Float16, RCCL kernels. Macros only: OpenCL C 1.2 reads this file too.
 */
#pragma once

#define KERNEL_WORKGROUP 256

/* Every kernel takes three buffers, three counts and a factor (struct kernel_args on the host). */
#define KERNEL_ARGS_BYTES 40

/* Widths the GEMMs' and attention's dimensions must be multiples of. */
#define GEMM_TILE_MAX 128
#define GEMM_TILE_K   16
#define ATTN_HEAD_DIM 32

/* Tiles of 128x128; the _SLOW ones compute the same in tiles of 32x32, see model.h. */
#define SYM_GEMM_FWD   "Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_MI32x32x8x1_SE_1LDSB0_GRVW8_K1_WG16_16_1"
#define SYM_GEMM_DGRAD "Cijk_Alik_Bljk_HHS_BH_MT128x128x16_MI32x32x8x1_SE_1LDSB0_GRVW8_K1_WG16_16_1"
#define SYM_GEMM_WGRAD "Cijk_Ailk_Bjlk_HHS_BH_MT128x128x16_MI32x32x8x1_SE_1LDSB0_GRVW8_K1_WG16_16_1"
#define SYM_GEMM_FWD_SLOW                                                                          \
	"Cijk_Ailk_Bljk_HHS_BH_MT32x32x16_MI16x16x16x1_SE_1LDSB0_GRVW4_K1_WG16_16_1"
#define SYM_GEMM_DGRAD_SLOW                                                                        \
	"Cijk_Alik_Bljk_HHS_BH_MT32x32x16_MI16x16x16x1_SE_1LDSB0_GRVW4_K1_WG16_16_1"
#define SYM_GEMM_WGRAD_SLOW                                                                        \
	"Cijk_Ailk_Bjlk_HHS_BH_MT32x32x16_MI16x16x16x1_SE_1LDSB0_GRVW4_K1_WG16_16_1"

#define SYM_ATTN_FWD                                                                               \
	"_ZN7ck_tile6kentryILi256ELi2ENS_13FmhaFwdKernelIDF16_NS_3seqILi128ELi64EEELb1EEENS4_"     \
	"5KargsEEEvT2_"
#define SYM_ATTN_BWD                                                                               \
	"_ZN7ck_tile6kentryILi256ELi1ENS_15FmhaBwdDQKernelIDF16_NS_3seqILi64ELi128EEELb1EEENS4_"   \
	"5KargsEEEvT2_"
#define SYM_RMS_NORM "_ZN4vllm15rms_norm_kernelIDF16_EEvPT_PKS1_S4_fii"
#define SYM_ROTARY   "_ZN4vllm23rotary_embedding_kernelIDF16_Lb1EEEvPKlPT_S4_PKS3_illiii"
#define SYM_SILU_MUL                                                                               \
	"_ZN4vllm18act_and_mul_kernelIDF16_XadL_ZNS_11silu_kernelIDF16_EET_RKS2_EEEEvPS2_PS3_i"
#define SYM_ADD                                                                                    \
	"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIDF16_EEN6detail"   \
	"5ArrayIPcLi3EEEEEviT0_T1_"
#define SYM_SOFTMAX "_ZN2at6native19cunn_SoftMaxForwardIDF16_fEEvPT_PKS2_i"
#define SYM_NORM_GRAD                                                                              \
	"_ZN2at6native28layer_norm_grad_input_kernelIDF16_fLb1EEEvPKT_S4_PKT0_S7_S4_PS2_i"
#define SYM_ADAM                                                                                   \
	"_ZN2at6native25multi_tensor_apply_kernelINS0_12_GLOBAL__N_118TensorListMetadataILi4EEE"   \
	"NS2_20FusedAdamMathFunctorIfLi4ELi0ELi0EEEJdddEEEvT_T0_DpT1_"

#define SYM_ALL_REDUCE                                                                             \
	"_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"
#define SYM_REDUCE_SCATTER                                                                         \
	"_Z43ncclDevKernel_ReduceScatter_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"

#define SYM_VECTOR_ADD "vector_add_f32"
#define SYM_HANG       "wait_for_flag"
