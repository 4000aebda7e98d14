/* SPDX-License-Identifier: MIT */
#pragma once
/* The processes of one file, found by what tells them apart in it. Everything runs on one
 * thread. */
#include "cli/import/rows/options.h"
#include "cli/import/rows/trace_process.h"

struct trace_set {
	struct trace_process **at;
	size_t count, capacity, last;
};

void trace_set_done(struct trace_set *set);
/* Finds the process of @key; the first call makes it. Returns what trace_process_new() returns. */
int trace_set_find(
	struct trace_set *set, struct import_store *store, int64_t key, struct trace_process **ret);
/*
 * Writes all processes. Returns 0, -ENODATA with the reason in @file->error if there is no event of
 * a GPU and that is not allowed, -EBADMSG if a time is out of range, or what trace_process_write()
 * returns.
 */
int trace_set_write(struct trace_set *set, struct import_store *store, struct trace_file *file,
	const struct import_options *options);
