// SPDX-License-Identifier: MIT
#include "cli/export/processes.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/base/array.h"
#include "proto/base/cleanup.h"

static int add(struct export_processes *processes, const struct export_process *process)
{
	struct export_process *grown;
	uint32_t *at;

	grown = grow_by_one(processes->items, processes->count, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	processes->items = grown;
	at = idmap_at(&processes->index, process->id);
	if (!at)
		return -ENOMEM;
	*at = (uint32_t)processes->count;
	grown[processes->count++] = *process;
	return 0;
}

int export_processes_load(
	struct query *query, const struct export_options *options, struct export_processes *ret)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(query, "processes", &rows);

	ret->options = options;
	while (!r && (r = query_next(rows)) > 0)
		r = add(ret, &(struct export_process){
				     .id = query_integer(rows, 0),
				     .rank = query_integer(rows, 1),
				     .has_rank = !query_is_null(rows, 1),
				     .pid = query_integer(rows, 4),
			     });
	return r;
}

void export_processes_done(struct export_processes *processes)
{
	idmap_done(&processes->index);
	free(processes->items);
}

const struct export_process *export_processes_find(
	const struct export_processes *processes, int64_t id)
{
	uint32_t at = idmap_find(&processes->index, id);

	return at == IDMAP_NONE ? NULL : processes->items + at;
}

static bool is_chosen(const struct choice_list *list, bool has_number, int64_t number)
{
	return !list->count || (has_number && number >= 0 && number <= UINT32_MAX &&
				       choice_has(list, (uint32_t)number));
}

bool export_has_process(
	const struct export_processes *processes, const struct export_process *process)
{
	return is_chosen(&processes->options->ranks, process->has_rank, process->rank);
}

bool export_has_gpu(const struct export_processes *processes, bool has_gpu, int64_t gpu_id)
{
	return is_chosen(&processes->options->gpus, has_gpu, gpu_id);
}
