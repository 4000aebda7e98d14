// SPDX-License-Identifier: MIT
#include "cli/tree/gpu_peak.h"
#include "tests/lib/test.h"

#define HALF "[\"c10::Half\", \"c10::Half\", \"c10::Half\", \"\", \"\"]"

static void check(const char *name, const char *shapes, const char *types, const char *inputs,
	double flops, double bytes)
{
	struct op_cost cost;

	assert_true(op_cost(name, shapes, types, inputs, &cost));
	assert_true(cost.flops == flops);
	assert_true(cost.has_bytes == (bytes >= 0));
	if (cost.has_bytes)
		assert_true(cost.bytes == bytes);
}

static void check_none(const char *name, const char *shapes, const char *inputs)
{
	struct op_cost cost;

	assert_false(op_cost(name, shapes, HALF, inputs, &cost));
}

TEST_CASE(products_multiply_and_add_once_for_each_element_of_three_sides)
{
	check("aten::mm", "[[2, 3], [3, 5]]", HALF, NULL, 2 * 2 * 3 * 5, 2 * (6 + 15 + 10));
	check("aten::addmm", "[[5], [2, 3], [3, 5], [], []]", HALF, NULL, 60 + 10,
		2 * (6 + 15 + 10 + 5));
	/* A bias with a row of its own for each. */
	check("aten::addmm", "[[2, 5], [2, 3], [3, 5], [], []]", HALF, NULL, 70,
		2 * (6 + 15 + 10 + 10));
	check("aten::bmm", "[[7, 2, 3], [7, 3, 5]]", HALF, NULL, 7 * 60, 7 * 2 * (6 + 15 + 10));
	check("vllm::rocm_unquantized_gemm", "[[2, 3], [5, 3], []]", HALF, NULL, 60,
		2 * (6 + 15 + 10));
	check("aten::_scaled_mm", "[[2, 3], [3, 5], [], [], [], []]",
		"[\"c10::Float8_e4m3fnuz\", \"c10::Float8_e4m3fnuz\"]", NULL, 60, 6 + 15 + 20);
	/* The size of an element is not known. */
	check("aten::mm", "[[2, 3], [3, 5]]", "[\"c10::New\", \"c10::New\"]", NULL, 60, -1);
	check("aten::mm", "[[2, 3], [3, 5]]", NULL, NULL, 60, -1);
}

TEST_CASE(attention_is_two_products_and_half_of_them_with_a_causal_mask)
{
	static const char shapes[] = "[[2, 4, 8, 16], [2, 2, 8, 16], [2, 2, 8, 32], [], []]";
	static const char swapped[] = "[[2, 8, 4, 16], [2, 8, 2, 16], [2, 8, 2, 32], [], [], []]";
	double flops = 2.0 * (2 * 4 * 8 * 8) * (16 + 32);
	double bytes = 2.0 * 2 * (4 * 8 * (16 + 32) + 2 * 8 * (16 + 32));

	check("aten::_scaled_dot_product_flash_attention", shapes, HALF,
		"[\"\", \"\", \"\", \"0.\", \"False\"]", flops, bytes);
	check("aten::_scaled_dot_product_flash_attention", shapes, HALF,
		"[\"\", \"\", \"\", \"0.\", \"True\"]", flops / 2, bytes);
	check("flash_attn::_flash_attn_forward", swapped, HALF,
		"[\"\", \"\", \"\", \"\", \"\", \"True\"]", flops / 2, bytes);
	/* Query and key are of different lengths: what a causal mask leaves is not a half. */
	check_none("aten::_scaled_dot_product_flash_attention",
		"[[2, 4, 1, 16], [2, 4, 8, 16], [2, 4, 8, 16], [], []]",
		"[\"\", \"\", \"\", \"0.\", \"True\"]");
	/* Whether there is a mask is not known. */
	check_none("aten::_scaled_dot_product_flash_attention", shapes, NULL);
	/* Five products, and the sum of the gradients of two heads that share a key. */
	check("aiter::mha_bwd",
		"[[2, 8, 4, 16], [2, 8, 4, 16], [2, 8, 2, 16], [2, 8, 2, 16], [], [], [], [], []]",
		"[\"c10::Half\", \"c10::Half\", \"c10::Half\", \"c10::Half\"]",
		"[\"\", \"\", \"\", \"\", \"\", \"\", \"\", \"\", \"False\"]",
		2.0 * (2 * 4 * 8 * 8) * 5 * 16 + 2 * 8 * 2 * 16,
		2.0 * (3 * 2 * 8 * 4 * 16 + 4 * 2 * 8 * 2 * 16));
}

TEST_CASE(convolutions_multiply_each_weight_with_each_place_of_the_output)
{
	static const char inputs[] =
		"[\"\", \"\", \"\", \"[2, 2]\", \"[1]\", \"[1, 1]\", \"False\", \"[0, 0]\", \"1\"]";
	static const char transposed[] =
		"[\"\", \"\", \"\", \"[2, 2]\", \"[1]\", \"[1, 1]\", \"True\", \"[1, 1]\", \"1\"]";
	double out = 2 * 5 * 4 * 4; /* (8 + 2 - 2 - 1) / 2 + 1 */

	check("aten::convolution", "[[2, 3, 8, 8], [5, 3, 3, 3], [], [], [], []]", HALF, inputs,
		2 * out * 27, 2 * (2 * 3 * 64 + 5 * 27 + out));
	check("aten::convolution", "[[2, 3, 8, 8], [5, 3, 3, 3], [5], [], [], []]", HALF, inputs,
		2 * out * 27 + out, 2 * (2 * 3 * 64 + 5 * 27 + out + 5));
	/* Groups: a weight has the channels of its group alone. */
	check("aten::convolution", "[[2, 6, 8, 8], [5, 3, 3, 3], [], [], [], []]", HALF, inputs,
		2 * out * 27, 2 * (2 * 6 * 64 + 5 * 27 + out));
	/* (8 - 1) * 2 - 2 + 2 + 1 + 1 */
	check("aten::convolution", "[[2, 5, 8, 8], [5, 3, 3, 3], [], [], [], []]", HALF, transposed,
		2.0 * (2 * 5 * 64) * 27, 2.0 * (2 * 5 * 64 + 5 * 27 + 2 * 3 * 16 * 16));
	check_none("aten::convolution", "[[2, 3, 8, 8], [5, 3, 3, 3], []]", NULL);
	check_none("aten::convolution", "[[2, 3, 8, 8], [5, 3, 3, 3], []]",
		"[\"\", \"\", \"\", \"[0, 0]\", \"[1]\", \"[1, 1]\", \"False\", \"[0, 0]\", "
		"\"1\"]");
}

TEST_CASE(a_backward_convolution_counts_the_gradients_that_are_wanted)
{
	static const char shapes[] =
		"[[2, 5, 4, 4], [2, 3, 8, 8], [5, 3, 3, 3], [], [], [], [], [], [], [], []]";
	static const char types[] = "[\"float\", \"float\", \"float\"]";
	double pass = 2.0 * (2 * 5 * 16) * 27, sides = 2 * 5 * 16 + 2 * 3 * 64 + 5 * 27;

#define BACKWARD(mask)                                                                             \
	"[\"\", \"\", \"\", \"[5]\", \"[2, 2]\", \"[1, 1]\", \"[1, 1]\", \"False\", \"[0, 0]\", "  \
	"\"1\", \"" mask "\"]"
	check("aten::convolution_backward", shapes, types, BACKWARD("[True, True, False]"),
		2 * pass, 4 * 2 * sides);
	check("aten::convolution_backward", shapes, types, BACKWARD("[False, True, False]"), pass,
		4 * sides);
	check("aten::convolution_backward", shapes, types, BACKWARD("[False, False, True]"), 160,
		4 * (160 + 5));
}

TEST_CASE(what_is_no_shape_of_such_an_operation_has_no_cost)
{
	static const char *const shapes[] = {"", "{", "[]", "{}", "7", "[[2, 3]]",
		"[[2, 3], [4, 5]]", "[[2, -3], [-3, 5]]", "[[2, 3.5], [3.5, 5]]", "[[2], [3]]",
		"[\"2, 3\", \"3, 5\"]", "[[[2], 3], [3, 5]]", "[[1, 2, 3, 4, 5, 6, 7, 8, 9], [1]]",
		"[[2, 3], [99999999999999999999, 5]]", "[null, null]"};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		check_none("aten::mm", shapes[i], NULL);
		check_none("aten::convolution", shapes[i], "[]");
		check_none("aten::convolution_backward", shapes[i], "[7]");
		check_none("aten::_scaled_dot_product_flash_attention", shapes[i], "{}");
	}
	check_none("aten::mm", NULL, NULL);
	check_none("aten::relu", "[[2, 3], [3, 5]]", NULL);
}

TEST_CASE(names_and_kernels_tell_the_category)
{
	assert_string_equal(op_category("aten::mm"), "GEMM");
	assert_string_equal(op_category("aten::miopen_batch_norm"), "NORM_fwd");
	assert_string_equal(op_category("aten::native_layer_norm_backward"), "NORM_bwd");
	assert_string_equal(op_category("aten::_fused_rms_norm"), "NORM_fwd");
	assert_string_equal(op_category("triton_poi_fused_0"), "triton");
	assert_null(op_category("aten::layer_norm_like"));
	assert_null(op_category("aten::gelu"));
	assert_string_equal(
		op_category_of_kernel("void at::native::vectorized_elementwise_kernel<4>"),
		"elementwise");
	assert_string_equal(op_category_of_kernel("void at::native::reduce_kernel<512>"), "reduce");
	assert_string_equal(op_category_of_kernel("my_elementwise"), "other");
}

TEST_CASE(the_peak_is_that_of_arithmetic_or_of_memory)
{
	const struct gpu_peak *peak = gpu_peak_find("AMD Instinct MI300X VF");
	struct op_cost cost = {.flops = 1307.4e12,
		.has_bytes = true,
		.bytes = 1,
		.has_precision = true,
		.precision = OP_FP16};

	assert_non_null(peak);
	assert_float_equal(gpu_peak_least_ns(peak, &cost), 1e9, 1);
	cost.bytes = 2 * 5300e9;
	assert_float_equal(gpu_peak_least_ns(peak, &cost), 2e9, 1);
	cost.has_bytes = false;
	assert_true(gpu_peak_least_ns(peak, &cost) < 0);
	cost.has_bytes = true;
	cost.has_precision = false;
	assert_true(gpu_peak_least_ns(peak, &cost) < 0);
	assert_true(gpu_peak_least_ns(NULL, &cost) < 0);
	/* FP8 is unknown to it. */
	cost.has_precision = true;
	cost.precision = OP_FP8;
	assert_true(gpu_peak_least_ns(gpu_peak_find("AMD Instinct MI210"), &cost) < 0);
	assert_ptr_not_equal(
		gpu_peak_find("AMD Instinct MI250X"), gpu_peak_find("AMD Instinct MI250"));
	assert_null(gpu_peak_find("AMD Radeon Graphics"));
	/* Names that contain that of another product. */
	assert_null(gpu_peak_find("NVIDIA GH200 480GB"));
	assert_null(gpu_peak_find("NVIDIA H200 NVL"));
	assert_null(gpu_peak_find("Tesla V100S-PCIE-32GB"));
	assert_non_null(gpu_peak_find("NVIDIA H200"));
	/* Half of an MI350X. */
	cost = (struct op_cost){
		.flops = 1153.4e12, .has_bytes = true, .has_precision = true, .precision = OP_FP16};
	assert_float_equal(gpu_peak_least_ns(gpu_peak_find("AMD Instinct MI350P"), &cost), 1e9, 1);
	assert_ptr_not_equal(
		gpu_peak_find("Tesla V100-PCIE-16GB"), gpu_peak_find("Tesla V100-SXM2-16GB"));
	/* The matrix units of an MI100 take twice as long for bfloat16. */
	cost = (struct op_cost){
		.flops = 92.3e12, .has_bytes = true, .has_precision = true, .precision = OP_BF16};
	assert_float_equal(gpu_peak_least_ns(gpu_peak_find("AMD Instinct MI100"), &cost), 1e9, 1);
	cost.precision = OP_FP16;
	assert_float_equal(gpu_peak_least_ns(gpu_peak_find("AMD Instinct MI100"), &cost), 5e8, 1);
	assert_null(gpu_peak_find(NULL));
}
