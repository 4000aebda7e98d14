/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A database in Chrome's trace event format (JSON), which Perfetto's UI, chrome://tracing and
 * TraceLens read; docs/formats.md says what is in it. One thread.
 */
#include <stdint.h>
#include <stdio.h>

#include "cli/database/query.h"
#include "cli/database/verdict.h"
#include "cli/export/processes.h"

/* What the format has no place for, of what was asked for. */
struct chrome_json_left_out {
	uint64_t untimed_kernels, untimed_copies;
	uint64_t outstanding; /* kernels */
	uint64_t open_ranges; /* and marks without a time */
	uint64_t impossible;  /* negative times, numbers that no track has, no process */
	uint64_t crossing;    /* more than 64 lanes would be needed */
};

/*
 * Writes the document, a row at a time. 0 or -errno; then query_error() tells. A write error stays
 * in the stream.
 */
int chrome_json_write(struct query *query, const struct verdict *verdict,
	const struct export_options *options, FILE *to, struct chrome_json_left_out *ret);
