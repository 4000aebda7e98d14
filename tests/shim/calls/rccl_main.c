// SPDX-License-Identifier: MIT
/*
 * rccl-calls RANK SIZE ID_FILE [wrong|all|paused]: one rank's collectives on the stand-in. Every
 * operation has a different count, which is the grid of its kernel; prints a line for each. wrong:
 * starts with one that RCCL refuses. all: all ranks in one process, made in one group. paused: only
 * two pairs of communicators, made while nothing is recorded.
 */
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/wrap/rccl.h"
#include "tests/lib/check.h"

enum { INT8, FLOAT32 = 7, BFLOAT16 = 9, FP8 = 10 };
enum { SUM, MAX = 2, AVG = 4 };

static int rank, size;
static hipStream_t stream;

/* Op seq count bytes datatype reduction peer comm_rank comm_size. */
#define SAY(op, seq, count, bytes, type, reduction, peer, of)                                      \
	printf("collective %d %s|%d|%zu|%zu|%s|%s|%s|%d|%d\n", rank, #op, seq, (size_t)(count),    \
		(size_t)(bytes), type, reduction, peer, (of) ? rank / 2 : rank,                    \
		(of) ? size / 2 : size)

#define OPERATE(call) check(call, #call)

static void alone(void *comm, void *data)
{
	size_t counts[16], zeros[16] = {0}, sum = 0;

	OPERATE(ncclAllReduce(data, data, 101, FLOAT32, SUM, comm, stream));
	SAY(ncclAllReduce, 0, 101, 404, "float32", "sum", "", 0);
	OPERATE(ncclReduce(data, data, 102, BFLOAT16, MAX, 1, comm, stream));
	SAY(ncclReduce, 1, 102, 204, "bfloat16", "max", "1", 0);
	OPERATE(ncclBroadcast(data, data, 103, INT8, 0, comm, stream));
	SAY(ncclBroadcast, 2, 103, 103, "int8", "", "0", 0);
	OPERATE(ncclBcast(data, 104, FP8, 1, comm, stream));
	SAY(ncclBcast, 3, 104, 104, "float8e4m3", "", "1", 0);
	OPERATE(ncclAllGather(data, data, 105, FLOAT32, comm, stream));
	SAY(ncclAllGather, 4, 105, 420, "float32", "", "", 0);
	OPERATE(ncclReduceScatter(data, data, 106, FLOAT32, AVG, comm, stream));
	SAY(ncclReduceScatter, 5, 106, 424 * (size_t)size, "float32", "avg", "", 0);
	OPERATE(ncclAllToAll(data, data, 107, FLOAT32, comm, stream));
	SAY(ncclAllToAll, 6, 107, 428 * (size_t)size, "float32", "", "", 0);
	for (int i = 0; i < size; i++)
		sum += counts[i] = 50 + (size_t)i;
	OPERATE(ncclAllToAllv(data, counts, zeros, data, counts, zeros, FP8 + 1, comm, stream));
	SAY(ncclAllToAllv, 7, sum, sum, "float8e5m2", "", "", 0);
	OPERATE(ncclGather(data, data, 109, FLOAT32, 0, comm, stream));
	SAY(ncclGather, 8, 109, 436, "float32", "", "0", 0);
	OPERATE(ncclScatter(data, data, 110, FLOAT32, 0, comm, stream));
	SAY(ncclScatter, 9, 110, 440, "float32", "", "0", 0);
}

/* Operations are counted per pair of ranks. */
static void grouped(void *comm, void *data)
{
	int next = (rank + 1) % size, previous = (rank + size - 1) % size;
	char to[16], from[16];

	snprintf(to, sizeof(to), "%d", next);
	snprintf(from, sizeof(from), "%d", previous);
	for (int i = 0; i < 2; i++) {
		size_t count = 201 + 10 * (size_t)i;

		OPERATE(ncclGroupStart());
		OPERATE(ncclGroupStart());
		OPERATE(ncclSend(data, count, FLOAT32, next, comm, stream));
		OPERATE(ncclRecv(data, count + 1, FLOAT32, previous, comm, stream));
		OPERATE(ncclGroupEnd());
		OPERATE(ncclAllReduce(data, data, count + 2, FLOAT32, SUM, comm, stream));
		OPERATE(ncclGroupEnd());
		SAY(ncclSend, i, count, 4 * count, "float32", "", to, 0);
		SAY(ncclRecv, i, count + 1, 4 * (count + 1), "float32", "", from, 0);
		SAY(ncclAllReduce, 10 + i, count + 2, 4 * (count + 2), "float32", "sum", "", 0);
	}
}

/* A program that passes a wrong count and continues. */
static void refused(void *data)
{
	if (!ncclAllReduce(data, data, SIZE_MAX, FLOAT32, SUM, NULL, stream))
		check(1, "an operation without a communicator");
}

/* As many as a node with partitioned GPUs has. */
#define RANKS_MAX 64

static int all_ranks(nccl_unique_id id, void *data)
{
	void *comms[RANKS_MAX];

	OPERATE(ncclGroupStart());
	for (int i = 0; i < size && i < RANKS_MAX; i++)
		OPERATE(ncclCommInitRank(&comms[i], size, id, i));
	OPERATE(ncclGroupEnd());
	for (int i = 0; i < size && i < RANKS_MAX; i++)
		OPERATE(ncclAllReduce(data, data, 101, FLOAT32, SUM, comms[i], stream));
	check((int)hipStreamSynchronize(stream), "hipStreamSynchronize");
	return 0;
}

void roctxProfilerPause(uint64_t thread) __attribute__((weak));
void roctxProfilerResume(uint64_t thread) __attribute__((weak));

static int made_in_a_pause(void *data)
{
	void *pair[2][2];

	if (!roctxProfilerPause || !roctxProfilerResume)
		return 2;
	roctxProfilerPause(0);
	for (int i = 0; i < 2; i++)
		OPERATE(ncclCommInitAll(pair[i], 2, NULL));
	roctxProfilerResume(0);
	for (int i = 0; i < 2; i++)
		OPERATE(ncclAllReduce(data, data, 101, FLOAT32, SUM, pair[i][0], stream));
	check((int)hipStreamSynchronize(stream), "hipStreamSynchronize");
	return 0;
}

int main(int argc, char **argv)
{
	void *comm = NULL, *half = NULL, *pair[2] = {NULL, NULL}, *data;
	nccl_unique_id id;
	FILE *file;

	if (argc < 4 || !(file = fopen(argv[3], "r")))
		return 2;
	rank = atoi(argv[1]);
	size = atoi(argv[2]);
	check(ncclGetUniqueId(&id), "ncclGetUniqueId");
	if (fread(&id, sizeof(id), 1, file) != 1)
		return 2;
	fclose(file);
	check((int)hipStreamCreate(&stream), "hipStreamCreate");
	check((int)hipMalloc(&data, 1 << 20), "hipMalloc");
	if (argc == 5 && !strcmp(argv[4], "all"))
		return all_ranks(id, data);
	if (argc == 5 && !strcmp(argv[4], "paused"))
		return made_in_a_pause(data);
	if (argc == 5)
		refused(data);
	OPERATE(ncclGroupStart());
	OPERATE(ncclCommInitRank(&comm, size, id, rank));
	OPERATE(ncclGroupEnd());
	alone(comm, data);
	grouped(comm, data);
	OPERATE(ncclCommSplit(comm, rank % 2, rank, &half, NULL));
	OPERATE(ncclAllReduce(data, data, 301, FLOAT32, 7, half, stream));
	SAY(ncclAllReduce, 0, 301, 1204, "float32", "custom", "", 1);
	OPERATE(ncclCommDestroy(half));
	OPERATE(ncclCommInitAll(pair, 2, NULL));
	OPERATE(ncclAllReduce(data, data, 401, INT8, SUM, pair[1], stream));
	printf("pair %d ncclAllReduce|0|401|401|int8|sum||1|2\n", rank);
	check((int)hipStreamSynchronize(stream), "hipStreamSynchronize");
	OPERATE(ncclCommFinalize(comm));
	OPERATE(ncclCommAbort(comm));
	return 0;
}
