/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Readers of other tools' files, one a format. Each writes the rows of one file into the open
 * transaction of a store. Prints nothing, but for
 * import_file() and import_temporary_make(). One thread.
 */
#include <limits.h>
#include <regex.h>
#include <stdbool.h>

#include "cli/import/import_store.h"
#include "cli/import/trace_file.h"

struct import_options {
	const regex_t *rank_from; /* whose first group is the rank, in a file's name; NULL */
	bool has_python;	  /* keep all frames of Python, not those of nn.Module alone */
	bool is_empty_allowed;	  /* a file without a kernel is no mistake */
};

struct import_format {
	const char *name;
	const char *source; /* the tool, as it stands in a sentence; NULL: rtl */
	/* 0, or -errno with its line in @file->error or @store->error. */
	int (*read)(struct import_store *store, struct trace_file *file,
		const struct import_options *options);
};

/* NULL with a line in @file->error: of no format that is known. */
const struct import_format *import_format_of(struct trace_file *file);

/* Adds @name to @store, and says how many rows it has, or what is wrong. 0; 1: it is there already;
 * -errno. */
int import_file(struct import_store *store, const char *name, const struct import_options *how);

/* A database of some files, for one answer. */
struct import_temporary {
	char folder[PATH_MAX - 16]; /* "": none was made */
	char path[PATH_MAX];
};
/*
 * A process whose rank is not known, alone in its file, gets the place of the file, from 0. 0;
 * -errno after a line. @ret is good for import_temporary_done() in either case.
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
/* Keeps another database attached to that of the store, until own_end() after the transaction. */
int own_read(
	struct import_store *store, struct trace_file *file, const struct import_options *options);
void own_end(struct import_store *store);
int rpd_read(
	struct import_store *store, struct trace_file *file, const struct import_options *options);
int trace_lite_read(
	struct import_store *store, struct trace_file *file, const struct import_options *options);

/*
 * The rank that the name of a file tells, or TRACE_NO_NUMBER: what --rank-from finds, else "rank3",
 * "rank-3", "rank_3" in the name of the file, else of the last folder.
 */
int64_t import_rank_of_name(const char *name, const regex_t *rank_from);
