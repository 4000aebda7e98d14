// SPDX-License-Identifier: MIT
#include "tests/workload/rccl.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define EXPORT	   __attribute__((visibility("default")))
#define SUCCESS	   0
#define BAD_RESULT 1
#define INVALID	   4

struct comm {
	int rank, size;
};

extern void roctxMarkA(const char *text) __attribute__((weak));

EXPORT int ncclGetUniqueId(rccl_unique_id *id)
{
	memset(id, 0, sizeof(*id));
	return getrandom(id->internal, 64, 0) == 64 ? SUCCESS : BAD_RESULT;
}

EXPORT int ncclCommInitRank(void **ret, int size, rccl_unique_id id, int rank)
{
	struct comm *comm = malloc(sizeof(*comm));

	(void)id;
	if (!comm)
		return BAD_RESULT;
	/* Marks the database, so that it is not mistaken for one of RCCL. */
	if (roctxMarkA)
		roctxMarkA("librccl=stand-in");
	*comm = (struct comm){rank, size};
	*ret = comm;
	return SUCCESS;
}

EXPORT int ncclCommCount(const void *comm, int *ret)
{
	*ret = ((const struct comm *)comm)->size;
	return SUCCESS;
}

EXPORT int ncclCommUserRank(const void *comm, int *ret)
{
	*ret = ((const struct comm *)comm)->rank;
	return SUCCESS;
}

EXPORT int ncclCommDestroy(void *comm)
{
	free(comm);
	return SUCCESS;
}

static int launch(const void *comm, void *data)
{
	struct rccl_stream *stream = data;

	if (!comm || !stream)
		return INVALID;
	stream->launch(stream);
	return SUCCESS;
}

EXPORT int ncclAllReduce(const void *send, void *receive, size_t count, int type, int reduction,
	void *comm, void *stream)
{
	(void)send, (void)receive, (void)count, (void)type, (void)reduction;
	return launch(comm, stream);
}

EXPORT int ncclReduceScatter(const void *send, void *receive, size_t count, int type, int reduction,
	void *comm, void *stream)
{
	(void)send, (void)receive, (void)count, (void)type, (void)reduction;
	return launch(comm, stream);
}
