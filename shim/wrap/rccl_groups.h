/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Groups of RCCL calls on the calling thread, and identities for communicators that have no unique
 * id of their own. Operations in a group start when its outermost end is called, so that end gets
 * its number at the beginning of the group.
 */
#include <stdbool.h>
#include <stdint.h>

#include "shim/base/process/communicators.h"

/* ncclGroupStart() has succeeded; ncclGroupEnd() has returned. */
void rccl_group_enter(void);
void rccl_group_leave(void);

bool rccl_group_is_outermost(void);

/* Number of the call that will end the thread's group; 0 if it is in none. */
uint64_t rccl_group_end(void);

/* Inside a group: *comm is read when the group ends. False if there is no group, or no room. */
bool rccl_group_defer(void **comm, const struct communicator *known);

/* For ncclCommInitAll(): an identity that no other call of any process gets, recorded or not. */
uint64_t rccl_identity_of_process(void);

/*
 * For ncclCommSplit(): derived from the parent's identity, the number of this split of it, and the
 * color.
 */
uint64_t rccl_identity_of_split(uint64_t parent, uint64_t split, int color);
