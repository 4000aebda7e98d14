// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tests/unit/cli/trace/scene.h"

struct expected {
	const char *name, *category, *collective;
};

static const struct expected names[] = {
	/* Where TraceLens's order (reduce|sum before its communication) is wrong. */
	{"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
		"communication", "allreduce"},
	{"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
		"communication", "reducescatter"},
	{"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "communication",
		"allgather"},
	{"ncclDevKernel_Generic_1", "communication", ""},
	{"ncclDevKernel_Reduce_Sum_f32_RING_LL", "communication", "reduce"},
	{"ncclDevKernel_SendRecv", "communication", "sendrecv"},
	{"void vllm::cross_device_reduce_2stage<__half, 8>(vllm::RankData*)", "communication",
		"allreduce"},
	{"aiter::reduce_scatter_cross_device_store<float>", "communication", "reducescatter"},
	{"__amd_rocclr_copyBuffer", "copy", ""},
	{"__amd_rocclr_fillBufferAligned", "memset", ""},
	/* Those that TraceLens calls Other. */
	{"paged_attention_ll4mi_QKV_mfma16_kernel<__hip_bfloat16>", "attention", ""},
	{"void at::native::(anonymous namespace)::cunn_SoftMaxForward<float>", "softmax", ""},
	{"ck_tile::MoeFlatmmKernel<ck_tile::GemmPipeline>", "moe", ""},
	/* Expert parallelism waits for peers, and is no computation. */
	{"void mori::moe::EpDispatchIntraNodeKernel<__hip_bfloat16>(mori::moe::"
	 "EpDispatchCombineArgs<__hip_bfloat16>)",
		"communication", "alltoall"},
	{"EpCombineIntraNodeKernel_bf16", "communication", "alltoall"},
	{"void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)", "communication", "alltoall"},
	{"void userbuffers_fp16_sum_inplace_gpu_rw_ag<2>(int, int)", "communication", "allgather"},
	{"_ZN5aiter46fmoe_bf16_pertokenFp8_g1u1_vs_silu_1tg_32x256E", "moe", ""},
	{"fused_moe_kernel", "moe", ""},
	{"void ck::kernel_moe_gemm<GridwiseMoeGemm_xdl_cshuffle_v3>(Argument)", "moe", ""},
	{"_ZN5aiter39mla_pfl_bf16_a16w16_causal_subQ16_mqa16E", "attention", ""},
	{"sage_fwd", "attention", ""},
	{"void wvSpltK_hf_sml_<64, 4, 16, 8, 1, 4>(int, int)", "gemm", ""},
	{"void at::native::(anonymous namespace)::cuComputeGradInput<float, float, false>(float)",
		"normalization", ""},
	{"void at::native::(anonymous namespace)::cuComputePartGradGammaBeta<float>(float)",
		"normalization", ""},
	/* Not Adam. */
	{"void fast_hadamard_transform_kernel<fast_hadamard_transform_kernel_traits<256, 4>>",
		"elementwise", ""},
	{"adam_kernel_cuda", "optimizer", ""},
	{"implicit_convolve_sgemm", "convolution", ""},
	{"sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32", "convolution", ""},
	{"wgrad_gemm_accum_fp32_kernel", "gemm", ""},
	{"triton_red_fused_add_mean_mul_pow_rsqrt_3", "normalization", ""},
	{"triton_poi_fused_add_mul_0", "elementwise", ""},
	{"triton_red_fused__to_copy_mean_1", "reduction", ""},
	/* Names within names. */
	{"Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_MI32x32x8x1", "gemm", ""},
	{"ck_tile::FmhaFwdKernel<ck_tile::BlockFmhaPipeline<BlockGemmARegBRegCReg>>", "attention",
		""},
	{"ck::kernel_grouped_conv_fwd_multiple_abd_xdl_cshuffle<GridwiseGemm>", "convolution", ""},
	{"igemm_fwd_gtcx2_nhwc_fp16_bx0", "convolution", ""},
	{"void at::native::vectorized_elementwise_kernel<4, normal_kernel_sum>", "elementwise", ""},
	{"void at::native::reduce_kernel<512, 1, at::native::NormTwoOps<float>>", "reduction", ""},
	{"void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor>", "optimizer", ""},
	{"vllm::rms_norm_kernel<_Float16>", "normalization", ""},
	{"vllm::rotary_embedding_kernel<_Float16, true>", "embedding", ""},
	/* More of MoRI, DeepEP, vLLM, SGLang, aiter, CK-tile, hipBLASLt, Triton and inductor, as
	 * public traces and sources have them. */
	{"EpDispatchInterNodeV1KernelLowLatency_bf16", "communication", "alltoall"},
	{"EpDispatchCopyToStaging_bf16", "communication", "alltoall"},
	{"EpCombineSyncBarrier_bf16", "communication", "alltoall"},
	{"void deep_ep::internode_ll::combine<true, 7168, 9>(void*)", "communication", "alltoall"},
	{"_ZN7deep_ep9intranode8dispatchILi8ELi768EEEvP4int4", "communication", "alltoall"},
	{"void aiter::cross_device_reduce_1stage<__hip_bfloat16, 8, false>(aiter::RankData*)",
		"communication", "allreduce"},
	{"quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot<__half>>",
		"communication", "allreduce"},
	{"one_shot_all_reduce_kernel<c10::BFloat16, 16, 8>", "communication", "allreduce"},
	{"_ZN5aiter42pa_bf16_pertokenFp8_gqa10_1tg_4w_mtp3_msk1E", "attention", ""},
	{"_ZN5aiter32fmha_fwd_hd192_hd128_bf16_causalE", "attention", ""},
	{"mla_reduce_v1_ps<128, 32, 64>", "attention", ""},
	{"aiter::mla_a8w8_qh16_qseqlen1_gqaratio16_ps", "attention", ""},
	{"_fwd_grouped_kernel_stage1", "attention", ""},
	{"_fwd_kernel_stage2", "attention", ""},
	{"_fwd_kernel", "attention", ""},
	{"fused_recurrent_gated_delta_rule_fwd_kernel", "attention", ""},
	{"_sparse_attn_decode_reduce_kernel", "attention", ""},
	{"_ZN5aiter59fmoe_stage1_bf16_pertokenFp8_blockscale_g1u1_32x128_3tg_pf3E", "moe", ""},
	{"mfma_moe1_silu_mul_afp8_wfp4_fp8_t32x128x256_pm1_fp8q_sort_async_gui_xcd4_v32", "moe",
		""},
	{"mfma_moe2_afp8_wfp4_bf16_cshuffle_t32x256x256_vscale_fix3_fp4opt_v1_pm1_xcd4", "moe", ""},
	{"vllm::moe::moe_sum_kernel<c10::BFloat16, 4>", "moe", ""},
	{"void ck_tile::kentry<2, ck_tile::MoeSortingMultiPhaseKernel_P23<ck_tile::MoeSorting>>",
		"sort", ""},
	{"void "
	 "aiter::opus_moe_sorting_entry<aiter::MoeSortingKernel<aiter::MoeSortingProblemEx<int>>>",
		"sort", ""},
	{"aiter::grouped_topk_opt_sort_kernel<c10::BFloat16, float, 8, true>", "sort", ""},
	{"_ZN5aiter33f4gemm_bf16_per1x32Fp4_tn_256x256E", "gemm", ""},
	{"wv_splitk_small_fp16_bf16_kernel<__hip_bfloat16, 64, 4, 16, 8, 1, 4>", "gemm", ""},
	{"_gemm_a8w8_blockscale_reduce_kernel", "gemm", ""},
	{"Custom_Cijk_Alik_Bljk_F8BS_BH_Bias_SHB_HA_S_SAB_SAV_NTD_UserArgs_MT256x256x128", "gemm",
		""},
	{"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb1ELb0ELb1ELi1EEEvPT0_",
		"normalization", ""},
	{"void ck_tile::kentry<1, ck_tile::Layernorm2dFwd<ck_tile::Layernorm2dFwdPipeline>>",
		"normalization", ""},
	{"_ZN5aiter37dynamic_per_group_scaled_quant_kernelIDF16bDB8_Li32ELi128ELb0EEEvPT0_",
		"elementwise", ""},
	{"void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16, __hip_bfloat16>(int)",
		"elementwise", ""},
	{"void at::native::(anonymous "
	 "namespace)::CatArrayBatchedCopy_contig<at::native::OpaqueType<2u>, unsigned int, 2, 128, "
	 "1>",
		"elementwise", ""},
	{"void sgl_hip::activation::act_and_mul_kernel<__hip_bfloat16>(int)", "elementwise", ""},
	{"triton_poi_fused_convolution_native_layer_norm_5", "elementwise", ""},
	{"triton_per_fused__softmax_native_dropout_2", "softmax", ""},
	{"triton_red_fused_convolution_native_group_norm_3", "normalization", ""},
	{"triton_red_fused_convolution_backward_sum_7", "reduction", ""},
	{"triton_tem_fused_addmm_relu_1", "gemm", ""},
	{"triton_for_fused_0", "elementwise", ""},
	{"lambda_kernel", "other", ""},
	{"summary_of_nothing", "other", ""},
	{"", "other", ""},
};

#define NAMES (sizeof(names) / sizeof(names[0]))

static void check(const struct category *category, const struct expected *expected)
{
	if (!category || strcmp(category->name, expected->category) != 0 ||
		strcmp(category->collective, expected->collective) != 0)
		fail_msg("%s: %s/%s", expected->name, category ? category->name : "(none)",
			category ? category->collective : "");
}

TEST_CASE(every_kernel_has_the_category_of_its_first_rule)
{
	struct query_rows *rows = NULL;
	const struct trace *trace;
	struct query *query;
	struct scene scene;
	int64_t ids[NAMES];

	scene_begin(&scene);
	for (size_t i = 0; i < NAMES; i++)
		ids[i] = scene_kernel(&scene, names[i].name);
	query = scene_open(&scene);
	trace = scene_trace(&scene, query);
	for (size_t i = 0; i < NAMES; i++) {
		check(trace_kernel(trace, ids[i])->category, names + i);
		check(categories_match(trace->categories, names[i].name, NULL), names + i);
	}
	assert_null(trace_kernel(trace, 999999));
	/* A query of the view gets the same categories. */
	assert_int_equal(query_ask_user(query,
				 "SELECT name, category, coalesce(collective, '') FROM rtl_kernel "
				 "ORDER BY id",
				 &rows),
		0);
	for (size_t i = 0; i < NAMES; i++) {
		assert_int_equal(query_next(rows), 1);
		assert_string_equal(query_text(rows, 0), names[i].name);
		assert_string_equal(query_text(rows, 1), names[i].category);
		assert_string_equal(query_text(rows, 2), names[i].collective);
	}
	query_rows_free_p(&rows);
	scene_end(&scene, &query);
}

TEST_CASE(a_file_without_rules_has_the_built_in_ones)
{
	struct query *query;
	struct scene scene;
	int64_t id;

	scene_begin_older(&scene, 7);
	id = scene_kernel(&scene, names[0].name);
	query = scene_open(&scene);
	check(trace_kernel(scene_trace(&scene, query), id)->category, names);
	scene_end(&scene, &query);
}

TEST_CASE(the_rules_of_the_file_decide)
{
	struct query *query;
	struct scene scene;
	int64_t id;

	scene_begin(&scene);
	id = scene_kernel(&scene, "Cijk_Ailk");
	scene_sql(&scene, "INSERT INTO rtl_category VALUES (-1, 'mine', NULL, 'cijk*', 'user')");
	query = scene_open(&scene);
	assert_string_equal(trace_kernel(scene_trace(&scene, query), id)->category->name, "mine");
	scene_end(&scene, &query);
}

static const char *write_rules(const struct scene *scene, const char *text)
{
	static char path[160];
	FILE *file;

	snprintf(path, sizeof(path), "%s/rules", scene->folder);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	fclose(file);
	return path;
}

TEST_CASE(a_user_s_rules_come_first)
{
	static const char rules[] = "# mine\n"
				    "\n"
				    "  moe \t flatmm  \r\n"
				    "communication/allreduce  My_Ring*\n"
				    "copy *[0-9]copy?\n";
	const struct expected mine[] = {
		{"ck_tile::MoeFlatmmKernel", "moe", ""},
		{"my_ring_f32", "communication", "allreduce"},
		{"not_my_ring_f32", "other", ""},
		{"x7copyA", "copy", ""},
		{"Cijk_x", "gemm", ""},
	};
	struct categories *categories = NULL;
	char error[QUERY_ERROR_BYTES];
	struct query *query;
	struct scene scene;
	const char *path;

	scene_begin(&scene);
	path = write_rules(&scene, rules);
	query = scene_open(&scene);
	for (int way = 0; way < 2; way++) {
		if (way)
			assert_int_equal(setenv("RTL_CATEGORIES", path, 1), 0);
		assert_int_equal(categories_new(query, way ? NULL : path, error, &categories), 0);
		for (size_t i = 0; i < sizeof(mine) / sizeof(*mine); i++)
			check(categories_match(categories, mine[i].name, NULL), mine + i);
		assert_int_equal(
			categories_match(categories, "x7copyA", NULL)->class, CATEGORY_COPY);
		assert_int_equal(categories_match(categories, "my_ring_", NULL)->class,
			CATEGORY_COMMUNICATION);
		categories_free_p(&categories);
	}
	unsetenv("RTL_CATEGORIES");
	unlink(path);
	scene_end(&scene, &query);
}

TEST_CASE(a_bad_line_is_one_clear_error)
{
	static const struct {
		const char *text, *words;
	} bad[] = {
		{"gemm x\nalone\n", "rules:2: no pattern behind the category"},
		{"Big x\n", "rules:1: the category is not"},
		{"a/b/c x\n", "rules:1: the category is not"},
		{"gemm/allreduce x\n", "rules:1: only communication has collectives"},
		{"gemm a[bc\n", "rules:1: a [ in the pattern is not closed"},
		{"gemm\x1b[31m x\n", "rules:1: the category is not"},
	};
	struct categories *categories = NULL;
	char error[QUERY_ERROR_BYTES];
	struct query *query;
	struct scene scene;
	const char *path = "";
	char *longest;

	scene_begin(&scene);
	query = scene_open(&scene);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		path = write_rules(&scene, bad[i].text);
		assert_int_equal(categories_new(query, path, error, &categories), -EINVAL);
		if (!strstr(error, bad[i].words) || strpbrk(error, "\n\x1b"))
			fail_msg("%s", error);
	}
	longest = malloc(1000);
	memset(longest, 'x', 999);
	memcpy(longest, "gemm ", 5);
	longest[999] = '\0';
	path = write_rules(&scene, longest);
	assert_int_equal(categories_new(query, path, error, &categories), -EINVAL);
	assert_non_null(strstr(error, "longer than"));
	free(longest);
	unlink(path);
	assert_int_equal(categories_new(query, path, error, &categories), -ENOENT);
	assert_non_null(strstr(error, "No such file"));
	assert_null(categories);
	scene_end(&scene, &query);
}

int main(void)
{
	unsetenv("RTL_CATEGORIES");
	return test_run(NULL, NULL);
}
