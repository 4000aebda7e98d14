/* SPDX-License-Identifier: MIT */
#pragma once
/* --export: what was recorded is written in formats of others when the session is closed. */
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

/* The value of --export; exits as opts_error() does. */
void run_exports_take(struct run_exports *exports, char *value);
/* Can all of them be written? 0, or an exit status after a line. */
int run_exports_check(const struct run_exports *exports, bool is_forced);
/* Has rtl export do it; that says what went wrong. */
void run_exports_write(const struct run_exports *exports, bool is_forced, const char *database);
