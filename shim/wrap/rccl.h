/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * RCCL's functions as we export them (shim.map), chained to the real ones. Any application thread.
 * The build needs no RCCL header; the prototypes are those of rccl.h.
 */
#include <stddef.h>

#include "shim/wrap/wrapped.h"

#define NCCL_UNIQUE_ID_BYTES 128

typedef struct {
	char internal[NCCL_UNIQUE_ID_BYTES];
} nccl_unique_id;

int ncclAllReduce(const void *send, void *receive, size_t count, int type, int reduction,
	void *comm, void *stream);
int ncclReduce(const void *send, void *receive, size_t count, int type, int reduction, int root,
	void *comm, void *stream);
int ncclBroadcast(const void *send, void *receive, size_t count, int type, int root, void *comm,
	void *stream);
int ncclBcast(void *buffer, size_t count, int type, int root, void *comm, void *stream);
int ncclAllGather(
	const void *send, void *receive, size_t count, int type, void *comm, void *stream);
int ncclReduceScatter(const void *send, void *receive, size_t count, int type, int reduction,
	void *comm, void *stream);
int ncclAllToAll(const void *send, void *receive, size_t count, int type, void *comm, void *stream);
int ncclAllToAllv(const void *send, const size_t *send_counts, const size_t *send_offsets,
	void *receive, const size_t *receive_counts, const size_t *receive_offsets, int type,
	void *comm, void *stream);
int ncclGather(const void *send, void *receive, size_t count, int type, int root, void *comm,
	void *stream);
int ncclScatter(const void *send, void *receive, size_t count, int type, int root, void *comm,
	void *stream);
int ncclSend(const void *send, size_t count, int type, int peer, void *comm, void *stream);
int ncclRecv(void *receive, size_t count, int type, int peer, void *comm, void *stream);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclGetUniqueId(nccl_unique_id *id);
int ncclCommInitRank(void **comm, int size, nccl_unique_id id, int rank);
int ncclCommInitRankConfig(void **comm, int size, nccl_unique_id id, int rank, void *config);
int ncclCommInitRankScalable(
	void **comm, int size, int rank, int ids, nccl_unique_id *id, void *config);
int ncclCommInitAll(void **comm, int size, const int *devices);
int ncclCommSplit(void *comm, int color, int key, void **new_comm, void *config);
int ncclCommFinalize(void *comm);
int ncclCommDestroy(void *comm);
int ncclCommAbort(void *comm);

extern const struct wrapped rccl_wrapped;
