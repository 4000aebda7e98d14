/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Reads a database once: processes first, then kernels, copies, host calls, ranges and the
 * operations of frameworks, each in the order of the file. A row that no format can hold is counted
 * for all of them. The memory is one row and what the formats keep. Everything runs on one thread.
 */
#include "cli/export/rows/format.h"

/* Returns 0, or -errno from the query or from a format. */
int export_pass(struct export_writer *writers, size_t count);
