// SPDX-License-Identifier: MIT
#include "cli/tree/op_cost.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "proto/base/cleanup.h"

#define DIMS_MAX 8
#define NONE	 (-1)

/* ---- inputs -------------------------------------------------------------------------------- */

struct inputs {
	json_t *shapes, *types, *values; /* arrays; NULL: unknown */
};

static void inputs_done(struct inputs *inputs)
{
	json_decref(inputs->shapes);
	json_decref(inputs->types);
	json_decref(inputs->values);
}

static json_t *load_array(const char *text)
{
	json_t *array = text ? json_loads(text, 0, NULL) : NULL;

	if (json_is_array(array))
		return array;
	json_decref(array);
	return NULL;
}

struct shape {
	size_t count;
	double at[DIMS_MAX];
};

/* Returns false if the input has no shape, as what is no tensor has. */
static bool get_shape(const struct inputs *inputs, int index, struct shape *ret)
{
	json_t *dims = json_array_get(inputs->shapes, (size_t)index);

	ret->count = json_array_size(dims);
	if (!ret->count || ret->count > DIMS_MAX)
		return false;
	for (size_t i = 0; i < ret->count; i++) {
		json_t *dim = json_array_get(dims, i);

		if (!json_is_integer(dim) || json_integer_value(dim) < 0)
			return false;
		ret->at[i] = (double)json_integer_value(dim);
	}
	return true;
}

static double product(const struct shape *shape, size_t from)
{
	double elements = 1;

	for (size_t i = from; i < shape->count; i++)
		elements *= shape->at[i];
	return elements;
}

/* Returns "" if the value is not known. */
static const char *get_value(const struct inputs *inputs, int index)
{
	const char *text = json_string_value(json_array_get(inputs->values, (size_t)index));

	return text ? text : "";
}

static bool is_true(const char *value)
{
	return !strcasecmp(value, "true") || !strcmp(value, "1");
}

/* Reads "[1, 2]", or "[1]" for all of @count; @otherwise if there is no such text. */
static bool get_list(const struct inputs *inputs, int index, size_t count, double otherwise,
	double ret[DIMS_MAX])
{
	const char *text = get_value(inputs, index);
	CLEANUP(json_decrefp) json_t *list = load_array(text);
	size_t have = json_array_size(list);

	for (size_t i = 0; i < count; i++)
		ret[i] = otherwise;
	if (!have)
		return true;
	if (have != 1 && have != count)
		return false;
	for (size_t i = 0; i < count; i++) {
		json_t *at = json_array_get(list, have == 1 ? 0 : i);

		if (!json_is_integer(at))
			return false;
		ret[i] = (double)json_integer_value(at);
	}
	return true;
}

/* ---- types of elements --------------------------------------------------------------------- */

static const struct type {
	const char *name;
	int bytes;
	int precision; /* NONE: no peak is known for it */
} element_types[] = {
	{"c10::BFloat16", 2, OP_BF16},
	{"c10::Half", 2, OP_FP16},
	{"float", 4, OP_FP32},
	{"double", 8, OP_FP64},
	{"c10::Float8_e4m3fnuz", 1, OP_FP8},
	{"c10::Float8_e4m3fn", 1, OP_FP8},
	{"c10::Float8_e5m2", 1, OP_FP8},
	{"c10::Float8_e5m2fnuz", 1, OP_FP8},
	{"signed char", 1, OP_INT8},
	{"unsigned char", 1, NONE},
	{"int", 4, NONE},
	{"long int", 8, NONE},
};

static const struct type *get_type(const struct inputs *inputs, int index)
{
	const char *name = json_string_value(json_array_get(inputs->types, (size_t)index));

	for (size_t i = 0; name && i < sizeof(element_types) / sizeof(*element_types); i++)
		if (!strcasecmp(name, element_types[i].name))
			return element_types + i;
	return NULL;
}

static void set_type(struct op_cost *cost, const struct type *type)
{
	cost->has_bytes = type != NULL;
	cost->has_precision = type && type->precision != NONE;
	cost->precision = cost->has_precision ? (enum op_precision)type->precision : OP_FP16;
}

/* ---- matrix products ----------------------------------------------------------------------- */

static const struct product {
	const char *name;
	int a, b;
	int bias;	      /* input; NONE: it has none */
	size_t dims;	      /* of each matrix: 3 with a batch */
	bool is_b_transposed; /* [N, K] */
	bool is_scaled;	      /* what has a byte an element comes out with two */
} products[] = {
	{"aten::mm", 0, 1, NONE, 2, false, false},
	{"aten::addmm", 1, 2, 0, 2, false, false},
	{"aten::bmm", 0, 1, NONE, 3, false, false},
	{"aten::baddbmm", 1, 2, 0, 3, false, false},
	{"aten::_scaled_mm", 0, 1, 4, 2, false, true},
	{"vllm::rocm_unquantized_gemm", 0, 1, 2, 2, true, false},
};

static bool product_cost(const struct product *p, const struct inputs *inputs, struct op_cost *ret)
{
	const struct type *type = get_type(inputs, p->a);
	struct shape a, b, bias = {0};
	double batch, m, n, k, out_bytes;
	size_t first = p->dims - 2;

	if (!get_shape(inputs, p->a, &a) || !get_shape(inputs, p->b, &b) || a.count != p->dims ||
		b.count != p->dims)
		return false;
	batch = first ? a.at[0] : 1;
	m = a.at[first];
	k = a.at[first + 1];
	n = b.at[first + !p->is_b_transposed];
	if (b.at[first + p->is_b_transposed] != k || (first && b.at[0] != batch))
		return false;
	ret->flops = 2 * batch * m * n * k;
	if (p->bias != NONE && get_shape(inputs, p->bias, &bias))
		ret->flops += batch * m * n;
	set_type(ret, type);
	if (!type)
		return true;
	out_bytes = p->is_scaled && type->bytes == 1 ? 2 : type->bytes;
	ret->bytes = batch * (m * k + k * n) * type->bytes + batch * m * n * out_bytes +
		     (bias.count ? product(&bias, 0) * type->bytes : 0);
	return true;
}

/* ---- attention ----------------------------------------------------------------------------- */

static const struct attention {
	const char *name;
	int query;    /* input; key and value follow it */
	int causal;   /* input */
	bool is_bhnd; /* [batch, heads, length, head]; else [batch, length, heads, head] */
	bool is_backward;
} attentions[] = {
	{"aten::_scaled_dot_product_flash_attention", 0, 4, true, false},
	{"aten::_scaled_dot_product_efficient_attention", 0, 6, true, false},
	{"aten::_scaled_dot_product_cudnn_attention", 0, 6, true, false},
	{"FlashAttnFunc", 0, 5, false, false},
	{"flash_attn::_flash_attn_forward", 0, 5, false, false},
	{"flash_attn::_flash_attn_backward", 1, 10, false, true},
	{"flash_attn_3::fwd", 0, 24, false, false},
	{"aiter::_flash_attn_forward", 0, 5, false, false},
	{"aiter::mha_fwd", 0, 5, false, false},
	{"aiter::fmha_v3_fwd", 0, 5, false, false},
	{"aiter::mha_bwd", 1, 8, false, true},
	{"aiter::wrapper_fmha_v3_fwd", 1, 6, false, false},
	{"aiter::wrapper_fmha_v3_bwd", 1, 9, false, true},
};

/*
 * Forward: two products, of query and key and of their softmax and the value. Backward, which
 * computes the first again: five. The softmax itself is small against them and left out. A causal
 * mask of a square leaves one half.
 */
static bool attention_cost(
	const struct attention *p, const struct inputs *inputs, struct op_cost *ret)
{
	const struct type *type = get_type(inputs, p->query);
	size_t heads = p->is_bhnd ? 1 : 2, length = p->is_bhnd ? 2 : 1;
	struct shape q, k, v;
	double batch, query, key, q_heads, k_heads, pairs, width, of_q, of_k;
	bool is_causal;

	if (!inputs->values || !get_shape(inputs, p->query, &q) ||
		!get_shape(inputs, p->query + 1, &k) || !get_shape(inputs, p->query + 2, &v) ||
		q.count != 4 || k.count != 4 || v.count != 4)
		return false;
	batch = q.at[0];
	query = q.at[length];
	key = k.at[length];
	q_heads = q.at[heads];
	k_heads = k.at[heads];
	is_causal = is_true(get_value(inputs, p->causal));
	if (k.at[0] != batch || v.at[0] != batch || v.at[heads] != k_heads || v.at[length] != key ||
		k.at[3] != q.at[3] || (is_causal && query != key))
		return false;
	pairs = batch * q_heads * query * key;
	width = p->is_backward ? 3 * q.at[3] + 2 * v.at[3] : q.at[3] + v.at[3];
	ret->flops = 2 * pairs * width;
	/* Gradients of heads that share a key are added up. */
	if (p->is_backward && k_heads > 0)
		ret->flops += batch * key * (v.at[3] + k.at[3]) *
			      ((double)((int64_t)q_heads / (int64_t)k_heads) - 1);
	if (is_causal)
		ret->flops /= 2;
	set_type(ret, type);
	if (!type)
		return true;
	of_q = batch * query * q_heads * (q.at[3] + v.at[3]); /* with the output */
	of_k = batch * key * k_heads * (k.at[3] + v.at[3]);
	ret->bytes = (of_q + of_k) * type->bytes;
	if (p->is_backward)
		ret->bytes += (batch * query * q_heads * q.at[3] + of_k) * type->bytes;
	return true;
}

/* ---- convolutions -------------------------------------------------------------------------- */

struct convolution {
	struct shape x, w, out;
	bool is_transposed;
};

/* @first is the input "stride"; padding, dilation, transposed and output_padding follow it. */
static bool get_output(struct convolution *c, const struct inputs *inputs, int first)
{
	size_t n = c->x.count - 2;
	double stride[DIMS_MAX], padding[DIMS_MAX], dilation[DIMS_MAX], more[DIMS_MAX];

	if (!get_list(inputs, first, n, 1, stride) || !get_list(inputs, first + 1, n, 0, padding) ||
		!get_list(inputs, first + 2, n, 1, dilation) ||
		!get_list(inputs, first + 4, n, 0, more))
		return false;
	c->is_transposed = is_true(get_value(inputs, first + 3));
	c->out.count = c->x.count;
	c->out.at[0] = c->x.at[0];
	c->out.at[1] = c->w.at[!c->is_transposed ? 0 : 1];
	for (size_t i = 0; i < n; i++) {
		double in = c->x.at[i + 2], reach = dilation[i] * (c->w.at[i + 2] - 1);

		if (stride[i] < 1)
			return false;
		if (c->is_transposed)
			c->out.at[i + 2] =
				(in - 1) * stride[i] - 2 * padding[i] + reach + more[i] + 1;
		else
			c->out.at[i + 2] =
				(double)(int64_t)((in + 2 * padding[i] - reach - 1) / stride[i] +
						  1);
		if (!(c->out.at[i + 2] >= 0 && c->out.at[i + 2] < 1e15))
			return false;
	}
	return true;
}

/*
 * Returns the FLOPs of the convolution, which are also those of the gradient of its input and of
 * that of its weights: each weight of an output channel is used once for each element of the
 * output, or of the input where the convolution is transposed.
 */
static double pass_flops(const struct convolution *c)
{
	return 2 * product(c->is_transposed ? &c->x : &c->out, 0) * product(&c->w, 1);
}

static bool get_convolution(struct convolution *c, const struct inputs *inputs, int x, int stride)
{
	return inputs->values && get_shape(inputs, x, &c->x) && get_shape(inputs, x + 1, &c->w) &&
	       c->x.count >= 3 && c->x.count == c->w.count && get_output(c, inputs, stride);
}

static bool convolution_cost(const struct inputs *inputs, struct op_cost *ret)
{
	const struct type *type = get_type(inputs, 0);
	struct convolution c;
	struct shape bias;
	bool has_bias = get_shape(inputs, 2, &bias);

	if (!get_convolution(&c, inputs, 0, 3))
		return false;
	ret->flops = pass_flops(&c) + (has_bias ? product(&c.out, 0) : 0);
	set_type(ret, type);
	if (type)
		ret->bytes = (product(&c.x, 0) + product(&c.w, 0) + product(&c.out, 0) +
				     (has_bias ? c.out.at[1] : 0)) *
			     type->bytes;
	return true;
}

/* The gradients of input, weights and bias, each if output_mask wants it. */
static bool backward_convolution_cost(const struct inputs *inputs, struct op_cost *ret)
{
	const struct type *type = get_type(inputs, 1);
	struct convolution c;
	const char *text = get_value(inputs, 10);
	bool wants[3] = {true, true, false};
	double x, w, out, elements = 0;

	if (!get_convolution(&c, inputs, 1, 4))
		return false;
	if (*text) { /* "[True, True, False]" */
		wants[0] = !strncmp(text, "[True", 5);
		text = strchr(text, ',');
		wants[1] = text && !strncmp(text, ", True", 6);
		text = text ? strchr(text + 1, ',') : NULL;
		wants[2] = text && !strncmp(text, ", True", 6);
	}
	x = product(&c.x, 0);
	w = product(&c.w, 0);
	out = product(&c.out, 0);
	ret->flops = pass_flops(&c) * (wants[0] + wants[1]) + (wants[2] ? out : 0);
	if (wants[0])
		elements += out + w + x;
	if (wants[1])
		elements += out + x + w;
	if (wants[2])
		elements += out + c.out.at[1];
	set_type(ret, type);
	if (type)
		ret->bytes = elements * type->bytes;
	return true;
}

bool op_cost(const char *name, const char *shapes, const char *types, const char *inputs,
	struct op_cost *ret)
{
	const struct product *product = NULL;
	const struct attention *attention = NULL;
	bool is_convolution = !strcmp(name, "aten::convolution");
	bool is_backward = !strcmp(name, "aten::convolution_backward");

	*ret = (struct op_cost){0};
	for (size_t i = 0; i < sizeof(products) / sizeof(*products); i++)
		if (!strcmp(name, products[i].name))
			product = products + i;
	for (size_t i = 0; i < sizeof(attentions) / sizeof(*attentions); i++)
		if (!strcmp(name, attentions[i].name))
			attention = attentions + i;
	if (!product && !attention && !is_convolution && !is_backward)
		return false;

	CLEANUP(inputs_done)
	struct inputs of = {load_array(shapes), load_array(types), load_array(inputs)};

	return product	     ? product_cost(product, &of, ret)
	       : attention   ? attention_cost(attention, &of, ret)
	       : is_backward ? backward_convolution_cost(&of, ret)
			     : convolution_cost(&of, ret);
}
