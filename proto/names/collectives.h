/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The RCCL functions that are recorded, in every mode but off, and what their numbers mean: the
 * shim makes its records from this table, the daemon their names. Append only.
 *
 * X(name, class): MOVES data between ranks, so it has a count, a datatype and a place in its
 * communicator's sequence (rtl_collective); MANAGES communicators or groups, and is a call only.
 */
#include <stdint.h>

/* clang-format off */
#define COLLECTIVES(X) \
	X(ncclAllReduce, MOVES) \
	X(ncclReduce, MOVES) \
	X(ncclBroadcast, MOVES) \
	X(ncclBcast, MOVES) \
	X(ncclAllGather, MOVES) \
	X(ncclReduceScatter, MOVES) \
	X(ncclAllToAll, MOVES) \
	X(ncclAllToAllv, MOVES) \
	X(ncclGather, MOVES) \
	X(ncclScatter, MOVES) \
	X(ncclSend, MOVES) \
	X(ncclRecv, MOVES) \
	X(ncclGroupStart, MANAGES) \
	X(ncclGroupEnd, MANAGES) \
	X(ncclCommInitRank, MANAGES) \
	X(ncclCommInitRankConfig, MANAGES) \
	X(ncclCommInitRankScalable, MANAGES) \
	X(ncclCommInitAll, MANAGES) \
	X(ncclCommSplit, MANAGES) \
	X(ncclCommFinalize, MANAGES) \
	X(ncclCommDestroy, MANAGES) \
	X(ncclCommAbort, MANAGES) \
	X(ncclGetUniqueId, MANAGES)

/* ncclDataType_t, by value: name, bytes of an element. */
#define COLLECTIVE_TYPES(X) \
	X(int8, 1) X(uint8, 1) X(int32, 4) X(uint32, 4) X(int64, 8) X(uint64, 8) X(float16, 2) \
	X(float32, 4) X(float64, 8) X(bfloat16, 2) X(float8e4m3, 1) X(float8e5m2, 1)

/* ncclRedOp_t, by value; greater ones are the program's own (ncclRedOpCreate...). */
#define COLLECTIVE_REDUCTIONS(X) X(sum) X(prod) X(max) X(min) X(avg)
/* clang-format on */

#define COLLECTIVE_ENUM(name, class) RTL_COLLECTIVE_##name,
enum rtl_collective { COLLECTIVES(COLLECTIVE_ENUM) RTL_COLLECTIVE_COUNT };

/* For what a call does not have. */
#define COLLECTIVE_NO_TYPE	UINT32_MAX
#define COLLECTIVE_NO_REDUCTION UINT32_MAX
#define COLLECTIVE_NO_PEER	(-1)
#define COLLECTIVE_NO_SEQ	UINT64_MAX
#define COLLECTIVE_NO_RANK	UINT32_MAX
#define COLLECTIVE_NO_COMM	0u

/* recorder_call.arg of a RECORDER_CALL_COLLECTIVE. */
enum collective_arg {
	COLLECTIVE_ARG_COUNT,
	COLLECTIVE_ARG_BYTES,
	COLLECTIVE_ARG_TYPE, /* datatype | reduction << 32 */
	COLLECTIVE_ARG_COMM,
	COLLECTIVE_ARG_RANK, /* rank | size << 32 */
	COLLECTIVE_ARG_SEQ,
	COLLECTIVE_ARG_PEER,
	COLLECTIVE_ARG_GROUP,
	COLLECTIVE_ARG_GRAPH, /* hipGraph_t that the call was captured into; 0: it was not */
	COLLECTIVE_ARGS,
};

/* NULL, 0 or false for what is not in the tables. */
const char *collective_name(uint32_t op);
int collective_moves(uint32_t op);
const char *collective_type_name(uint32_t type);
uint32_t collective_type_bytes(uint32_t type);
/* "custom" past the table, NULL for COLLECTIVE_NO_REDUCTION. */
const char *collective_reduction_name(uint32_t reduction);
