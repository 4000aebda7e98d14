// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/import/formats/formats.h"
#include "cli/import/import.h"
#include "cli/import/input/foreign_db.h"
#include "proto/base/cleanup.h"
#include "proto/names/schema.h"

/* The part of a file that is searched for what tells formats apart. */
#define HEAD_BYTES (64u << 10)

static const struct import_format formats[] = {
	{"torch", "PyTorch's profiler", torch_read},
	{"rocprofv3", "rocprofv3", rocprofv3_read},
	{"rocpd", "rocprofiler-sdk", rocpd_read},
	{"aorta", "AORTA", aorta_read},
	{"rtl", NULL, own_read},
	{"rpd", "rocmProfileData", rpd_read},
	{"trace-lite", "rocm-trace-lite", trace_lite_read},
};

static const struct import_format *find(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (!strcmp(formats[i].name, name))
			return formats + i;
	return NULL;
}

/* Names the format by the tables, because a SQLite file says little else about itself. */
static const char *name_of_database(struct trace_file *file, const char *unpacked)
{
	CLEANUP(foreign_close_p) sqlite3 *db = NULL;
	const char *name = NULL;

	if (file->is_gzip && trace_file_unpack(file, unpacked) < 0)
		return NULL;
	if (foreign_open(file, &db) < 0)
		return NULL;
	if (foreign_number(db, "PRAGMA application_id", 0) == SCHEMA_APPLICATION_ID)
		name = "rtl";
	else if (foreign_has_column(db, "rocpd_kernel_dispatch", "guid"))
		name = "rocpd";
	else if (foreign_has_table(db, "rocpd_op"))
		name = foreign_has_column(db, "rocpd_op", "roctxId") ? "trace-lite" : "rpd";
	if (!name)
		trace_file_refuse(file, 0, "is a database of no tool that rtl import reads");
	return name;
}

static const char *name_of(const char *head, size_t length)
{
	size_t at = 0;

	while (at < length && strchr(" \t\r\n", head[at]))
		at++;
	if (at == length || (head[at] != '{' && head[at] != '['))
		return NULL;
	if (memmem(head, length, "\"rocprofiler-sdk-tool\"", strlen("\"rocprofiler-sdk-tool\"")))
		return "rocprofv3";
	/* One line per step; the first line may be longer than the head. */
	if (memmem(head, length, "\"rank\"", 6) && memmem(head, length, "\"step\"", 6) &&
		memmem(head, length, "\"profile\"", 9) &&
		!memmem(head, length, "\"traceEvents\"", 13))
		return "aorta";
	return "torch";
}

const struct import_format *import_format_of(struct trace_file *file, const char *unpacked)
{
	CLEANUP(free_p) char *head = malloc(HEAD_BYTES);
	static const char sqlite[] = "SQLite format 3";
	size_t length = 0;
	ssize_t n = 0;
	const char *name;

	if (!head) {
		snprintf(file->error, sizeof(file->error), "out of memory");
		return NULL;
	}
	while (length < HEAD_BYTES &&
		(n = trace_file_read(file, head + length, HEAD_BYTES - length)) > 0)
		length += (size_t)n;
	if (n < 0 || trace_file_rewind(file) < 0)
		return NULL;
	if (length > sizeof(sqlite) && !memcmp(head, sqlite, sizeof(sqlite)))
		name = name_of_database(file, unpacked);
	else
		name = name_of(head, length);
	if (!name && !file->error[0])
		trace_file_refuse(
			file, 0, "%s", length ? "is no trace that rtl import reads" : "is empty");
	return name ? find(name) : NULL;
}
