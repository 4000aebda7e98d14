// SPDX-License-Identifier: MIT
#include "tests/workload/model.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/workload/kernels.h"
#include "tests/workload/queue.h"
#include "tests/workload/talk.h"

/* Tokens, width, hidden width of the feed-forward, vocabulary. */
#define T 256
#define D 512
#define F 1024
#define V 2048

#define PAGE_BYTES 4096u

#define MODEL_REDUCE_FLOATS  (256 * 1024)
#define MODEL_SHARDS	     8
#define MODEL_COMM_GROUPS    24 /* RCCL's channels */
#define MODEL_ADAM_FLOATS    (512 * 1024)
#define MODEL_OPS_PER_LAYER  48 /* 26 of compute, 4 to 13 of communication, 1 of the optimizer */
#define MODEL_OPS_OTHER	     64
#define MODEL_KERNARG_STRIDE 64
#define MODEL_SLOW_PASSES    4
#define MODEL_BUCKETS	     8	/* all-reduces of a layer whose communication is exposed */
#define MODEL_PIECES	     16 /* copies of a batch that goes to the GPU in pieces */

/* The addresses of the tensors in the GPU's memory. */
struct model_tensors {
	char *x, *h, *qkv, *att, *gate_up, *act, *logits, *d_logits, *dx, *weight, *d_weight;
	char *norm, *angle, *grad, *reduced, *param, *moment;
	size_t bytes;
};

static char *model_carve(size_t *at, char *base, size_t bytes)
{
	char *start = base + *at;

	*at += (bytes + 255) & ~(size_t)255;
	return start;
}

static struct model_tensors model_lay_out(char *base)
{
	struct model_tensors t = {0};
	size_t at = 0;

	t.x = model_carve(&at, base, 2 * T * D);
	t.h = model_carve(&at, base, 2 * T * D);
	t.qkv = model_carve(&at, base, 2 * T * 3 * D);
	t.att = model_carve(&at, base, 2 * T * D);
	t.gate_up = model_carve(&at, base, 2 * T * 2 * F);
	t.act = model_carve(&at, base, 2 * T * F);
	t.logits = model_carve(&at, base, 2 * T * V);
	t.d_logits = model_carve(&at, base, 2 * T * V);
	t.dx = model_carve(&at, base, 2 * T * 3 * D);
	t.weight = model_carve(&at, base, 2 * D * V);
	t.d_weight = model_carve(&at, base, 2 * D * V);
	t.norm = model_carve(&at, base, 2 * D);
	t.angle = model_carve(&at, base, 4 * D);
	t.grad = model_carve(&at, base, 4 * MODEL_ADAM_FLOATS);
	t.reduced = model_carve(&at, base, 4 * MODEL_REDUCE_FLOATS);
	t.param = model_carve(&at, base, 4 * MODEL_ADAM_FLOATS);
	t.moment = model_carve(&at, base, 8 * MODEL_ADAM_FLOATS);
	t.bytes = at;
	return t;
}

static hsa_kernel_dispatch_packet_t model_packet(
	struct model *m, enum kernel_id id, int groups, struct kernel_args args)
{
	struct kernel_args *slot = (struct kernel_args *)(void *)m->kernargs;

	m->kernargs += MODEL_KERNARG_STRIDE;
	*slot = args;
	return queue_packet(&m->code->kernel[id], (uint32_t)groups, slot);
}

static struct model_op *model_add(struct model *m, enum model_op_kind kind, enum model_queue queue)
{
	struct model_op *op = &m->op[m->ops++];

	*op = (struct model_op){.kind = kind, .queue = queue};
	return op;
}

static void model_dispatch(struct model *m, enum model_queue queue, enum kernel_id id, int groups,
	struct kernel_args args)
{
	model_add(m, MODEL_DISPATCH, queue)->packet = model_packet(m, id, groups, args);
}

static hsa_kernel_dispatch_packet_t model_gemm_packet(struct model *m, enum kernel_id id, void *a,
	void *b, void *c, int rows, int cols, int inner, bool is_slow)
{
	int tile = is_slow ? 32 : 128;
	float passes = is_slow ? MODEL_SLOW_PASSES : 1;

	if (is_slow)
		id = (enum kernel_id)(id + KERNEL_GEMM_FWD_SLOW - KERNEL_GEMM_FWD);
	return model_packet(m, id, rows / tile * (cols / tile),
		(struct kernel_args){a, b, c, rows, cols, inner, passes});
}

/* A GEMM of @id, or what a straggler has in its place. */
static void model_gemm(struct model *m, enum kernel_id id, void *a, void *b, void *c, int rows,
	int cols, int inner)
{
	struct model_op *op = model_add(m, MODEL_DISPATCH, MODEL_COMPUTE);

	op->packet = model_gemm_packet(m, id, a, b, c, rows, cols, inner, m->straggler);
	op->has_later = m->slows_down;
	if (op->has_later)
		op->later = model_gemm_packet(m, id, a, b, c, rows, cols, inner, true);
}

/* An element-wise kernel or one with a workgroup per row: enough groups for @items items. */
static void model_map(struct model *m, enum kernel_id id, int items, struct kernel_args args)
{
	model_dispatch(
		m, MODEL_COMPUTE, id, (items + KERNEL_WORKGROUP - 1) / KERNEL_WORKGROUP, args);
}

static void model_row(struct model *m, enum kernel_id id, int rows, struct kernel_args args)
{
	model_dispatch(m, MODEL_COMPUTE, id, rows, args);
}

static void model_sync(struct model *m, enum model_op_kind kind, enum model_queue queue, int event)
{
	model_add(m, kind, queue)->event = event;
}

static void model_push(struct model *m, const char *name)
{
	model_add(m, MODEL_PUSH, MODEL_COMPUTE)->name = name;
}

static void model_forward_layer(struct model *m, const struct model_tensors *t)
{
	const float eps = 1e-5f;

	model_row(m, KERNEL_RMS_NORM, T, (struct kernel_args){t->x, t->norm, t->h, T, D, 0, eps});
	model_gemm(m, KERNEL_GEMM_FWD, t->h, t->weight, t->qkv, T, 3 * D, D);
	model_map(
		m, KERNEL_ROTARY, T * D, (struct kernel_args){t->angle, NULL, t->qkv, T, D, 0, 0});
	model_map(m, KERNEL_ATTN_FWD, T * D / ATTN_HEAD_DIM,
		(struct kernel_args){t->qkv, NULL, t->att, T, D, 0, 0});
	model_gemm(m, KERNEL_GEMM_FWD, t->att, t->weight, t->h, T, D, D);
	model_map(m, KERNEL_ADD, T * D, (struct kernel_args){t->x, t->h, t->x, T * D, 0, 0, 0});
	model_row(m, KERNEL_RMS_NORM, T, (struct kernel_args){t->x, t->norm, t->h, T, D, 0, eps});
	model_gemm(m, KERNEL_GEMM_FWD, t->h, t->weight, t->gate_up, T, 2 * F, D);
	model_map(m, KERNEL_SILU_MUL, T * F,
		(struct kernel_args){t->gate_up, NULL, t->act, T, F, 0, 0});
	model_gemm(m, KERNEL_GEMM_FWD, t->act, t->weight, t->h, T, D, F);
	model_map(m, KERNEL_ADD, T * D, (struct kernel_args){t->x, t->h, t->x, T * D, 0, 0, 0});
}

/* The batch, or what comes before its last piece: one after the other. */
static void model_copy_in(struct model *m)
{
	int event = MODEL_EVENTS + 2 * m->layers;
	struct model_op *copy;

	for (int piece = 0; piece < m->pieces; piece++) {
		copy = model_add(m, MODEL_COPY_IN, MODEL_COMPUTE);
		copy->event = piece + 1 < m->pieces ? event + piece : MODEL_INPUT;
		copy->dep = piece ? event + piece - 1 : 0;
		copy->piece = piece;
	}
}

static void model_forward(struct model *m, const struct model_tensors *t)
{
	struct model_op *copy;

	model_push(m, "forward");
	model_copy_in(m);
	model_sync(m, MODEL_WAIT, MODEL_COMPUTE, MODEL_INPUT);
	for (int layer = 0; layer < m->layers; layer++)
		model_forward_layer(m, t);
	model_row(m, KERNEL_RMS_NORM, T, (struct kernel_args){t->x, t->norm, t->h, T, D, 0, 1e-5f});
	model_gemm(m, KERNEL_GEMM_FWD, t->h, t->weight, t->logits, T, V, D);
	model_row(m, KERNEL_SOFTMAX, T,
		(struct kernel_args){t->logits, NULL, t->d_logits, T, V, 0, 0});
	model_sync(m, MODEL_RECORD, MODEL_COMPUTE, MODEL_LOGITS);
	copy = model_add(m, MODEL_COPY_OUT, MODEL_COMPUTE);
	copy->event = MODEL_LOSS;
	copy->dep = MODEL_LOGITS;
	model_add(m, MODEL_POP, MODEL_COMPUTE);
}

static void model_backward_layer(struct model *m, const struct model_tensors *t, int layer)
{
	int event = MODEL_EVENTS + layer, buckets = m->buckets			     ? m->buckets
						    : m->cause == CAUSE_EXPOSED_COMM ? MODEL_BUCKETS
										     : 1;

	model_gemm(m, KERNEL_GEMM_DGRAD, t->h, t->weight, t->act, T, F, D);
	model_gemm(m, KERNEL_GEMM_WGRAD, t->act, t->h, t->d_weight, F, D, T);
	model_map(m, KERNEL_SILU_MUL, T * F,
		(struct kernel_args){t->gate_up, NULL, t->act, T, F, 0, 0});
	model_gemm(m, KERNEL_GEMM_DGRAD, t->gate_up, t->weight, t->h, T, D, 2 * F);
	model_gemm(m, KERNEL_GEMM_WGRAD, t->h, t->gate_up, t->d_weight, D, 2 * F, T);
	model_row(m, KERNEL_NORM_GRAD, T, (struct kernel_args){t->h, t->x, t->dx, T, D, 0, 0});
	model_map(m, KERNEL_ADD, T * D, (struct kernel_args){t->h, t->dx, t->h, T * D, 0, 0, 0});
	model_gemm(m, KERNEL_GEMM_DGRAD, t->h, t->weight, t->att, T, D, D);
	model_gemm(m, KERNEL_GEMM_WGRAD, t->h, t->att, t->d_weight, D, D, T);
	model_map(m, KERNEL_ATTN_BWD, T * D / ATTN_HEAD_DIM,
		(struct kernel_args){t->qkv, t->att, t->dx, T, D, 0, 0});
	model_map(m, KERNEL_ROTARY, T * D, (struct kernel_args){t->angle, NULL, t->dx, T, D, 0, 0});
	model_gemm(m, KERNEL_GEMM_DGRAD, t->dx, t->weight, t->h, T, D, 3 * D);
	model_gemm(m, KERNEL_GEMM_WGRAD, t->h, t->dx, t->d_weight, D, 3 * D, T);
	model_row(m, KERNEL_NORM_GRAD, T, (struct kernel_args){t->h, t->x, t->dx, T, D, 0, 0});
	model_map(m, KERNEL_ADD, T * D, (struct kernel_args){t->h, t->dx, t->h, T * D, 0, 0, 0});
	/* The layer's gradients are reduced while the next layer computes. */
	model_sync(m, MODEL_RECORD, MODEL_COMPUTE, event);
	model_sync(m, MODEL_WAIT, MODEL_COMM, event);
	for (int bucket = 0; bucket < buckets; bucket++)
		model_dispatch(m, MODEL_COMM, KERNEL_ALL_REDUCE, MODEL_COMM_GROUPS,
			(struct kernel_args){t->grad, t->grad, t->reduced, MODEL_REDUCE_FLOATS,
				MODEL_COMM_GROUPS, 0, 0.5f});
	if (m->cause != CAUSE_EXPOSED_COMM)
		return;
	/* Nothing hides them: the next layer waits. */
	model_sync(m, MODEL_RECORD, MODEL_COMM, event + m->layers);
	model_sync(m, MODEL_WAIT, MODEL_COMPUTE, event + m->layers);
}

static void model_backward(struct model *m, const struct model_tensors *t)
{
	model_push(m, "backward");
	model_gemm(m, KERNEL_GEMM_DGRAD, t->d_logits, t->weight, t->h, T, D, V);
	model_gemm(m, KERNEL_GEMM_WGRAD, t->h, t->d_logits, t->d_weight, D, V, T);
	for (int layer = m->layers - 1; layer >= 0; layer--)
		model_backward_layer(m, t, layer);
	model_dispatch(m, MODEL_COMM, KERNEL_REDUCE_SCATTER, MODEL_COMM_GROUPS,
		(struct kernel_args){t->grad, NULL, t->reduced, MODEL_ADAM_FLOATS / MODEL_SHARDS,
			MODEL_COMM_GROUPS, MODEL_SHARDS, 1.0f / MODEL_SHARDS});
	model_sync(m, MODEL_RECORD, MODEL_COMM, MODEL_REDUCED);
	model_add(m, MODEL_POP, MODEL_COMPUTE);
}

static void model_optimizer(struct model *m, const struct model_tensors *t)
{
	model_push(m, "optimizer");
	model_sync(m, MODEL_WAIT, MODEL_COMPUTE, MODEL_REDUCED);
	for (int bucket = 0; bucket <= m->layers; bucket++)
		model_map(m, KERNEL_ADAM, MODEL_ADAM_FLOATS,
			(struct kernel_args){
				t->grad, t->param, t->moment, MODEL_ADAM_FLOATS, 0, 0, 1e-4f});
	model_sync(m, MODEL_RECORD, MODEL_COMPUTE, MODEL_DONE);
	model_add(m, MODEL_POP, MODEL_COMPUTE);
}

static void model_storm(struct model *m, const struct model_tensors *t)
{
	m->storm[0] = model_packet(
		m, KERNEL_RMS_NORM, 4, (struct kernel_args){t->x, t->norm, t->h, 4, D, 0, 1e-5f});
	m->storm[1] = model_packet(m, KERNEL_ADD, 4,
		(struct kernel_args){t->x, t->h, t->x, 4 * KERNEL_WORKGROUP, 0, 0, 0});
	m->storm[2] = model_packet(
		m, KERNEL_SILU_MUL, 4, (struct kernel_args){t->gate_up, NULL, t->act, 1, F, 0, 0});
	m->storm[3] = model_packet(m, KERNEL_SOFTMAX, 4,
		(struct kernel_args){t->logits, NULL, t->d_logits, 4, V, 0, 0});
}

/*
 * Every half of the GPU's memory starts as 1/16, so that no kernel meets what another process
 * left there. A storm on a software GPU computes nothing, and does as if it had a model: there
 * a page is enough, since all of it faults in twice as much memory as the rest of the process has.
 */
static int model_fill(struct model *m, size_t bytes)
{
	uint16_t *pattern = gpu_alloc_host(m->gpu, bytes);
	int r;

	if (!pattern)
		return -ENOMEM;
	for (size_t i = 0; i < bytes / sizeof(*pattern); i++)
		pattern[i] = 0x2c00;
	r = gpu_copy(m->device, m->gpu->agent, pattern, m->gpu->cpu, bytes);
	hsa_amd_memory_pool_free(pattern);
	return r;
}

static int model_allocate(struct model *m, bool is_storm, struct model_tensors *ret)
{
	size_t ops = MODEL_OPS_OTHER + (size_t)m->layers * MODEL_OPS_PER_LAYER;
	size_t kernargs = (2 * ops + 8) * MODEL_KERNARG_STRIDE;
	size_t bytes = model_lay_out(NULL).bytes;

	m->batch_bytes = 2 * T * D;
	m->loss_bytes = 2 * V;
	m->op = calloc(ops, sizeof(*m->op));
	m->host = gpu_alloc_host(m->gpu, kernargs + m->batch_bytes + m->loss_bytes);
	m->device = gpu_alloc_device(m->gpu, bytes);
	if (!m->op || !m->host || !m->device)
		return -ENOMEM;
	m->kernargs = m->host;
	m->batch_host = (char *)m->host + kernargs;
	m->loss_host = (char *)m->batch_host + m->batch_bytes;
	*ret = model_lay_out(m->device);
	m->batch = ret->x;
	m->logits = ret->d_logits;
	return model_fill(m, is_storm && m->gpu->simulated ? PAGE_BYTES : bytes);
}

int model_open(const struct gpu *gpu, const struct code *code, const struct options *opt, int rank,
	struct model *ret)
{
	struct model model = {.gpu = gpu,
		.code = code,
		.layers = opt->layers,
		.buckets = opt->buckets,
		.straggler = opt->straggler == rank,
		.slows_down = opt->cause == CAUSE_SLOWS_DOWN && rank == 1,
		.cause = opt->cause,
		.pieces = opt->cause == CAUSE_SLOW_COPIES ? MODEL_PIECES : 1};
	struct model_tensors tensors;
	int r = model_allocate(&model, opt->dispatches_given, &tensors);

	if (r) {
		model_close(&model);
		return r;
	}
	model.events = MODEL_EVENTS + 2 * opt->layers + MODEL_PIECES;
	model_forward(&model, &tensors);
	model_backward(&model, &tensors);
	model_optimizer(&model, &tensors);
	model_storm(&model, &tensors);
	/* The flag it waits for is the next slot, which stays zero. */
	model.hang = model_packet(&model, KERNEL_HANG, 1,
		(struct kernel_args){
			model.kernargs + MODEL_KERNARG_STRIDE, NULL, NULL, 0, 0, 0, 0});
	*ret = model;
	return 0;
}

void model_close(struct model *model)
{
	free(model->op);
	if (model->host)
		hsa_amd_memory_pool_free(model->host);
	if (model->device)
		hsa_amd_memory_pool_free(model->device);
	*model = (struct model){0};
}
