// SPDX-License-Identifier: MIT
// Programs that die after they have seen their work end, in each way that HIP offers, and in the middle of it.
#include "tests/shim/hip/scene.h"

#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define SEEN_WAYS 5

__global__ void seen(int *x, int n)
{
	*x = n;
}

struct seen_work {
	hipStream_t stream;
	hipEvent_t event;
	int *x;
};

static seen_work work_begin()
{
	seen_work w;

	HIP_OK(hipStreamCreate(&w.stream));
	HIP_OK(hipEventCreateWithFlags(&w.event, hipEventDisableTiming));
	HIP_OK(hipMalloc(&w.x, sizeof(*w.x)));
	return w;
}

static void launch(const seen_work &w, unsigned kernels)
{
	for (unsigned i = 0; i < kernels; i++)
		seen<<<1, 1, 0, w.stream>>>(w.x, (int)i);
	HIP_OK(hipGetLastError());
}

/* Returns once HIP has said that all of it has ended. */
static void see_end(const seen_work &w, unsigned way)
{
	int copy;

	switch (way % SEEN_WAYS) {
	case 0:
		HIP_OK(hipDeviceSynchronize());
		break;
	case 1:
		HIP_OK(hipStreamSynchronize(w.stream));
		break;
	case 2:
		while (hipStreamQuery(w.stream) == hipErrorNotReady)
			;
		break;
	case 3:
		HIP_OK(hipEventRecord(w.event, w.stream));
		while (hipEventQuery(w.event) == hipErrorNotReady)
			;
		break;
	case 4:
		HIP_OK(hipMemcpyAsync(&copy, w.x, sizeof(copy), hipMemcpyDeviceToHost, w.stream));
		HIP_OK(hipStreamSynchronize(w.stream));
		break;
	}
}

/* m: how; n: 0 to 4: after it has seen its 40 kernels end, in that way; 5: in the middle of them. */
void scene_dies(const scene_args &args)
{
	static const int by_signal[] = {SIGKILL, SIGTERM, SIGSEGV};
	const struct rlimit none = {0, 0};
	seen_work w = work_begin();

	setrlimit(RLIMIT_CORE, &none);
	launch(w, 40);
	if (args.n < SEEN_WAYS)
		see_end(w, args.n);
	switch (args.m) {
	case 0:
		_exit(0);
	case 1:
		abort();
	case 2:
		quick_exit(0);
	case 3:
	case 4:
	case 5:
		raise(by_signal[args.m - 3]);
	}
}

/* For seen-killer, which kills it at any moment: how many kernels it has seen end stands in the file. */
void scene_seen(const scene_args &args)
{
	int fd = open(args.path[0], O_RDWR | O_CLOEXEC);
	void *memory = mmap(nullptr, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	seen_work w = work_begin();
	uint64_t told = 0;

	if (memory == MAP_FAILED)
		exit(1);
	for (unsigned round = args.m;; round++) {
		unsigned kernels = 1 + round * 7 % args.n;

		launch(w, kernels);
		see_end(w, round);
		told += kernels;
		__atomic_store_n((uint64_t *)memory, told, __ATOMIC_RELEASE);
	}
}
