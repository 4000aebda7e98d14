/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What the shim knows of RCCL's communicators: an identity that is the same on all ranks, and the
 * number of operations that this rank has put on them. Any thread may call; no function waits. The
 * tables are of fixed size: a communicator that does not fit is unknown.
 */
#include <stddef.h>
#include <stdint.h>

struct communicator {
	uint64_t identity; /* the same on all ranks, below 2^63; COLLECTIVE_NO_COMM: unknown */
	uint32_t rank;	   /* COLLECTIVE_NO_RANK: unknown */
	uint32_t size;
};

/*
 * Hashes bytes that all ranks of the communicator were given, or that describe the split they take
 * part in.
 */
uint64_t communicator_identity(const void *bytes, size_t size);

/* From now on, RCCL's handle @comm stands for @known. */
void communicators_add(const void *comm, const struct communicator *known);
void communicators_remove(const void *comm);

/* All fields are "unknown" if the handle is. */
struct communicator communicators_find(const void *comm);

/*
 * Notes that this process is rank @known->rank of a communicator. Called wherever one is made,
 * whether or not calls are recorded. communicators_largest() returns the one with most ranks so
 * far, the first of equals; its rank is COLLECTIVE_NO_RANK if the process has several of its ranks,
 * its identity COLLECTIVE_NO_COMM if there is none.
 */
void communicators_count_ranks(const struct communicator *known);
struct communicator communicators_largest(void);

/* The number of the next collective on @comm, from 0; COLLECTIVE_NO_SEQ if @comm is unknown. */
uint64_t communicators_next(const void *comm);

/* The number of @comm's next split. All ranks split in the same order, so the numbers agree. */
uint64_t communicators_next_split(const void *comm);

enum communicator_way { COMMUNICATOR_SENDS, COMMUNICATOR_RECEIVES };

/*
 * The number of the next send to, or receive from, @peer: the k-th send matches the peer's k-th
 * receive.
 */
uint64_t communicators_next_to(const void *comm, uint32_t peer, enum communicator_way way);
