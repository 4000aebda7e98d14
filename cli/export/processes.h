/* SPDX-License-Identifier: MIT */
#pragma once
/* The processes of a database, and which of them an export is of. One thread. */
#include <stdbool.h>
#include <stdint.h>

#include "cli/database/query.h"
#include "cli/trace/id_map.h"
#include "proto/settings/selection.h"

struct export_options {
	struct choice_list ranks; /* of everything */
	struct choice_list gpus;  /* of kernels and copies */
};

struct export_process {
	int64_t id, pid, rank;
	bool has_rank;
};

/* Zeroed: empty. */
struct export_processes {
	struct idmap index;
	struct export_process *items;
	size_t count;
	const struct export_options *options; /* borrowed */
};

/* 0 or -errno as query_open(). */
int export_processes_load(
	struct query *query, const struct export_options *options, struct export_processes *ret);
void export_processes_done(struct export_processes *processes);
/* NULL: there is no such process. */
const struct export_process *export_processes_find(
	const struct export_processes *processes, int64_t id);
/* Of the ranks that were asked for; a process without a rank is of none. */
bool export_has_process(
	const struct export_processes *processes, const struct export_process *process);
bool export_has_gpu(const struct export_processes *processes, bool has_gpu, int64_t gpu_id);
