// SPDX-License-Identifier: MIT
/*
 * waiting-calls RANK SIZE ID_FILE COUNT ABSENT: COUNT all-reduces on the stand-in; then, except on
 * rank ABSENT, two more; then waits to be killed. The script of the software GPU says which kernels
 * end.
 */
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shim/wrap/rccl.h"
#include "tests/lib/check.h"

#define FLOAT32 7
#define SUM	0

int main(int argc, char **argv)
{
	hipStream_t stream;
	void *comm, *data;
	nccl_unique_id id;
	FILE *file;
	int count;

	if (argc != 6 || !(file = fopen(argv[3], "r")) || fread(&id, sizeof(id), 1, file) != 1)
		return 2;
	fclose(file);
	count = atoi(argv[4]) + (atoi(argv[1]) == atoi(argv[5]) ? 0 : 2);
	check((int)hipStreamCreate(&stream), "hipStreamCreate");
	check((int)hipMalloc(&data, 1 << 20), "hipMalloc");
	check(ncclCommInitRank(&comm, atoi(argv[2]), id, atoi(argv[1])), "ncclCommInitRank");
	for (int i = 0; i < count; i++)
		check(ncclAllReduce(data, data, 4096, FLOAT32, SUM, comm, stream), "ncclAllReduce");
	for (;;)
		pause();
}
