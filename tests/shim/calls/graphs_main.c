// SPDX-License-Identifier: MIT
/*
 * graphs-calls RANK SIZE ID_FILE SCENE REPLAYS: one rank that captures collectives of the stand-in
 * for RCCL into a hipGraph, among kernels of its own, and launches the graph REPLAYS times. Every
 * operation has a different count, which is the grid of its kernel. Prints a line for each captured
 * call and each call outside.
 *
 * alone: single calls on one stream. groups: groups of three, and a call of a communicator of one
 * rank, which is a copy. streams: calls on two streams that fork and join. alike: the same with
 * equal sizes. twice: the graph is made executable twice, and captured again in between.
 */
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/wrap/rccl.h"
#include "tests/lib/check.h"

enum { FLOAT32 = 7 };
enum { SUM };

static int rank, size;
static hipStream_t stream, side;
static void *data, *other, *comm, *self;
static const char *scene;

#define OK(call) check((int)(call), #call)

int work_launch(unsigned grid, hipStream_t stream); /* captured.hip */

static void compute(hipStream_t on, unsigned grid)
{
	OK(work_launch(grid, on));
}

static void reduce(size_t count, hipStream_t on)
{
	OK(ncclAllReduce(data, data, count, FLOAT32, SUM, comm, on));
	printf("captured ncclAllReduce|%zu\n", count);
}

static void group(size_t count)
{
	OK(ncclGroupStart());
	OK(ncclSend(data, count, FLOAT32, (rank + 1) % size, comm, stream));
	OK(ncclRecv(data, count, FLOAT32, (rank + size - 1) % size, comm, stream));
	OK(ncclAllReduce(data, data, count + 1, FLOAT32, SUM, comm, stream));
	OK(ncclGroupEnd());
	printf("captured ncclSend|%zu\ncaptured ncclRecv|%zu\ncaptured ncclAllReduce|%zu\n", count,
		count, count + 1);
}

static void calls_alone(void)
{
	for (unsigned i = 0; i < 4; i++) {
		compute(stream, 3);
		reduce(501 + i, stream);
	}
	compute(stream, 3);
}

static void calls_grouped(void)
{
	reduce(501, stream);
	group(601);
	compute(stream, 3);
	OK(ncclAllReduce(data, other, 701, FLOAT32, SUM, self, stream));
	printf("captured ncclAllReduce|701\n");
	group(611);
	reduce(502, stream);
}

/* Forks the stream, makes calls on both, and joins. */
static void calls_on_two(bool are_alike)
{
	hipEvent_t fork, join;

	OK(hipEventCreate(&fork));
	OK(hipEventCreate(&join));
	reduce(501, stream);
	OK(hipEventRecord(fork, stream));
	OK(hipStreamWaitEvent(side, fork, 0));
	for (unsigned i = 1; i < 4; i++) {
		compute(stream, 3);
		reduce(are_alike ? 501 : 501 + i, stream);
		reduce(are_alike ? 501 : 551 + i, side);
	}
	OK(hipEventRecord(join, side));
	OK(hipStreamWaitEvent(stream, join, 0));
	reduce(are_alike ? 501 : 505, stream);
}

static hipGraph_t capture(void)
{
	hipGraph_t graph;

	OK(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
	if (!strcmp(scene, "groups"))
		calls_grouped();
	else if (!strcmp(scene, "streams") || !strcmp(scene, "alike"))
		calls_on_two(!strcmp(scene, "alike"));
	else
		calls_alone();
	OK(hipStreamEndCapture(stream, &graph));
	return graph;
}

static void replay(hipGraphExec_t exec, unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		OK(hipGraphLaunch(exec, stream));
	OK(hipStreamSynchronize(stream));
}

static void run(unsigned replays)
{
	hipGraph_t graph = capture();
	hipGraphExec_t first, second;

	OK(hipGraphInstantiate(&first, graph, NULL, NULL, 0));
	if (!strcmp(scene, "twice")) {
		OK(hipGraphInstantiate(&second, graph, NULL, NULL, 0));
		replay(second, replays);
		OK(hipGraphExecDestroy(second));
	}
	OK(hipGraphDestroy(graph));
	replay(first, replays);
	OK(hipGraphExecDestroy(first));
}

int main(int argc, char **argv)
{
	nccl_unique_id id;
	FILE *file;

	if (argc != 6 || !(file = fopen(argv[3], "r")))
		return 2;
	rank = atoi(argv[1]);
	size = atoi(argv[2]);
	scene = argv[4];
	if (fread(&id, sizeof(id), 1, file) != 1)
		return 2;
	fclose(file);
	/* Ranks that wait for another would keep a processor each from it. */
	OK(hipSetDeviceFlags(hipDeviceScheduleBlockingSync));
	OK(hipStreamCreate(&stream));
	OK(hipStreamCreate(&side));
	OK(hipMalloc(&data, 1 << 20));
	OK(hipMalloc(&other, 1 << 20));
	OK(ncclCommInitRank(&comm, size, id, rank));
	OK(ncclCommInitAll(&self, 1, NULL));
	OK(ncclAllReduce(data, data, 401, FLOAT32, SUM, comm, stream));
	run((unsigned)atoi(argv[5]));
	if (!strcmp(scene, "twice"))
		run((unsigned)atoi(argv[5]));
	OK(ncclAllReduce(data, data, 402, FLOAT32, SUM, comm, stream));
	printf("outside ncclAllReduce|401\noutside ncclAllReduce|402\n");
	OK(hipStreamSynchronize(stream));
	OK(ncclCommDestroy(comm));
	return 0;
}
