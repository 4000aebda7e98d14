/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Of formats that have a file for each rank: the files of a folder, each made when its process has
 * a first row. One thread.
 */
#include "cli/export/format.h"

struct rank_file {
	const struct export_process *process;
	FILE *to; /* NULL: nothing was written */
	char name[96];
	bool has_rows; /* of the array that is under way */
	int section;   /* the format's own */
};

/* By export_process.index; zeroed: none. */
struct rank_files {
	struct rank_file *items;
};

/* 0 or -ENOMEM. */
int rank_files_begin(const struct export_writer *writer, struct rank_files *ret);
/*
 * The file of @process: rank<N>SUFFIX; rank<N>_pid<PID>SUFFIX where another one has the rank;
 * pid<PID>SUFFIX of a process without a rank; where the pid is taken, too, it is followed by
 * _p<ID>, of the database. 1: it is new; 0; -errno after a line.
 */
int rank_files_get(struct export_writer *writer, struct rank_files *files,
	const struct export_process *process, const char *suffix, struct rank_file **ret);
/*
 * Ends each file, whose document is an object: @last writes what its rows lack, and what was left
 * out follows as the last member. 0 or -errno after a line.
 */
int rank_files_end(struct export_writer *writer, struct rank_files *files,
	void (*last)(struct rank_file *file));
void rank_files_done(const struct export_writer *writer, struct rank_files *files);
