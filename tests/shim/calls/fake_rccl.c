// SPDX-License-Identifier: MIT
/*
 * A stand-in for librccl.so.1: the functions of RCCL's ABI, which transfer no data. Each operation
 * launches one kernel with RCCL's name through HIP, whose grid is the number of elements; a group
 * launches one kernel for all of its operations when it ends. The all-reduce of a communicator of
 * one rank copies its elements if the buffers differ, like RCCL's. Communicators made in a group
 * are returned when it ends, as in old releases. ncclAllToAll calls the exported functions, as in
 * releases that are not linked symbolically.
 */
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Its prototypes are in the header of a library that is not installed. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define EXPORT	   __attribute__((visibility("default")))
#define SUCCESS	   0
#define BAD_RESULT 1
#define INVALID	   4
#define MADE_MAX   64

typedef struct {
	char internal[128];
} unique_id;

struct comm {
	int rank, size;
};

extern void roctxMarkA(const char *text) __attribute__((weak));

static hipFunction_t kernel;
static __thread int depth;
static __thread size_t group_count;
static __thread hipStream_t group_stream;
static __thread struct made {
	struct comm **where;
	struct comm *comm;
} made[MADE_MAX];
static __thread int made_count;

EXPORT int ncclGroupStart(void);
EXPORT int ncclGroupEnd(void);
EXPORT int ncclSend(const void *buffer, size_t count, int type, int peer, struct comm *comm,
	hipStream_t stream);
EXPORT int ncclRecv(
	void *buffer, size_t count, int type, int peer, struct comm *comm, hipStream_t stream);

static int load(void)
{
	hipModule_t module;

	if (kernel)
		return SUCCESS;
	/* Marks the database, so that it is not mistaken for one of RCCL. */
	if (roctxMarkA)
		roctxMarkA("librccl=stand-in");
	if (hipModuleLoad(&module, FAKE_RCCL_CODE) ||
		hipModuleGetFunction(&kernel, module, "ncclDevKernel_Generic_1"))
		return BAD_RESULT;
	return SUCCESS;
}

extern int fake_rccl_launch(unsigned grid, hipStream_t stream); /* captured.hip */

static int launch(size_t count, hipStream_t stream)
{
	hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
	void *nothing = NULL;
	void *params[] = {&nothing};

	if (stream && hipStreamIsCapturing(stream, &status))
		return BAD_RESULT;
	if (status == hipStreamCaptureStatusActive)
		return fake_rccl_launch((unsigned)count, stream) ? BAD_RESULT : SUCCESS;
	return hipModuleLaunchKernel(
		       kernel, (unsigned)count, 1, 1, 1, 1, 1, 0, stream, params, NULL)
		       ? BAD_RESULT
		       : SUCCESS;
}

static int operate(struct comm *comm, size_t count, hipStream_t stream)
{
	if (!comm)
		return INVALID;
	if (!depth)
		return launch(count, stream);
	group_count += count;
	group_stream = stream;
	return SUCCESS;
}

static int make(struct comm **ret, int rank, int size)
{
	struct comm *comm = malloc(sizeof(*comm));

	if (!comm || load())
		return BAD_RESULT;
	*comm = (struct comm){rank, size};
	if (depth && made_count < MADE_MAX) {
		*ret = NULL;
		made[made_count++] = (struct made){ret, comm};
	} else {
		*ret = comm;
	}
	return SUCCESS;
}

EXPORT int ncclGroupStart(void)
{
	depth++;
	return SUCCESS;
}

EXPORT int ncclGroupEnd(void)
{
	size_t count = group_count;

	if (!depth)
		return INVALID;
	if (--depth)
		return SUCCESS;
	for (int i = 0; i < made_count; i++)
		*made[i].where = made[i].comm;
	made_count = 0;
	group_count = 0;
	return count ? launch(count, group_stream) : SUCCESS;
}

EXPORT int ncclGetUniqueId(unique_id *id)
{
	memset(id, 0, sizeof(*id));
	return getrandom(id->internal, 64, 0) == 64 ? SUCCESS : BAD_RESULT;
}

EXPORT int ncclCommInitRank(struct comm **comm, int size, unique_id id, int rank)
{
	(void)id;
	return make(comm, rank, size);
}

EXPORT int ncclCommInitRankConfig(
	struct comm **comm, int size, unique_id id, int rank, void *config)
{
	(void)id;
	(void)config;
	return make(comm, rank, size);
}

EXPORT int ncclCommInitAll(struct comm **comm, int size, const int *devices)
{
	(void)devices;
	for (int rank = 0; rank < size; rank++)
		if (make(&comm[rank], rank, size))
			return BAD_RESULT;
	return SUCCESS;
}

/* Needs no other rank: color c consists of every second rank, from c on. */
EXPORT int ncclCommSplit(
	struct comm *comm, int color, int key, struct comm **new_comm, void *config)
{
	(void)key;
	(void)config;
	*new_comm = NULL;
	if (color < 0)
		return SUCCESS;
	return make(new_comm, comm->rank / 2, comm->size / 2);
}

EXPORT int ncclCommCount(const struct comm *comm, int *ret)
{
	*ret = comm->size;
	return SUCCESS;
}

EXPORT int ncclCommUserRank(const struct comm *comm, int *ret)
{
	*ret = comm->rank;
	return SUCCESS;
}

EXPORT int ncclCommFinalize(struct comm *comm)
{
	return comm ? SUCCESS : INVALID;
}

EXPORT int ncclCommDestroy(struct comm *comm)
{
	free(comm);
	return SUCCESS;
}

EXPORT int ncclCommAbort(struct comm *comm)
{
	return ncclCommDestroy(comm);
}

EXPORT int ncclAllReduce(const void *send, void *receive, size_t count, int type, int reduction,
	struct comm *comm, hipStream_t stream)
{
	(void)type, (void)reduction;
	if (comm && comm->size == 1 && send != receive)
		return hipMemcpyAsync(receive, send, count, hipMemcpyDeviceToDevice, stream)
			       ? BAD_RESULT
			       : SUCCESS;
	return operate(comm, count, stream);
}

EXPORT int ncclReduce(const void *send, void *receive, size_t count, int type, int reduction,
	int root, struct comm *comm, hipStream_t stream)
{
	(void)send, (void)receive, (void)type, (void)reduction, (void)root;
	return operate(comm, count, stream);
}

EXPORT int ncclBroadcast(const void *send, void *receive, size_t count, int type, int root,
	struct comm *comm, hipStream_t stream)
{
	(void)send, (void)receive, (void)type, (void)root;
	return operate(comm, count, stream);
}

EXPORT int ncclBcast(
	void *buffer, size_t count, int type, int root, struct comm *comm, hipStream_t stream)
{
	(void)buffer, (void)type, (void)root;
	return operate(comm, count, stream);
}

EXPORT int ncclAllGather(const void *send, void *receive, size_t count, int type, struct comm *comm,
	hipStream_t stream)
{
	(void)send, (void)receive, (void)type;
	return operate(comm, count, stream);
}

EXPORT int ncclReduceScatter(const void *send, void *receive, size_t count, int type, int reduction,
	struct comm *comm, hipStream_t stream)
{
	(void)send, (void)receive, (void)type, (void)reduction;
	return operate(comm, count, stream);
}

EXPORT int ncclAllToAll(const void *send, void *receive, size_t count, int type, struct comm *comm,
	hipStream_t stream)
{
	int result = ncclGroupStart();

	/* Each half has half of the elements, so that their kernel has `count` again. */
	if (!result)
		result = ncclSend(send, count / 2, type, 0, comm, stream);
	if (!result)
		result = ncclRecv(receive, count - count / 2, type, 0, comm, stream);
	return result ? result : ncclGroupEnd();
}

EXPORT int ncclAllToAllv(const void *send, const size_t *send_counts, const size_t *send_offsets,
	void *receive, const size_t *receive_counts, const size_t *receive_offsets, int type,
	struct comm *comm, hipStream_t stream)
{
	size_t count = 0;

	(void)send, (void)send_offsets, (void)receive, (void)receive_counts;
	(void)receive_offsets, (void)type;
	for (int i = 0; i < comm->size; i++)
		count += send_counts[i];
	return operate(comm, count, stream);
}

EXPORT int ncclGather(const void *send, void *receive, size_t count, int type, int root,
	struct comm *comm, hipStream_t stream)
{
	(void)send, (void)receive, (void)type, (void)root;
	return operate(comm, count, stream);
}

EXPORT int ncclScatter(const void *send, void *receive, size_t count, int type, int root,
	struct comm *comm, hipStream_t stream)
{
	(void)send, (void)receive, (void)type, (void)root;
	return operate(comm, count, stream);
}

EXPORT int ncclSend(
	const void *buffer, size_t count, int type, int peer, struct comm *comm, hipStream_t stream)
{
	(void)buffer, (void)type, (void)peer;
	return operate(comm, count, stream);
}

EXPORT int ncclRecv(
	void *buffer, size_t count, int type, int peer, struct comm *comm, hipStream_t stream)
{
	(void)buffer, (void)type, (void)peer;
	return operate(comm, count, stream);
}
