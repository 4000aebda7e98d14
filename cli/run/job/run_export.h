/* SPDX-License-Identifier: MIT */
#pragma once
/* --export: the recorded data is written in formats of other tools when the session is closed. */
#include <stdbool.h>
#include <stddef.h>

#define RUN_EXPORTS_MAX 16

struct export_format;

struct run_exports {
	struct {
		const struct export_format *format;
		const char *out; /* borrowed */
	} at[RUN_EXPORTS_MAX];
	size_t count;
};

#define RUN_EXPORT_HELP                                                                            \
	"write the record in this format (rtl export --help) when the job has ended, in the "      \
	"place "                                                                                   \
	"of what is there with -f; of a launch the last rtl run does it"

/* Takes the value of --export; exits like opts_error() if it is wrong. */
void run_exports_take(struct run_exports *exports, char *value);
/* Checks whether all of them can be written. Returns 0, or an exit status after a message. */
int run_exports_check(const struct run_exports *exports, bool is_forced);
/* Calls rtl export, which reports its errors itself. */
void run_exports_write(const struct run_exports *exports, bool is_forced, const char *database);
/*
 * What rocm-trace-lite leaves beside trace.db: trace_summary.txt and, where @exports do not have
 * that format already, trace.json.gz; in the place of what is there.
 */
void run_exports_write_beside(const struct run_exports *exports, const char *database);
