/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Imports other tools' files: finds out the format of a file, and has its reader (formats/) write
 * the rows into the open transaction of a store. Only import_file() and import_temporary_make()
 * print. Everything runs on one thread.
 */
#include <limits.h>
#include <stddef.h>

#include "cli/import/input/trace_file.h"
#include "cli/import/rows/import_store.h"
#include "cli/import/rows/options.h"

struct import_format {
	const char *name;
	const char *source; /* the name of the tool in a sentence; NULL: rtl */
	/* Returns 0, or -errno with the reason in @file->error or @store->error. */
	int (*read)(struct import_store *store, struct trace_file *file,
		const struct import_options *options);
};

/* Returns NULL with the reason in @file->error if the format is unknown. A compressed database is
 * unpacked to the new file @unpacked. */
const struct import_format *import_format_of(struct trace_file *file, const char *unpacked);

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
