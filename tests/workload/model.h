/* SPDX-License-Identifier: MIT */
/*
 * One training step of a small transformer as a list of operations, built once: the same in each
 * step, rank and run, so that the number of dispatches is known from the options. Built by the
 * rank's main thread; read-only after. Submits nothing itself.
 *
 * A straggler's list differs in the kernels of its GEMMs alone: the tiles of 32x32 that a rank
 * gets whose library chose badly, and four passes instead of one on a real GPU. On the software
 * GPU the script gives those names longer times (softgpu.script).
 */
#pragma once

#include <hsa/hsa.h>
#include <stdbool.h>
#include <stddef.h>

#include "tests/workload/code.h"
#include "tests/workload/gpu.h"
#include "tests/workload/options.h"

enum model_op_kind {
	MODEL_DISPATCH,
	MODEL_RECORD,	/* barrier packet that completes @event */
	MODEL_WAIT,	/* barrier packet that waits for @event */
	MODEL_COPY_IN,	/* host to GPU, after @dep unless that is 0, completes @event */
	MODEL_COPY_OUT, /* GPU to host after @dep, completes @event */
	MODEL_PUSH,	/* roctx range @name */
	MODEL_POP,
};

enum model_queue { MODEL_COMPUTE, MODEL_COMM, MODEL_QUEUES };

/*
 * Events of a step; those of the layers' gradients follow, then of their reductions (for
 * CAUSE_EXPOSED_COMM) and of the pieces of the batch (for CAUSE_SLOW_COPIES).
 */
enum model_event {
	MODEL_INPUT,
	MODEL_LOGITS,
	MODEL_LOSS,
	MODEL_REDUCED,
	MODEL_DONE,
	MODEL_EVENTS,
};

struct model_op {
	enum model_op_kind kind;
	enum model_queue queue;
	int event, dep;
	int piece; /* of the batch */
	const char *name;
	hsa_kernel_dispatch_packet_t packet;
	bool has_later; /* of a rank that slows down: what is in its place then */
	hsa_kernel_dispatch_packet_t later;
};

struct model {
	const struct gpu *gpu;
	const struct code *code;
	int layers;
	int buckets; /* all-reduces of a layer; 0: as the cause has it */
	bool straggler;
	bool slows_down; /* it has both kernels of each GEMM */
	enum cause cause;

	struct model_op *op;
	size_t ops;
	int events;

	void *batch_host, *loss_host; /* host ends of the copies */
	void *batch, *logits;	      /* their GPU ends */
	size_t batch_bytes, loss_bytes;
	int pieces; /* in which the batch is copied */

	void *device, *host; /* all GPU and all host memory */
	char *kernargs;
	hsa_kernel_dispatch_packet_t hang;
	hsa_kernel_dispatch_packet_t storm[4]; /* short kernels for --dispatches */
};

/* -ENOMEM or -EIO after saying why. */
int model_open(const struct gpu *gpu, const struct code *code, const struct options *opt, int rank,
	struct model *ret);
void model_close(struct model *model);
