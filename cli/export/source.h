/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What an export is of: the database, and of it what was asked for, what all formats need of it
 * before its first row. Texts are UTF-8: bytes that are none became U+FFFD. One thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cli/database/query.h"
#include "cli/database/verdict.h"
#include "cli/trace/id_map.h"
#include "proto/settings/selection.h"

struct export_options {
	struct choice_list ranks; /* of everything */
	struct choice_list gpus;  /* of kernels and copies */
	/* Events that are under way at some time from the one to the other: ns after the session's
	 * start. */
	bool has_from, has_to;
	int64_t from_ns, to_ns;
};

/* Each with "" where the database has nothing. */
struct export_process {
	size_t index; /* in the order of ranks */
	int64_t id, pid, rank, world_size, start_ns, end_ns;
	bool has_rank, has_world_size, has_end;
	char *host, *boot_id, *exe, *command;
	/* Index of its boot_id among those of the file; another one for each further process of the
	 * same pid, as imports and containers have them: no two processes have node and pid alike.
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
	const char *text, *json; /* json: quoted, of ASCII */
	const char *symbol;	 /* of a kernel; "" */
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
	int64_t start_ns, start_realtime_ns, end_ns; /* end: of the last thing that is known */
	struct idmap process_index, gpu_index;
	struct export_process *processes;
	struct export_gpu *gpus; /* by gpuId */
	size_t process_count, gpu_count, node_count;
	struct export_names kernels, functions;
	uint64_t dispatches;
};

/* 0 or -errno as query_open(). @ret is good for export_source_done() in either case. */
int export_source_load(struct query *query, const struct verdict *verdict,
	const struct export_options *options, struct export_source *ret);
void export_source_done(struct export_source *source);

/* NULL: there is none. */
const struct export_process *export_process_find(const struct export_source *source, int64_t id);
const struct export_gpu *export_gpu_find(const struct export_source *source, int64_t id);
const struct export_name *export_name_find(const struct export_names *names, int64_t id);

/* Its numbers are such as rtl gives: those that formats make of them have room. */
bool export_is_possible(const struct export_process *process);
/* Of the ranks that were asked for; a process without a rank is of none. */
bool export_has_process(const struct export_source *source, const struct export_process *process);
bool export_has_gpu(const struct export_source *source, bool has_gpu, int64_t gpu_id);
bool export_has_time(const struct export_source *source, int64_t start_ns, int64_t end_ns);

/* Nanoseconds between CLOCK_REALTIME and CLOCK_BOOTTIME as the session began. */
int64_t export_realtime_offset(const struct export_source *source);

/* @text as UTF-8, malloc'ed; NULL: no memory. */
char *export_clean(const char *text);
/* The same as a quoted JSON text of ASCII. */
char *export_json(const char *text);
