/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The files of a folder for formats that have one file per rank. Each file is made when its process
 * has its first row. Everything runs on one thread.
 */
#include "cli/export/rows/format.h"

struct rank_file {
	const struct export_process *process;
	FILE *to; /* NULL: nothing was written */
	char name[96];
	bool has_rows; /* the current array has rows */
	int section;   /* for the format's own use */
};

/* Indexed by export_process.index. Zeroed: empty. */
struct rank_files {
	struct rank_file *items;
};

/* Returns 0 or -ENOMEM. */
int rank_files_begin(const struct export_writer *writer, struct rank_files *ret);
/*
 * Finds or creates the file of @process: rank<N>SUFFIX; rank<N>_pid<PID>SUFFIX if another process
 * has the rank; pid<PID>SUFFIX for a process without a rank; if the pid is taken as well, _p<ID>
 * follows it with the id in the database. Returns 1 if the file is new, 0 if not, or -errno after
 * printing the reason.
 */
int rank_files_get(struct export_writer *writer, struct rank_files *files,
	const struct export_process *process, const char *suffix, struct rank_file **ret);
/*
 * Ends each file, whose document is an object: @last writes the end of its rows, then what was left
 * out follows as the last member. Returns 0, or -errno after printing the reason.
 */
int rank_files_end(struct export_writer *writer, struct rank_files *files,
	void (*last)(struct rank_file *file));
void rank_files_done(const struct export_writer *writer, struct rank_files *files);
