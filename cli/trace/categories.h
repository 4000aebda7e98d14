/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The rules that tell what kind of work a kernel of a session is: by the rules of the user's file
 * first, then those of the database, or the built-in ones if it has none (docs/commands.md). The
 * first pattern that matches the demangled name or the raw symbol, in lower case, decides. One
 * thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "cli/database/query.h"

/* Size of the names of a category and of a collective, including the NUL. */
#define CATEGORY_NAME_BYTES 33
#define CATEGORY_OTHER	    "other"

/* Classes that a timeline sums separately; all but the first two are computation. */
enum category_class {
	CATEGORY_COMMUNICATION,
	CATEGORY_COPY,
	CATEGORY_COMPUTATION,
};

struct category {
	char name[CATEGORY_NAME_BYTES];
	/* For communication, if the name tells it: allreduce, reducescatter, ...; otherwise "". */
	char collective[CATEGORY_NAME_BYTES];
	enum category_class class;
};

struct category_rule {
	struct category category;
	char *pattern; /* GLOB, lower case */
};

struct categories;

/* That of a kernel that no rule matches. */
extern const struct category category_other;

/*
 * @file contains the user's rules; with NULL those of RTL_CATEGORIES, or none. Returns 0; -EINVAL,
 * -ENOENT or similar with @error (one line); or the errors of query_open(), with the reason in
 * query_error().
 */
int categories_new(struct query *query, const char *file, char error[QUERY_ERROR_BYTES],
	struct categories **ret);
void categories_free_p(struct categories **categories);

/* Returns the category for any name; @symbol may be NULL. */
const struct category *categories_match(
	const struct categories *categories, const char *name, const char *symbol);
/*
 * Returns the rules that can have an effect, one per line: up to the first that matches everything.
 * Allocated.
 */
char *categories_text(const struct categories *categories);
