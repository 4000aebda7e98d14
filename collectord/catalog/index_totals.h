/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Sums of the closed sessions of an index. They are read from the rows once and then adjusted with
 * each change, so that the cost of reading them does not grow with the number of sessions. Store
 * thread.
 */
#include <stdint.h>

struct index;

struct index_totals {
	uint64_t closed_bytes; /* size of the databases whose sessions are all closed ... */
	unsigned closed;       /* ... and their number */
	unsigned removed;      /* rows of removed sessions */
};

/* database_errno(). */
int index_totals_read(struct index *index, struct index_totals *ret);
