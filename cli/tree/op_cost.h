/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What an operation of PyTorch has to compute and to move at least, from the shapes, types and
 * values of its inputs as its profiler writes them. docs/formats.md has the formulas. Pure
 * functions.
 */
#include <stdbool.h>

/* What a GPU computes with; peaks differ between these. */
enum op_precision {
	OP_FP64,
	OP_FP32,
	OP_FP16,
	OP_BF16,
	OP_FP8,
	OP_INT8,
	OP_PRECISIONS,
};

struct op_cost {
	double flops;
	bool has_bytes; /* false: the size of an element is not known */
	double bytes;	/* each input read once, each output written once */
	bool has_precision;
	enum op_precision precision;
};

/*
 * @shapes, @types and @inputs are JSON arrays with an element per input; NULL: unknown. Returns
 * true if the operation is a matrix product, an attention or a convolution whose shapes are such.
 */
bool op_cost(const char *name, const char *shapes, const char *types, const char *inputs,
	struct op_cost *ret);

/* Returns the category that the name of an operation tells ("GEMM", "CONV_bwd"), or NULL. */
const char *op_category(const char *name);
/* Returns the category of an operation of another name that launched this kernel. */
const char *op_category_of_kernel(const char *kernel);
