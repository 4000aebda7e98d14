// SPDX-License-Identifier: MIT
#include "cli/import/rows/trace_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/array.h"
#include "proto/base/cleanup.h"

void trace_process_free_p(struct trace_process **process)
{
	struct trace_process *p = *process;

	if (!p)
		return;
	for (size_t i = 0; i < p->collective_count; i++) {
		free(p->collectives[i].in_split);
		free(p->collectives[i].out_split);
	}
	for (size_t i = 0; i < p->group_count; i++)
		free(p->groups[i].ranks);
	free(p->hosts);
	free(p->details);
	free(p->kernels);
	free(p->copies);
	free(p->queues);
	free(p->collectives);
	free(p->groups);
	free(p->marks);
	free(p);
	*process = NULL;
}

int trace_process_new(struct import_store *store, int64_t key, struct trace_process **ret)
{
	CLEANUP(trace_process_free_p) struct trace_process *p = calloc(1, sizeof(*p));
	sqlite3_stmt *put = store->statements[IMPORT_PROCESS_PUT];
	int r;

	if (!p)
		return import_store_fail(store, -ENOMEM);
	sqlite3_bind_int64(put, 1, getuid());
	sqlite3_bind_int64(put, 2, store->import_id);
	r = database_run(put);
	if (r < 0)
		return import_store_fail(store, r);
	p->store = store;
	p->id = sqlite3_last_insert_rowid(store->writer->db);
	p->key = key;
	p->clock = IMPORT_UNKNOWN;
	p->pid = p->rank = p->world_size = p->local_rank = TRACE_NO_NUMBER;
	*ret = TAKE(p);
	return 0;
}

static int find_queue(struct trace_process *p, int64_t gpu, int64_t stream, uint32_t *ret)
{
	uint32_t i = p->last_queue;

	if (i < p->queue_count && p->queues[i].gpu == gpu && p->queues[i].stream == stream) {
		*ret = i;
		return 0;
	}
	for (i = 0; i < p->queue_count; i++)
		if (p->queues[i].gpu == gpu && p->queues[i].stream == stream)
			break;
	if (i == p->queue_count) {
		if (GROW(p->queues, p->queue_count, p->queue_capacity))
			return -ENOMEM;
		p->queues[p->queue_count++] = (struct trace_queue){
			.gpu = gpu, .stream = stream, .last_end_ns = INT64_MIN};
	}
	*ret = p->last_queue = i;
	return 0;
}

int trace_process_shape(struct trace_process *process, const struct trace_geometry *geometry,
	struct trace_kernel *kernel)
{
	struct intern *intern = &process->store->writer->intern;
	struct intern_shape_key key = {.process_id = process->id,
		.kernel_id = geometry->kernel_id,
		.gpu_id = (uint32_t)geometry->gpu,
		.lds = geometry->lds,
		.scratch = geometry->scratch};
	int r;

	if (geometry->gpu < 0 || geometry->gpu > INT32_MAX)
		return -ERANGE;
	r = find_queue(process, geometry->gpu, geometry->stream, &kernel->queue);
	if (r < 0)
		return r;
	key.queue = kernel->queue;
	memcpy(key.workgroup, geometry->workgroup, sizeof(key.workgroup));
	memcpy(key.grid, geometry->grid, sizeof(key.grid));
	r = intern_put_shape(intern, &key, &kernel->shape);
	return r < 0 ? r : intern_keep_shape(intern, &key, kernel->shape);
}

int trace_process_add_host(struct trace_process *process, const struct trace_host *host,
	const struct trace_detail *detail)
{
	struct trace_host *row;

	if (process->host_count >= TRACE_NONE - 1 ||
		GROW(process->hosts, process->host_count, process->host_capacity) ||
		(detail && GROW(process->details, process->detail_count, process->detail_capacity)))
		return -ENOMEM;
	row = process->hosts + process->host_count++;
	*row = *host;
	row->detail = detail ? (uint32_t)process->detail_count : TRACE_NONE;
	row->launch = TRACE_NONE;
	row->number = row->call = row->op = row->range = row->kernels = 0;
	if (detail)
		process->details[process->detail_count++] = *detail;
	return 0;
}

int trace_process_add_kernel(struct trace_process *process, const struct trace_kernel *kernel)
{
	if (GROW(process->kernels, process->kernel_count, process->kernel_capacity))
		return -ENOMEM;
	process->kernels[process->kernel_count++] = *kernel;
	return 0;
}

int trace_process_add_copy(struct trace_process *process, const struct trace_copy *copy)
{
	if (GROW(process->copies, process->copy_count, process->copy_capacity))
		return -ENOMEM;
	process->copies[process->copy_count++] = *copy;
	return 0;
}

int trace_process_add_mark(struct trace_process *process, const struct trace_mark *mark)
{
	if (GROW(process->marks, process->mark_count, process->mark_capacity))
		return -ENOMEM;
	process->marks[process->mark_count++] = *mark;
	return 0;
}

int trace_process_add_collective(
	struct trace_process *process, struct trace_collective *collective, uint32_t *ret)
{
	if (GROW(process->collectives, process->collective_count, process->collective_capacity))
		return -ENOMEM;
	*ret = (uint32_t)process->collective_count;
	process->collectives[process->collective_count++] = *collective;
	collective->in_split = collective->out_split = NULL;
	return 0;
}

int trace_process_group(
	struct trace_process *process, int64_t comm, const char *ranks, uint32_t *ret)
{
	for (size_t i = 0; i < process->group_count; i++)
		if (process->groups[i].comm == comm) {
			*ret = (uint32_t)i;
			return 0;
		}
	if (GROW(process->groups, process->group_count, process->group_capacity))
		return -ENOMEM;
	*ret = (uint32_t)process->group_count;
	process->groups[process->group_count] = (struct trace_group){.comm = comm};
	if (ranks && !(process->groups[process->group_count].ranks = strdup(ranks)))
		return -ENOMEM;
	process->group_count++;
	return 0;
}
