/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The diagnostic counters of each process: of one process as the block that rocm-trace-lite printed
 * at exit, with its names, and with the check that its documentation asked users to make by hand.
 * One thread.
 */
#include <stdio.h>

#include "cli/database/query.h"

/*
 * Shows the block of a single process, or a matrix of counters by processes, in panels of @width
 * columns (0: one panel). Returns 0, or -errno with the reason in query_error().
 */
int diagnostic_show(struct query *query, size_t width, FILE *to);

/* Adds the array "counters" to @document: raw names and the check. The errors are the same. */
int diagnostic_put_json(struct query *query, json_t *document);
