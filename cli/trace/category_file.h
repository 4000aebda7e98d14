/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Rules of a user's file. A line is a category, with "/" and a collective behind it if it is
 * one, blanks, and a pattern; empty lines and those that begin with # are none. A pattern
 * without *, ? or [ is a part of the name. One thread.
 */
#include <stddef.h>

#include "cli/trace/categories.h"

#define CATEGORY_RULES_MAX	   1000
#define CATEGORY_PATTERN_BYTES_MAX 256
/* All rules at their longest are half of it: what is longer is no such file, or has no end. */
#define CATEGORY_FILE_BYTES_MAX	   (1u << 20)

struct category_rules {
	struct category_rule *at;
	size_t count;
};

/* Appends the rules of @path. 0; -EINVAL, -ENOMEM, or why it cannot be read: then @error tells. */
int category_file_read(
	const char *path, struct category_rules *rules, char error[QUERY_ERROR_BYTES]);
/* Appends one. @collective: NULL or "": none. -ENOMEM. */
int category_rules_add(struct category_rules *rules, const char *category, const char *collective,
	const char *pattern);
/* As RunnerHello has them; malloc'ed. NULL: no memory. */
char *category_rules_text(const struct category_rules *rules);
void category_rules_done(struct category_rules *rules);
