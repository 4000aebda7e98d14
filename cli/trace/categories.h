/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What kind of work each kernel of a session is: rules of the user's file first, then those of
 * the database, or the built-in ones where it has none (docs/commands.md). The first pattern
 * that the demangled name or the raw symbol matches, in lower case, decides. One thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "cli/database/query.h"

/* Names of a category and of a collective, their end included. */
#define CATEGORY_NAME_BYTES 33
#define CATEGORY_OTHER	    "other"

/* What a timeline sums apart; all but the first two are computation. */
enum category_class {
	CATEGORY_COMMUNICATION,
	CATEGORY_COPY,
	CATEGORY_COMPUTATION,
};

struct category {
	char name[CATEGORY_NAME_BYTES];
	/* Of communication, where the name tells: allreduce, reducescatter, ...; else "". */
	char collective[CATEGORY_NAME_BYTES];
	enum category_class class;
};

struct category_rule {
	struct category category;
	char *pattern; /* GLOB, lower case */
};

struct categories;

/*
 * @file: the user's rules; NULL: those that RTL_CATEGORIES names, or none. 0; -EINVAL, -ENOENT and
 * the like with @error (one line); else as query_open(), and query_error() tells.
 */
int categories_new(struct query *query, const char *file, char error[QUERY_ERROR_BYTES],
	struct categories **ret);
void categories_free_p(struct categories **categories);

/* Of a kernel by its id (rtl_shape.kernel_id, rtl_kernel.id); never NULL. */
const struct category *categories_of(const struct categories *categories, int64_t kernel_id);
/* Of any name; @symbol may be NULL. Never NULL but for want of memory. */
const struct category *categories_match(
	const struct categories *categories, const char *name, const char *symbol);
/* The rules that have a say, one a line: up to the first that matches whatever it is. malloc'ed;
 * NULL: no memory. */
char *categories_text(const struct categories *categories);
