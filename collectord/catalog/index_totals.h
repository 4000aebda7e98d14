/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Sums of the closed sessions of each tenant. They are read from the rows once and then adjusted
 * with each change, so that the cost of reading them does not grow with the number of sessions.
 * Store thread.
 */
#include <stdint.h>
#include <sys/types.h>

struct index;

/* Calls @take with the size and number of the closed databases of each tenant. database_errno(). */
int index_each_closed(struct index *index,
	void (*take)(uid_t tenant, uint64_t bytes, unsigned count, void *data), void *data);
