/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Readers of other tools' files, one per format. Each writes the rows of one file into the open
 * transaction of a store. Only import_file() and import_temporary_make() print. Everything runs on
 * one thread.
 */
#include <limits.h>
#include <regex.h>
#include <stdbool.h>

#include "cli/import/import_store.h"
#include "cli/import/trace_file.h"

struct import_options {
	const regex_t *rank_from; /* its first group is the rank in a file's name; NULL: none */
	bool has_python;	  /* keep all frames of Python; else only those of nn.Module */
	bool is_empty_allowed;	  /* a file without a kernel is accepted */
};

struct import_format {
	const char *name;
	const char *source; /* the name of the tool in a sentence; NULL: rtl */
	/* Returns 0, or -errno with the reason in @file->error or @store->error. */
	int (*read)(struct import_store *store, struct trace_file *file,
		const struct import_options *options);
};

/* Returns NULL with the reason in @file->error if the format is unknown. */
const struct import_format *import_format_of(struct trace_file *file);

/* Adds the file @name to @store, and prints how many rows it has or what is wrong. Returns 0, 1 if
 * the store has it already, or -errno. */
int import_file(struct import_store *store, const char *name, const struct import_options *how);

/* A database made of some files for one command. */
struct import_temporary {
	char folder[PATH_MAX - 16]; /* "": none was made */
	char path[PATH_MAX];
};
/*
 * Makes the database. A process of unknown rank that is alone in its file gets the place of the
 * file, from 0, as its rank. Returns 0, or -errno after printing the reason. In either case the
 * caller calls import_temporary_done() on @ret.
 */
int import_temporary_make(char *const *files, size_t count, struct import_temporary *ret);
void import_temporary_done(struct import_temporary *temporary);

int torch_read(
	struct import_store *store, struct trace_file *file, const struct import_options *options);
int rocprofv3_read(
	struct import_store *store, struct trace_file *file, const struct import_options *options);
int rocpd_read(
	struct import_store *store, struct trace_file *file, const struct import_options *options);
int aorta_read(
	struct import_store *store, struct trace_file *file, const struct import_options *options);
/* Keeps another database attached to that of the store. The caller calls own_end() after the
 * transaction. */
int own_read(
	struct import_store *store, struct trace_file *file, const struct import_options *options);
void own_end(struct import_store *store);
int rpd_read(
	struct import_store *store, struct trace_file *file, const struct import_options *options);
int trace_lite_read(
	struct import_store *store, struct trace_file *file, const struct import_options *options);

/*
 * Returns the rank that a file's name tells, or TRACE_NO_NUMBER: what --rank-from finds, else
 * "rank3", "rank-3" or "rank_3" in the file's name, else in the last folder's.
 */
int64_t import_rank_of_name(const char *name, const regex_t *rank_from);
