// SPDX-License-Identifier: MIT
/* Categories of operations, with the names that TraceLens gives them. */
#include <stddef.h>
#include <string.h>

#include "cli/tree/op_cost.h"

#define GEMM	    "GEMM"
#define CONV_FWD    "CONV_fwd"
#define CONV_BWD    "CONV_bwd"
#define SDPA_FWD    "SDPA_fwd"
#define SDPA_BWD    "SDPA_bwd"
#define NORM_FWD    "NORM_fwd"
#define NORM_BWD    "NORM_bwd"
#define ELEMENTWISE "elementwise"
#define REDUCE	    "reduce"

static const struct {
	const char *name, *category;
} categories[] = {
	{"aten::mm", GEMM},
	{"aten::addmm", GEMM},
	{"aten::bmm", GEMM},
	{"aten::baddbmm", GEMM},
	{"aten::_scaled_mm", GEMM},
	{"trtllm::cublas_scaled_mm", GEMM},
	{"bitsandbytes::int8_linear_matmul", GEMM},
	{"tex_ts::te_gemm_ts", GEMM},
	{"vllm::gemm_with_dynamic_quant", GEMM},
	{"vllm::rocm_unquantized_gemm", GEMM},
	{"aiter::gemm_a16w16", GEMM},
	{"aiter::gemm_a4w4", GEMM},
	{"aten::convolution", CONV_FWD},
	{"aten::miopen_convolution", CONV_FWD},
	{"aten::cudnn_convolution", CONV_FWD},
	{"aten::convolution_backward", CONV_BWD},
	{"FlashAttnFunc", SDPA_FWD},
	{"flash_attn::_flash_attn_forward", SDPA_FWD},
	{"flash_attn::_flash_attn_varlen_forward", SDPA_FWD},
	{"flash_attn_3::fwd", SDPA_FWD},
	{"aten::_scaled_dot_product_flash_attention", SDPA_FWD},
	{"aten::_scaled_dot_product_efficient_attention", SDPA_FWD},
	{"aten::_scaled_dot_product_cudnn_attention", SDPA_FWD},
	{"aten::_efficient_attention_forward", SDPA_FWD},
	{"aiter::_flash_attn_forward", SDPA_FWD},
	{"aiter::wrapper_fmha_v3_fwd", SDPA_FWD},
	{"aiter::mha_fwd", SDPA_FWD},
	{"aiter::fmha_v3_fwd", SDPA_FWD},
	{"FlashAttnFuncBackward", SDPA_BWD},
	{"flash_attn::_flash_attn_backward", SDPA_BWD},
	{"flash_attn::_flash_attn_varlen_backward", SDPA_BWD},
	{"aten::_scaled_dot_product_flash_attention_backward", SDPA_BWD},
	{"aten::_scaled_dot_product_efficient_attention_backward", SDPA_BWD},
	{"aten::_scaled_dot_product_cudnn_attention_backward", SDPA_BWD},
	{"aten::_efficient_attention_backward", SDPA_BWD},
	{"aiter::_flash_attn_backward", SDPA_BWD},
	{"aiter::wrapper_fmha_v3_bwd", SDPA_BWD},
	{"aiter::mha_bwd", SDPA_BWD},
	{"vllm::unified_attention_with_output", "InferenceAttention"},
	{"_C_cache_ops::reshape_and_cache_flash", "InferenceAttention"},
	{"aiter::_groupnorm_run", NORM_FWD},
	{"aten::copy", ELEMENTWISE},
	{"aten::copy_", ELEMENTWISE},
	{"aten::clamp_min", ELEMENTWISE},
	{"aten::clamp_min_", ELEMENTWISE},
	{"aten::clamp_max", ELEMENTWISE},
	{"aten::clamp_max_", ELEMENTWISE},
	{"aten::sigmoid", ELEMENTWISE},
	{"aten::sigmoid_backward", ELEMENTWISE},
	{"aten::threshold_backward", ELEMENTWISE},
	{"aten::rsqrt", ELEMENTWISE},
	{"aten::silu", ELEMENTWISE},
	{"aten::neg", ELEMENTWISE},
	{"aten::pow", ELEMENTWISE},
	{"aten::div", ELEMENTWISE},
	{"aten::div_", ELEMENTWISE},
	{"aten::mul", ELEMENTWISE},
	{"aten::mul_", ELEMENTWISE},
	{"aten::add", ELEMENTWISE},
	{"aten::add_", ELEMENTWISE},
	{"aten::replication_pad1d", ELEMENTWISE},
	{"aten::replication_pad2d", ELEMENTWISE},
	{"aten::replication_pad3d", ELEMENTWISE},
	{"aten::upsample_nearest1d", ELEMENTWISE},
	{"aten::upsample_nearest2d", ELEMENTWISE},
	{"aten::upsample_nearest3d", ELEMENTWISE},
	{"aten::sum", REDUCE},
	{"aten::mean", REDUCE},
	{"aten::max", REDUCE},
	{"aten::min", REDUCE},
	{"aten::amax", REDUCE},
	{"aten::amin", REDUCE},
	{"aten::norm", REDUCE},
	{"aten::linalg_norm", REDUCE},
	{"aten::std", REDUCE},
	{"aten::var", REDUCE},
	{"aten::logsumexp", REDUCE},
	{"aten::cumsum", REDUCE},
	{"aten::cumprod", REDUCE},
};

static bool begins(const char **at, const char *prefix)
{
	size_t length = strlen(prefix);

	if (strncmp(*at, prefix, length) != 0)
		return false;
	*at += length;
	return true;
}

/* aten::native_layer_norm_backward: each library has names of its own. */
static const char *category_of_norm(const char *name)
{
	static const char *const kinds[] = {"batch_norm", "layer_norm", "group_norm",
		"instance_norm", "_fused_rms_norm", "rms_norm"};
	const char *at = name;

	if (!begins(&at, "aten::"))
		return NULL;
	if (!begins(&at, "native_") && !begins(&at, "miopen_"))
		begins(&at, "cudnn_");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (begins(&at, kinds[i]))
			return !*at ? NORM_FWD : !strcmp(at, "_backward") ? NORM_BWD : NULL;
	return NULL;
}

const char *op_category(const char *name)
{
	for (size_t i = 0; i < sizeof(categories) / sizeof(*categories); i++)
		if (!strcmp(name, categories[i].name))
			return categories[i].category;
	if (!strncmp(name, "triton", 6))
		return "triton";
	if (!strncmp(name, "record_param_comms", 18))
		return "record_param_comms";
	return category_of_norm(name);
}

const char *op_category_of_kernel(const char *kernel)
{
	static const char own[] = "void at::native";
	static const char *const parts[] = {ELEMENTWISE, REDUCE, "multi_tensor_apply"};

	for (size_t i = 0; i < 3 && !strncmp(kernel, own, sizeof(own) - 1); i++)
		if (strstr(kernel, parts[i]))
			return parts[i];
	return "other";
}
