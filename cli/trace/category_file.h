/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Rules of a user's file. A line is a category, with "/" and a collective after it if it has one,
 * blanks, and a pattern; empty lines and lines that begin with # are skipped. A pattern without *,
 * ? or [ matches a part of the name. One thread.
 */
#include <stddef.h>

#include "cli/trace/categories.h"

#define CATEGORY_RULES_MAX	   1000
#define CATEGORY_PATTERN_BYTES_MAX 256
/*
 * All rules at their maximum length take half of it; a larger file contains no rules, or never
 * ends.
 */
#define CATEGORY_FILE_BYTES_MAX	   (1u << 20)

struct category_rules {
	struct category_rule *at;
	size_t count;
};

/* Appends the rules of @path. Returns 0; -EINVAL, or the error of reading, with @error. */
int category_file_read(
	const char *path, struct category_rules *rules, char error[QUERY_ERROR_BYTES]);
/* Appends a rule. @collective is NULL or "" if there is none. */
void category_rules_add(struct category_rules *rules, const char *category, const char *collective,
	const char *pattern);
/* Returns the rules as RunnerHello contains them, allocated. */
char *category_rules_text(const struct category_rules *rules);
void category_rules_done(struct category_rules *rules);
