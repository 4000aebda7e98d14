/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * How the databases that are open share the memory that SQLite may keep pages in, so that it is
 * one sum however many sessions there are. Store thread.
 */
#include <stdint.h>

struct store;

/*
 * What each of @databases may have, where each has @share now (0: none was open). Doubles and
 * halves only, and comes back up late, so that sessions that come and go do not change it.
 */
uint64_t cache_share(uint64_t share, unsigned databases);

/* After one was opened or closed. */
void cache_divide(struct store *store);
