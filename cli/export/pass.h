/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * One reading of a database: processes first, then kernels, copies, host calls, ranges, each in the
 * order of the file. A row that no format can hold is counted in all of them. Memory: one row, and
 * what the formats keep. One thread.
 */
#include "cli/export/format.h"

/* 0 or -errno, from the query or a format. */
int export_pass(struct export_writer *writers, size_t count);
