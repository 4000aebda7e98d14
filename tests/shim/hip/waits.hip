// SPDX-License-Identifier: MIT
// Waits after graphs: whether one returns before the last kernel of the graph has ended. The
// software GPU's truth log, which this process writes itself, says how many have.
#include "tests/shim/hip/scene.h"

#include "tests/softgpu/truth.h"

#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

__global__ void slow_node(int *x)
{
	x[threadIdx.x]++;
}

static const softgpu_truth_header *open_truth()
{
	const char *pattern = getenv("SOFTGPU_TRUTH");
	std::string path = pattern ? pattern : "";
	size_t at = path.find("%p");
	int fd;
	void *p;

	if (at != std::string::npos)
		path.replace(at, 2, std::to_string(getpid()));
	fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
	p = fd < 0 ? MAP_FAILED
		   : mmap(nullptr, sizeof(softgpu_truth_header), PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		fprintf(stderr, "hip-scenes: SOFTGPU_TRUTH names no log of this process\n");
		exit(1);
	}
	close(fd);
	return (const softgpu_truth_header *)p;
}

static uint64_t count_done(const softgpu_truth_header *truth)
{
	return __atomic_load_n(&truth->done, __ATOMIC_ACQUIRE);
}

static hipGraphNode_t add(hipGraph_t graph, int **x, const hipGraphNode_t *after, size_t count)
{
	void *params[] = {x};
	hipKernelNodeParams node = {};
	hipGraphNode_t ret;

	node.func = (void *)slow_node;
	node.gridDim = dim3(1);
	node.blockDim = dim3(64);
	node.kernelParams = params;
	HIP_OK(hipGraphAddKernelNode(&ret, graph, after, count, &node));
	return ret;
}

/* A chain of n, or one node that n - 2 depend on, and one that depends on all of them. */
static hipGraphExec_t make(unsigned n, bool forks, int **x)
{
	hipGraphNode_t node[64], first;
	hipGraphExec_t exec;
	hipGraph_t graph;

	HIP_OK(hipGraphCreate(&graph, 0));
	first = node[0] = add(graph, x, nullptr, 0);
	for (unsigned i = 1; i < n; i++) {
		if (!forks)
			node[i] = add(graph, x, &node[i - 1], 1);
		else if (i < n - 1)
			node[i] = add(graph, x, &first, 1);
		else
			node[i] = add(graph, x, node + 1, n - 2);
	}
	HIP_OK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
	HIP_OK(hipGraphDestroy(graph));
	return exec;
}

static void wait(unsigned how, hipStream_t stream, hipEvent_t event)
{
	hipError_t error;

	switch (how) {
	case 0:
		HIP_OK(hipStreamSynchronize(stream));
		break;
	case 1:
		while ((error = hipStreamQuery(stream)) == hipErrorNotReady)
			;
		HIP_OK(error);
		break;
	case 2:
		HIP_OK(hipEventRecord(event, stream));
		HIP_OK(hipEventSynchronize(event));
		break;
	default:
		HIP_OK(hipDeviceSynchronize());
	}
}

void scene_waits(const scene_args &args)
{
	static const unsigned sizes[] = {3, 4, 7, 8, 9, 16, 17, 50};
	const softgpu_truth_header *truth;
	unsigned waits = 0, early = 0, launched = 0;
	hipStream_t stream;
	hipEvent_t event;
	int *x;

	HIP_OK(hipMalloc(&x, 4096));
	HIP_OK(hipStreamCreate(&stream));
	HIP_OK(hipEventCreate(&event));
	truth = open_truth();
	for (unsigned size : sizes) {
		for (bool forks : {false, true}) {
			hipGraphExec_t exec = make(size, forks, &x);

			for (unsigned i = 0; i < 4 * args.n; i++) {
				uint64_t before = count_done(truth);

				HIP_OK(hipGraphLaunch(exec, stream));
				wait(i % 4, stream, event);
				early += count_done(truth) - before < size;
				waits++;
				launched += size;
				/* So that what comes late is counted once. */
				HIP_OK(hipDeviceSynchronize());
				while (count_done(truth) - before < size)
					usleep(1000);
			}
			HIP_OK(hipGraphExecDestroy(exec));
		}
	}
	printf("waits %u early %u launched %u\n", waits, early, launched);
	if (early)
		exit(1);
}
