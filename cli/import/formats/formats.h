/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Readers of other tools' files, one per format. Each writes the rows of one file into the open
 * transaction of a store. Returns 0, or -errno with the reason in @file->error or @store->error.
 */
#include "cli/import/input/trace_file.h"
#include "cli/import/rows/import_store.h"
#include "cli/import/rows/options.h"

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
