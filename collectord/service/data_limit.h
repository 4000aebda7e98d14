/* SPDX-License-Identifier: MIT */
#pragma once
/* The limit of the private memory of a worker. Any thread. */
#include <stdint.h>

/*
 * Private memory of one worker, in addition to the definitions of its tenant (--quota-memory): the
 * stack of the store thread (64 MiB, of which few pages are used), 100 MiB of figures of processes
 * that have ended, 64 MiB of page caches, 32 MiB each of queued frames and of unread replies, 20
 * MiB of a drain, 8 MiB of the index, and 192 MiB for rows under way and for what malloc()
 * cannot give back. Beyond it an allocation fails, and the recorders absorb.
 */
#define WORKER_DATA_BYTES (512ull << 20)

/*
 * Limits the private memory of this process to WORKER_DATA_BYTES and @definition_bytes, which are
 * for the definitions of its tenant; 0: these have no limit, so there is none. May be called again
 * with another number.
 */
void data_limit(uint64_t definition_bytes);
