/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Divides the memory for SQLite's pages among the open databases, so that the sum is bounded
 * however many sessions there are. Store thread.
 */
#include <stdint.h>

struct store;

/*
 * Returns the share of each of @databases, given the present @share (0: none was open). The share
 * only doubles or halves, and grows late, so that sessions that come and go do not change it.
 */
uint64_t cache_share(uint64_t share, unsigned databases);

/* Called after a database was opened or closed. */
void cache_divide(struct store *store);
