// SPDX-License-Identifier: MIT
/*
 * late-calls RANK SIZE ID_FILE BARRIER_FILE STEPS: training steps on the stand-in for RCCL, a
 * kernel and then an all-reduce. All ranks begin each step together. The SOFTGPU_SCRIPT of each
 * rank sets the time of its kernels; the stand-in's kernels do not wait for each other.
 */
#define __HIP_PLATFORM_AMD__ 1
#include <fcntl.h>
#include <hip/hip_runtime_api.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "shim/wrap/rccl.h"
#include "tests/lib/check.h"

enum { BFLOAT16 = 9, SUM = 0, DEADLINE_S = 300, MIB = 1 << 19 };

#define CHECK(call) check((int)(call), #call)

static _Atomic unsigned *open_barrier(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *map =
		fd < 0 ? MAP_FAILED
		       : mmap(NULL, sizeof(unsigned), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	check(map == MAP_FAILED, "barrier");
	close(fd);
	return map;
}

/* Waits until all ranks have come @round times. */
static void meet(_Atomic unsigned *barrier, unsigned size, unsigned round)
{
	time_t end = time(NULL) + DEADLINE_S;

	atomic_fetch_add(barrier, 1);
	while (atomic_load(barrier) < size * round) {
		check(time(NULL) > end, "a rank did not come");
		(void)poll(NULL, 0, 1);
	}
}

int main(int argc, char **argv)
{
	void *comm = NULL, *data, *params[1];
	hipStream_t stream;
	hipModule_t module;
	hipFunction_t work;
	nccl_unique_id id;
	FILE *file;
	_Atomic unsigned *barrier;
	int rank, size, steps;

	if (argc != 6 || !(file = fopen(argv[3], "r")))
		return 2;
	rank = atoi(argv[1]);
	size = atoi(argv[2]);
	steps = atoi(argv[5]);
	check(fread(&id, sizeof(id), 1, file) != 1, "id");
	fclose(file);
	barrier = open_barrier(argv[4]);
	/* Ranks that wait for another one would each keep a processor from it. */
	CHECK(hipSetDeviceFlags(hipDeviceScheduleBlockingSync));
	CHECK(hipStreamCreate(&stream));
	CHECK(hipMalloc(&data, 4096));
	CHECK(hipModuleLoad(&module, CALLS_CODE));
	CHECK(hipModuleGetFunction(&work, module, "work_a"));
	params[0] = &data;
	CHECK(ncclCommInitRank(&comm, size, id, rank));
	for (int step = 0; step < steps; step++) {
		meet(barrier, (unsigned)size, (unsigned)step + 1);
		CHECK(hipModuleLaunchKernel(work, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
		CHECK(ncclAllReduce(data, data, MIB, BFLOAT16, SUM, comm, stream));
		CHECK(hipStreamSynchronize(stream));
	}
	CHECK(ncclCommDestroy(comm));
	return 0;
}
