/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What each tenant has closed: sums that go along with the rows of the index, so that a look at
 * them takes as long with ten sessions as with ten thousand. Read from the rows once. Store thread.
 */
#include <stdint.h>
#include <sys/types.h>

struct index;

/* What closed databases of each tenant take, and how many they are. database_errno(). */
int index_each_closed(struct index *index,
	void (*take)(uid_t tenant, uint64_t bytes, unsigned count, void *data), void *data);
