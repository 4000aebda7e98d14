/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for librccl.so.1, for a program that has no HIP: of RCCL's ABI what rtl-demo-rccl
 * calls, with the prototypes of rccl.h. It moves no data. What the program gives as a stream knows
 * how to launch the kernel of the collective. Functions return 0, or RCCL's numbers of an error.
 */
#pragma once

#include <stddef.h>

#define RCCL_ID_BYTES 128
#define RCCL_FLOAT32  7 /* ncclFloat32 */
#define RCCL_SUM      0 /* ncclSum */

typedef struct {
	char internal[RCCL_ID_BYTES];
} rccl_unique_id;

struct rccl_stream {
	void (*launch)(struct rccl_stream *stream);
};

int ncclGetUniqueId(rccl_unique_id *id);
int ncclCommInitRank(void **comm, int size, rccl_unique_id id, int rank);
int ncclCommCount(const void *comm, int *ret);
int ncclCommUserRank(const void *comm, int *ret);
int ncclCommDestroy(void *comm);
int ncclAllReduce(const void *send, void *receive, size_t count, int type, int reduction,
	void *comm, void *stream);
int ncclReduceScatter(const void *send, void *receive, size_t count, int type, int reduction,
	void *comm, void *stream);
