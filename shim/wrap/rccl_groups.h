/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Groups of RCCL calls of the calling thread, and the identities of communicators that have no
 * unique id of their own. What is put into a group starts with its outermost end, so that end has
 * its number from the beginning.
 */
#include <stdbool.h>
#include <stdint.h>

#include "shim/base/communicators.h"

/* ncclGroupStart has succeeded; ncclGroupEnd has returned. */
void rccl_group_enter(void);
void rccl_group_leave(void);

bool rccl_group_is_outermost(void);

/* Number of the call that will end the thread's group; 0: it is in none. */
uint64_t rccl_group_end(void);

/* In a group: *comm is read at its end. False: there is no group (or no room). */
bool rccl_group_defer(void **comm, const struct communicator *known);

/* ncclCommInitAll: unlike that of any other call of any process, recorded or not. */
uint64_t rccl_identity_of_process(void);

/* ncclCommSplit: from the parent's, its how many-th split this is, and the color. */
uint64_t rccl_identity_of_split(uint64_t parent, uint64_t split, int color);
