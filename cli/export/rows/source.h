/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The source of an export: the database, the selection of what to export, and what all formats need
 * before the first row. Texts are UTF-8; other bytes became U+FFFD. Everything runs on one thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cli/database/query.h"
#include "cli/database/session/verdict.h"
#include "cli/trace/id_map.h"
#include "proto/settings/selection.h"

struct export_options {
	struct choice_list ranks; /* select all kinds of rows */
	struct choice_list gpus;  /* select kernels and copies */
	/* Select events that are under way at some time between the two; ns since the start of the
	 * session. */
	bool has_from, has_to;
	int64_t from_ns, to_ns;
};

/* Texts that the database lacks are "". */
struct export_process {
	size_t index; /* in the order of ranks */
	int64_t id, pid, rank, world_size, start_ns, end_ns;
	bool has_rank, has_world_size, has_end;
	char *host, *boot_id, *exe, *command;
	/*
	 * Index of its boot_id among those of the file. Imports and containers may have several
	 * processes with the same pid; each further one gets a node of its own, so that no two
	 * processes share both node and pid.
	 */
	size_t node;
};

struct export_gpu {
	int64_t id, kfd_node;
	bool has_node;
	char *name, *gfx, *bdf, *unique_id;
};

struct export_name {
	int64_t id;
	const char *text, *json; /* json: quoted ASCII */
	const char *symbol;	 /* of a kernel; else "" */
	bool is_communication;
};

struct export_names {
	struct idmap index;
	struct export_name *items;
	size_t count;
};

struct export_source {
	struct query *query;		      /* borrowed */
	const struct verdict *verdict;	      /* borrowed */
	const struct export_options *options; /* borrowed */
	char *session, *command, *host;
	int64_t start_ns, start_realtime_ns, end_ns; /* end_ns: of the last thing that is known */
	struct idmap process_index, gpu_index;
	struct export_process *processes;
	struct export_gpu *gpus; /* sorted by gpuId */
	size_t process_count, gpu_count, node_count;
	struct export_names kernels, functions;
	uint64_t dispatches;
};

/* Returns 0 or -errno as query_open() does. In either case the caller calls export_source_done() on
 * @ret. */
int export_source_load(struct query *query, const struct verdict *verdict,
	const struct export_options *options, struct export_source *ret);
void export_source_done(struct export_source *source);

/* These return NULL if there is none. */
const struct export_process *export_process_find(const struct export_source *source, int64_t id);
const struct export_gpu *export_gpu_find(const struct export_source *source, int64_t id);
const struct export_name *export_name_find(const struct export_names *names, int64_t id);

/* Returns true if the numbers of the process are such as rtl assigns, so that the numbers which
 * formats derive from them have room. */
bool export_is_possible(const struct export_process *process);
/* Returns true if the process belongs to a requested rank. A process without a rank belongs to
 * none. */
bool export_has_process(const struct export_source *source, const struct export_process *process);
bool export_has_gpu(const struct export_source *source, bool has_gpu, int64_t gpu_id);
bool export_has_time(const struct export_source *source, int64_t start_ns, int64_t end_ns);

/* Returns the nanoseconds between CLOCK_REALTIME and CLOCK_BOOTTIME when the session began. */
int64_t export_realtime_offset(const struct export_source *source);

/* Returns @text as UTF-8. The caller frees it. NULL if out of memory. */
char *export_clean(const char *text);
/* Does the same as a quoted JSON text of ASCII. */
char *export_json(const char *text);
