// SPDX-License-Identifier: MIT
/*
 * steps-calls RANK SIZE ID_FILE STEPS: a training job in small. In each step the gradients of four
 * kernels are reduced on a second stream beside the next ones, which events connect, and the host
 * waits for the last kernel. The script of the software GPU says how long kernels take, and that
 * all-reduces meet.
 */
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#include "shim/wrap/rccl.h"
#include "tests/lib/check.h"

#define FLOAT32 7
#define SUM	0
#define LAYERS	4

extern int roctxRangePushA(const char *text) __attribute__((weak));
extern int roctxRangePop(void) __attribute__((weak));

static hipFunction_t forward, update;
static hipStream_t compute, communication;
static void *comm, *data;

#define HIP(call) check((int)(call), #call)

static void launch(hipFunction_t kernel)
{
	void *params[] = {&data};

	HIP(hipModuleLaunchKernel(kernel, 64, 1, 1, 1, 1, 1, 0, compute, params, NULL));
}

static void follow(hipStream_t stream, hipStream_t other)
{
	hipEvent_t event;

	HIP(hipEventCreateWithFlags(&event, hipEventDisableTiming));
	HIP(hipEventRecord(event, other));
	HIP(hipStreamWaitEvent(stream, event, 0));
	HIP(hipEventDestroy(event));
}

static void step(int number)
{
	char text[32];

	snprintf(text, sizeof(text), "step %d", number);
	if (roctxRangePushA)
		roctxRangePushA(text);
	for (int i = 0; i < LAYERS; i++) {
		launch(forward);
		follow(communication, compute);
		check(ncclAllReduce(data, data, 4096, FLOAT32, SUM, comm, communication),
			"ncclAllReduce");
	}
	follow(compute, communication);
	launch(update);
	HIP(hipStreamSynchronize(compute));
	if (roctxRangePop)
		roctxRangePop();
}

int main(int argc, char **argv)
{
	hipModule_t module;
	nccl_unique_id id;
	FILE *file;

	if (argc != 5 || !(file = fopen(argv[3], "r")) || fread(&id, sizeof(id), 1, file) != 1)
		return 2;
	fclose(file);
	HIP(hipModuleLoad(&module, CALLS_CODE));
	HIP(hipModuleGetFunction(&forward, module, "work_a"));
	HIP(hipModuleGetFunction(&update, module, "work_b"));
	HIP(hipStreamCreateWithFlags(&compute, hipStreamNonBlocking));
	HIP(hipStreamCreateWithFlags(&communication, hipStreamNonBlocking));
	HIP(hipMalloc(&data, 1 << 20));
	check(ncclCommInitRank(&comm, atoi(argv[2]), id, atoi(argv[1])), "ncclCommInitRank");
	for (int i = 0; i < atoi(argv[4]); i++)
		step(i);
	return 0;
}
