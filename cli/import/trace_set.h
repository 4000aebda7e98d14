/* SPDX-License-Identifier: MIT */
#pragma once
/* The processes of one file, by what tells them apart in it. One thread. */
#include "cli/import/import.h"
#include "cli/import/trace_process.h"

struct trace_set {
	struct trace_process **at;
	size_t count, capacity, last;
};

void trace_set_done(struct trace_set *set);
/* The process of @key, made on first sight. As trace_process_new(). */
int trace_set_find(
	struct trace_set *set, struct import_store *store, int64_t key, struct trace_process **ret);
/*
 * Writes them all. -ENODATA with a line where there is no event of a GPU, unless that is allowed;
 * -EBADMSG: a time is out of range; as trace_process_write().
 */
int trace_set_write(struct trace_set *set, struct import_store *store, struct trace_file *file,
	const struct import_options *options);
