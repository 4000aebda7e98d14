/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What the shim knows of RCCL's communicators: who they are on all ranks, and how many operations
 * this rank has put on them. Any thread, never waits; for so many as the tables hold, others are
 * unknown.
 */
#include <stddef.h>
#include <stdint.h>

struct communicator {
	uint64_t identity; /* the same on all ranks, below 2^63; COLLECTIVE_NO_COMM: unknown */
	uint32_t rank;	   /* COLLECTIVE_NO_RANK: unknown */
	uint32_t size;
};

/* From the bytes that all ranks have been given; and of ranks that split off. */
uint64_t communicator_identity(const void *bytes, size_t size);

/* RCCL's handle @comm is this one from now on. */
void communicators_add(const void *comm, const struct communicator *known);
void communicators_remove(const void *comm);

/* What is known; all unknown: nothing. */
struct communicator communicators_find(const void *comm);

/*
 * This process has rank @known->rank in it: said where it is made, whether calls are recorded or not.
 * communicators_largest() is the one of most ranks so far, made first among equals; its rank is
 * COLLECTIVE_NO_RANK where the process has several of its ranks. identity COLLECTIVE_NO_COMM: none.
 */
void communicators_count_ranks(const struct communicator *known);
struct communicator communicators_largest(void);

/* The next number of @comm's collectives, from 0; COLLECTIVE_NO_SEQ: unknown. */
uint64_t communicators_next(const void *comm);

/* Of its splits: all ranks split in the same order. */
uint64_t communicators_next_split(const void *comm);

enum communicator_way { COMMUNICATOR_SENDS, COMMUNICATOR_RECEIVES };

/* The next number of what goes to or comes from @peer: its k-th send there is the k-th receive. */
uint64_t communicators_next_to(const void *comm, uint32_t peer, enum communicator_way way);
