/* SPDX-License-Identifier: MIT */
#include "shim/wrap/rccl.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "proto/names/collectives.h"
#include "shim/events/calls.h"
#include "shim/base/process/communicators.h"
#include "shim/base/process/process_rank.h"
#include "shim/wrap/real.h"
#include "shim/wrap/rccl_groups.h"
#include "shim/base/thread.h"

#define EXPORT __attribute__((visibility("default")))

#define NCCL_SUCCESS	  0
#define NCCL_SYSTEM_ERROR 2 /* returned if there is no RCCL behind us */
#define NCCL_IN_PROGRESS  7 /* from a non-blocking communicator: the handle is valid */

/* Arguments of the call, as far as the function has them. */
struct given {
	enum rtl_collective op;
	uint64_t count;
	/* Blocks of `count` elements that this rank contributes; 0 for one per rank. */
	uint32_t blocks;
	uint32_t type;
	uint32_t reduction;
	int32_t peer;
	const void *comm;
	const void *stream;
	bool is_to_peer; /* counted per link, not per communicator */
};

static struct given given_to(enum rtl_collective op)
{
	return (struct given){.op = op,
		.blocks = 1,
		.type = COLLECTIVE_NO_TYPE,
		.reduction = COLLECTIVE_NO_REDUCTION,
		.peer = COLLECTIVE_NO_PEER};
}

struct rccl_call {
	struct call_frame frame;
	uint64_t words[COLLECTIVE_ARGS];
};

/* ---- the real functions ---------------------------------------------------------------- */

static void *find_cached(void *_Atomic *cache, const char *name, const void *caller)
{
	void *found = atomic_load_explicit(cache, memory_order_acquire);

	if (__builtin_expect(!found, 0)) {
		found = real_find(name, "librccl", caller);
		if (found)
			atomic_store_explicit(cache, found, memory_order_release);
	}
	return found;
}

static void *_Atomic reals[RTL_COLLECTIVE_COUNT];

#define REAL_IN(variable, name, cache)                                                             \
	__typeof__(name) *variable = NULL;                                                         \
	do {                                                                                       \
		void *found_ = find_cached(cache, #name, __builtin_return_address(0));             \
		memcpy(&variable, &found_, sizeof(found_));                                        \
	} while (0)
#define REAL(variable, name) REAL_IN(variable, name, &reals[RTL_COLLECTIVE_##name])

/* We do not export these. */
int ncclCommCount(const void *comm, int *ret);
int ncclCommUserRank(const void *comm, int *ret);

static uint32_t query(int (*function)(const void *, int *), const void *comm, uint32_t unknown)
{
	int value = -1;

	return function && !function(comm, &value) && value >= 0 ? (uint32_t)value : unknown;
}

/*
 * For a communicator that was made without our wrappers, or by a split: asks RCCL for its size and
 * our rank.
 */
static void complete(const void *comm, struct communicator *known)
{
	static void *_Atomic real_count, *_Atomic real_rank;
	REAL_IN(count, ncclCommCount, &real_count);
	REAL_IN(rank, ncclCommUserRank, &real_rank);

	known->size = query(count, comm, 0);
	known->rank = query(rank, comm, COLLECTIVE_NO_RANK);
}

static struct communicator find(const void *comm)
{
	struct communicator known = communicators_find(comm);

	if (comm && known.rank == COLLECTIVE_NO_RANK)
		complete(comm, &known);
	return known;
}

/* ---- capture into a graph --------------------------------------------------------------- */

#define HIP_CAPTURE_ACTIVE 1

typedef int (*capture_info_fn)(const void *stream, int *status, unsigned long long *id,
	const void **graph, const void **dependencies, size_t *dependency_count);

/*
 * HIP's function, as RCCL itself would find it. Searched once, since RCCL is not loaded without
 * HIP.
 */
static capture_info_fn capture_info(enum rtl_collective op)
{
	static void *_Atomic cache;
	static _Atomic bool is_missing;
	void *found = atomic_load_explicit(&cache, memory_order_acquire);
	capture_info_fn ret;

	if (!found && !atomic_load_explicit(&is_missing, memory_order_relaxed)) {
		found = real_find("hipStreamGetCaptureInfo_v2", "libamdhip64",
			atomic_load_explicit(&reals[op], memory_order_relaxed));
		atomic_store_explicit(&cache, found, memory_order_release);
		atomic_store_explicit(&is_missing, !found, memory_order_relaxed);
	}
	memcpy(&ret, &found, sizeof(ret));
	return ret;
}

/*
 * The graph that the stream is being captured into; 0 if none. RCCL asks HIP the same at every
 * call. The default stream is never captured, and HIP refuses the question while another stream is.
 */
static uint64_t graph_of(const struct given *given)
{
	capture_info_fn info = given->stream ? capture_info(given->op) : NULL;
	const void *graph = NULL;
	unsigned long long id;
	int status = 0;

	if (!info || info(given->stream, &status, &id, &graph, NULL, NULL) ||
		status != HIP_CAPTURE_ACTIVE)
		return 0;
	return (uintptr_t)graph;
}

/* ---- records ---------------------------------------------------------------------------- */

/*
 * A call that RCCL makes to itself is part of the outer call. Stack addresses tell whether the
 * outer call was left without a return.
 */
static bool is_within(const struct rccl_call *call)
{
	return thread_state()->rccl_inside > (uintptr_t)call;
}

static uint64_t bytes_of(const struct given *given, uint32_t ranks)
{
	uint64_t blocks = given->blocks ? given->blocks : ranks ? ranks : 1;
	uint64_t bytes;

	if (__builtin_mul_overflow(given->count, blocks, &bytes) ||
		__builtin_mul_overflow(bytes, collective_type_bytes(given->type), &bytes) ||
		bytes > INT64_MAX)
		return INT64_MAX;
	return bytes;
}

static uint64_t number_of(const struct given *given)
{
	if (!collective_moves(given->op))
		return COLLECTIVE_NO_SEQ;
	if (given->is_to_peer)
		return communicators_next_to(given->comm, (uint32_t)given->peer,
			given->op == RTL_COLLECTIVE_ncclSend ? COMMUNICATOR_SENDS
							     : COMMUNICATOR_RECEIVES);
	return communicators_next(given->comm);
}

static void describe(const struct given *given, uint64_t *words)
{
	struct communicator known = find(given->comm);

	words[COLLECTIVE_ARG_COUNT] = given->count < INT64_MAX ? given->count : INT64_MAX;
	words[COLLECTIVE_ARG_BYTES] = bytes_of(given, known.size);
	words[COLLECTIVE_ARG_TYPE] = given->type | (uint64_t)given->reduction << 32;
	words[COLLECTIVE_ARG_COMM] = known.identity;
	words[COLLECTIVE_ARG_RANK] = known.rank | (uint64_t)known.size << 32;
	words[COLLECTIVE_ARG_SEQ] = number_of(given);
	words[COLLECTIVE_ARG_PEER] = (uint64_t)(int64_t)given->peer;
	words[COLLECTIVE_ARG_GROUP] = collective_moves(given->op) ? rccl_group_end() : 0;
	words[COLLECTIVE_ARG_GRAPH] = graph_of(given);
}

/*
 * Returns false if nothing is recorded: RCCL calls itself, or mode off. @id is from
 * calls_reserve(), or 0.
 */
static bool enter_as(struct rccl_call *call, const struct given *given, uint64_t id)
{
	if (calls_are_off() || is_within(call))
		return false;
	thread_state()->rccl_inside = (uintptr_t)call;
	describe(given, call->words);
	if (id)
		calls_begin_as(&call->frame, id);
	else
		rtl_call_begin(&call->frame);
	return true;
}

static bool enter(struct rccl_call *call, const struct given *given)
{
	return enter_as(call, given, 0);
}

static void leave(struct rccl_call *call, const struct given *given, int result)
{
	struct call_end end = {
		.kind = RECORDER_CALL_COLLECTIVE,
		.api = given->op,
		.result = result,
		.stream = (uintptr_t)given->stream,
		.words = call->words,
		.count = COLLECTIVE_ARGS,
	};

	thread_state()->rccl_inside = 0;
	rtl_call_end(&call->frame, &end);
}

/* For functions that only need a record. The further arguments are assignments to `given`. */
#define CALL(function_, arguments_, ...)                                                           \
	REAL(real, function_);                                                                     \
	struct given given = given_to(RTL_COLLECTIVE_##function_);                                 \
	struct rccl_call call;                                                                     \
	int result;                                                                                \
                                                                                                   \
	if (!real)                                                                                 \
		return NCCL_SYSTEM_ERROR;                                                          \
	__VA_ARGS__;                                                                               \
	if (!enter(&call, &given))                                                                 \
		return real arguments_;                                                            \
	result = real arguments_;                                                                  \
	leave(&call, &given, result);                                                              \
	return result

#define DATA                                                                                       \
	given.count = count, given.type = (uint32_t)type, given.comm = comm, given.stream = stream

EXPORT int ncclAllReduce(const void *send, void *receive, size_t count, int type, int reduction,
	void *comm, void *stream)
{
	CALL(ncclAllReduce, (send, receive, count, type, reduction, comm, stream), DATA,
		given.reduction = (uint32_t)reduction);
}

EXPORT int ncclReduce(const void *send, void *receive, size_t count, int type, int reduction,
	int root, void *comm, void *stream)
{
	CALL(ncclReduce, (send, receive, count, type, reduction, root, comm, stream), DATA,
		given.reduction = (uint32_t)reduction, given.peer = root);
}

EXPORT int ncclBroadcast(
	const void *send, void *receive, size_t count, int type, int root, void *comm, void *stream)
{
	CALL(ncclBroadcast, (send, receive, count, type, root, comm, stream), DATA,
		given.peer = root);
}

EXPORT int ncclBcast(void *buffer, size_t count, int type, int root, void *comm, void *stream)
{
	CALL(ncclBcast, (buffer, count, type, root, comm, stream), DATA, given.peer = root);
}

EXPORT int ncclAllGather(
	const void *send, void *receive, size_t count, int type, void *comm, void *stream)
{
	CALL(ncclAllGather, (send, receive, count, type, comm, stream), DATA);
}

EXPORT int ncclReduceScatter(const void *send, void *receive, size_t count, int type, int reduction,
	void *comm, void *stream)
{
	CALL(ncclReduceScatter, (send, receive, count, type, reduction, comm, stream), DATA,
		given.reduction = (uint32_t)reduction, given.blocks = 0);
}

EXPORT int ncclAllToAll(
	const void *send, void *receive, size_t count, int type, void *comm, void *stream)
{
	CALL(ncclAllToAll, (send, receive, count, type, comm, stream), DATA, given.blocks = 0);
}

static uint64_t sum(const size_t *counts, uint32_t n)
{
	uint64_t total = 0;

	for (uint32_t i = 0; counts && i < n; i++)
		total += counts[i];
	return total;
}

EXPORT int ncclAllToAllv(const void *send, const size_t *send_counts, const size_t *send_offsets,
	void *receive, const size_t *receive_counts, const size_t *receive_offsets, int type,
	void *comm, void *stream)
{
	uint64_t count = sum(send_counts, find(comm).size);

	CALL(ncclAllToAllv,
		(send, send_counts, send_offsets, receive, receive_counts, receive_offsets, type,
			comm, stream),
		DATA);
}

EXPORT int ncclGather(
	const void *send, void *receive, size_t count, int type, int root, void *comm, void *stream)
{
	CALL(ncclGather, (send, receive, count, type, root, comm, stream), DATA, given.peer = root);
}

EXPORT int ncclScatter(
	const void *send, void *receive, size_t count, int type, int root, void *comm, void *stream)
{
	CALL(ncclScatter, (send, receive, count, type, root, comm, stream), DATA,
		given.peer = root);
}

EXPORT int ncclSend(const void *send, size_t count, int type, int peer, void *comm, void *stream)
{
	CALL(ncclSend, (send, count, type, peer, comm, stream), DATA, given.peer = peer,
		given.is_to_peer = true);
}

EXPORT int ncclRecv(void *receive, size_t count, int type, int peer, void *comm, void *stream)
{
	CALL(ncclRecv, (receive, count, type, peer, comm, stream), DATA, given.peer = peer,
		given.is_to_peer = true);
}

/* ---- groups ----------------------------------------------------------------------------- */

EXPORT int ncclGroupStart(void)
{
	REAL(real, ncclGroupStart);
	struct given given = given_to(RTL_COLLECTIVE_ncclGroupStart);
	struct rccl_call call;
	int result;

	if (!real)
		return NCCL_SYSTEM_ERROR;
	if (!enter(&call, &given))
		return real();
	result = real();
	if (result == NCCL_SUCCESS)
		rccl_group_enter();
	leave(&call, &given, result);
	return result;
}

EXPORT int ncclGroupEnd(void)
{
	REAL(real, ncclGroupEnd);
	struct given given = given_to(RTL_COLLECTIVE_ncclGroupEnd);
	struct rccl_call call;
	int result;

	if (!real)
		return NCCL_SYSTEM_ERROR;
	if (!enter_as(&call, &given, rccl_group_is_outermost() ? rccl_group_end() : 0))
		return real();
	result = real();
	rccl_group_leave();
	leave(&call, &given, result);
	return result;
}

/* ---- communicators ---------------------------------------------------------------------- */

/* Inside a group the handle may not be set before the group ends. */
static void made(void **comm, const struct communicator *known, int result)
{
	if (result != NCCL_SUCCESS && result != NCCL_IN_PROGRESS)
		return;
	if (!comm || rccl_group_defer(comm, known))
		return;
	communicators_add(*comm, known);
}

static void words_set_communicator(struct rccl_call *call, const struct communicator *known)
{
	call->words[COLLECTIVE_ARG_COMM] = known->identity;
	call->words[COLLECTIVE_ARG_RANK] = known->rank | (uint64_t)known->size << 32;
}

/*
 * Called whether or not calls are recorded, and before the ranks wait for each other in the
 * function.
 */
static void count_rank(const struct communicator *known)
{
	communicators_count_ranks(known);
	process_rank_look_again();
}

#define INIT(function_, arguments_, comm_, identity_, size_, rank_)                                \
	REAL(real, function_);                                                                     \
	struct given given = given_to(RTL_COLLECTIVE_##function_);                                 \
	struct communicator known;                                                                 \
	struct rccl_call call;                                                                     \
	int result;                                                                                \
                                                                                                   \
	if (!real)                                                                                 \
		return NCCL_SYSTEM_ERROR;                                                          \
	known = (struct communicator){identity_, (uint32_t)(rank_), (uint32_t)(size_)};            \
	count_rank(&known);                                                                        \
	if (!enter(&call, &given))                                                                 \
		return real arguments_;                                                            \
	words_set_communicator(&call, &known);                                                     \
	result = real arguments_;                                                                  \
	made(comm_, &known, result);                                                               \
	leave(&call, &given, result);                                                              \
	return result

EXPORT int ncclGetUniqueId(nccl_unique_id *id)
{
	CALL(ncclGetUniqueId, (id), given.count = 0);
}

EXPORT int ncclCommInitRank(void **comm, int size, nccl_unique_id id, int rank)
{
	INIT(ncclCommInitRank, (comm, size, id, rank), comm, communicator_identity(&id, sizeof(id)),
		size, rank);
}

EXPORT int ncclCommInitRankConfig(void **comm, int size, nccl_unique_id id, int rank, void *config)
{
	INIT(ncclCommInitRankConfig, (comm, size, id, rank, config), comm,
		communicator_identity(&id, sizeof(id)), size, rank);
}

EXPORT int ncclCommInitRankScalable(
	void **comm, int size, int rank, int ids, nccl_unique_id *id, void *config)
{
	INIT(ncclCommInitRankScalable, (comm, size, rank, ids, id, config), comm,
		communicator_identity(id, id && ids > 0 ? (size_t)ids * sizeof(*id) : 0), size,
		rank);
}

/* All ranks are in this process, so no other process needs to compute the same identity. */
EXPORT int ncclCommInitAll(void **comm, int size, const int *devices)
{
	REAL(real, ncclCommInitAll);
	struct given given = given_to(RTL_COLLECTIVE_ncclCommInitAll);
	struct communicator known = {.rank = COLLECTIVE_NO_RANK, .size = (uint32_t)size};
	struct rccl_call call;
	int result;

	if (!real)
		return NCCL_SYSTEM_ERROR;
	if (!enter(&call, &given))
		return real(comm, size, devices);
	known.identity = rccl_identity_of_process();
	words_set_communicator(&call, &known);
	result = real(comm, size, devices);
	for (int rank = 0; result == NCCL_SUCCESS && comm && rank < size; rank++) {
		known.rank = (uint32_t)rank;
		communicators_add(comm[rank], &known);
	}
	leave(&call, &given, result);
	return result;
}

EXPORT int ncclCommSplit(void *comm, int color, int key, void **new_comm, void *config)
{
	REAL(real, ncclCommSplit);
	struct given given = given_to(RTL_COLLECTIVE_ncclCommSplit);
	struct communicator known = {.rank = COLLECTIVE_NO_RANK};
	struct rccl_call call;
	int result;

	if (!real)
		return NCCL_SYSTEM_ERROR;
	given.comm = comm;
	if (!enter(&call, &given))
		return real(comm, color, key, new_comm, config);
	known.identity = rccl_identity_of_split(
		communicators_find(comm).identity, communicators_next_split(comm), color);
	result = real(comm, color, key, new_comm, config);
	/* A rank without a color gets no communicator. */
	if (color >= 0)
		made(new_comm, &known, result);
	leave(&call, &given, result);
	return result;
}

EXPORT int ncclCommFinalize(void *comm)
{
	CALL(ncclCommFinalize, (comm), given.comm = comm);
}

/*
 * Removed before the communicator is destroyed, because another thread may get its address at once.
 */
#define END(function_)                                                                             \
	REAL(real, function_);                                                                     \
	struct given given = given_to(RTL_COLLECTIVE_##function_);                                 \
	struct rccl_call call;                                                                     \
	int result;                                                                                \
                                                                                                   \
	if (!real)                                                                                 \
		return NCCL_SYSTEM_ERROR;                                                          \
	given.comm = comm;                                                                         \
	if (!enter(&call, &given))                                                                 \
		return real(comm);                                                                 \
	communicators_remove(comm);                                                                \
	result = real(comm);                                                                       \
	leave(&call, &given, result);                                                              \
	return result

EXPORT int ncclCommDestroy(void *comm)
{
	END(ncclCommDestroy);
}

EXPORT int ncclCommAbort(void *comm)
{
	END(ncclCommAbort);
}

/* ---- look-ups by name ------------------------------------------------------------------ */

static bool has(const char *name, unsigned *ret)
{
	for (unsigned i = 0; i < RTL_COLLECTIVE_COUNT; i++) {
		if (strcmp(collective_name(i), name))
			continue;
		*ret = i;
		return true;
	}
	return false;
}

#define WRAPPER(name, class) [RTL_COLLECTIVE_##name] = (const void *)name,
static const void *const wrappers[] = {COLLECTIVES(WRAPPER)};

static bool is_wrapper(unsigned symbol, const void *function)
{
	return wrappers[symbol] == function;
}

static void *wrap(unsigned symbol, void *function)
{
	return real_adopt(&reals[symbol], function) ? (void *)(uintptr_t)wrappers[symbol]
						    : function;
}

const struct wrapped rccl_wrapped = {has, is_wrapper, real_next, wrap};
