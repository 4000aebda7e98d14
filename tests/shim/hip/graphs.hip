// SPDX-License-Identifier: MIT
// Graphs: built by hand as a chain and as a fork, and captured from a stream.
#include "tests/shim/hip/scene.h"

__global__ void node_even(int *x)
{
	x[threadIdx.x]++;
}

__global__ void node_odd(int *x, int by)
{
	x[threadIdx.x] += by;
}

static hipGraphNode_t add_node(hipGraph_t graph, unsigned i, int **x, const hipGraphNode_t *after)
{
	static int by = 3;
	void *params[] = {x, &by};
	hipKernelNodeParams node = {};
	hipGraphNode_t ret;

	node.func = i % 2 ? (void *)node_odd : (void *)node_even;
	node.gridDim = dim3(1 + i % 5);
	node.blockDim = dim3(64);
	node.kernelParams = params;
	HIP_OK(hipGraphAddKernelNode(&ret, graph, after, after ? 1 : 0, &node));
	return ret;
}

static void replay(hipGraph_t graph, hipStream_t stream, unsigned times)
{
	hipGraphExec_t exec;

	HIP_OK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
	for (unsigned i = 0; i < times; i++) {
		HIP_OK(hipGraphLaunch(exec, stream));
		/* Every other time, as a program does that looks at its results. */
		if (i % 2)
			HIP_OK(hipStreamSynchronize(stream));
	}
	HIP_OK(hipStreamSynchronize(stream));
	HIP_OK(hipGraphExecDestroy(exec));
	HIP_OK(hipGraphDestroy(graph));
}

void scene_graph(const scene_args &args)
{
	hipGraphNode_t last = nullptr;
	hipGraph_t graph;
	hipStream_t stream;
	int *x;

	HIP_OK(hipMalloc(&x, 4096));
	HIP_OK(hipStreamCreate(&stream));
	HIP_OK(hipGraphCreate(&graph, 0));
	for (unsigned i = 0; i < args.n; i++)
		last = add_node(graph, i, &x, i ? &last : nullptr);
	replay(graph, stream, args.m);
	printf("launched %u\n", args.n * args.m);
}

/* One node, n that depend on it, each with one that depends on it. */
void scene_forks(const scene_args &args)
{
	hipGraphNode_t root, branch;
	hipGraph_t graph;
	hipStream_t stream;
	int *x;

	HIP_OK(hipMalloc(&x, 4096));
	HIP_OK(hipStreamCreate(&stream));
	HIP_OK(hipGraphCreate(&graph, 0));
	root = add_node(graph, 0, &x, nullptr);
	for (unsigned i = 0; i < args.n; i++) {
		branch = add_node(graph, 1, &x, &root);
		add_node(graph, 2, &x, &branch);
	}
	replay(graph, stream, args.m);
	printf("launched %u\n", (1 + 2 * args.n) * args.m);
}

void scene_captured(const scene_args &args)
{
	hipGraph_t graph;
	hipStream_t stream;
	int *x;

	HIP_OK(hipMalloc(&x, 4096));
	HIP_OK(hipStreamCreate(&stream));
	HIP_OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
	for (unsigned i = 0; i < args.n; i++)
		node_even<<<1, 64, 0, stream>>>(x);
	HIP_OK(hipStreamEndCapture(stream, &graph));
	replay(graph, stream, args.m);
	printf("launched %u\n", args.n * args.m);
}
