// SPDX-License-Identifier: MIT
#include "cli/import/rows/trace_set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/base/array.h"

void trace_set_done(struct trace_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		trace_process_free_p(set->at + i);
	free(set->at);
}

int trace_set_find(
	struct trace_set *set, struct import_store *store, int64_t key, struct trace_process **ret)
{
	size_t i = set->last;
	int r;

	if (i >= set->count || set->at[i]->key != key)
		for (i = 0; i < set->count && set->at[i]->key != key; i++)
			;
	if (i == set->count) {
		if (GROW(set->at, set->count, set->capacity))
			return -ENOMEM;
		r = trace_process_new(store, key, set->at + i);
		if (r < 0)
			return r;
		set->count++;
	}
	set->last = i;
	*ret = set->at[i];
	return 0;
}

int trace_set_write(struct trace_set *set, struct import_store *store, struct trace_file *file,
	const struct import_options *options)
{
	uint64_t events = 0;
	int r = 0;

	for (size_t i = 0; i < set->count; i++)
		events +=
			set->at[i]->kernel_count + set->at[i]->copy_count + set->at[i]->mark_count;
	if (!events && !options->is_empty_allowed) {
		snprintf(file->error, sizeof(file->error),
			"%.200s: has no event of a GPU; --allow-empty takes it nevertheless",
			file->name);
		return -ENODATA;
	}
	for (size_t i = 0; i < set->count && r == 0; i++) {
		r = trace_process_write(set->at[i]);
		/* Frees the process after its rows are written, because the next one needs the
		 * memory. */
		trace_process_free_p(set->at + i);
	}
	set->count = r == 0 ? 0 : set->count;
	if (r == -ERANGE)
		return trace_file_refuse(file, file->at, "a time is out of range");
	return file->error[0] ? r : import_store_fail(store, r);
}
