/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The diagnostic counters of each process, as the block that rocm-trace-lite printed at exit,
 * under its own names, with the check that its documentation told people to make by eye. One
 * thread.
 */
#include <stdio.h>

#include "cli/database/query.h"

/* 0 or -errno; then query_error() tells. */
int diagnostic_show(struct query *query, FILE *to);

/* Adds the array "counters" to @document: raw names, and the check. The same errors. */
int diagnostic_put_json(struct query *query, json_t *document);
