// SPDX-License-Identifier: MIT
#include "cli/trace/kernels/categories.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/trace/kernels/category_file.h"
#include "proto/base/cleanup.h"

/* From the query's rtl_kernel, sorted by id. */
struct kernel {
	int64_t id;
	size_t rule; /* SIZE_MAX if none */
};

struct categories {
	struct category_rules rules;
	struct kernel *kernels;
	size_t count, capacity;
};

static const struct category other = {.name = CATEGORY_OTHER, .class = CATEGORY_COMPUTATION};

void categories_free_p(struct categories **categories)
{
	if (!*categories)
		return;
	category_rules_done(&(*categories)->rules);
	free((*categories)->kernels);
	free(*categories);
	*categories = NULL;
}

static int load_rules(struct query *query, struct category_rules *rules)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(query, "categories", &rows);

	while (!r && (r = query_next(rows)) > 0) {
		const char *category = query_text(rows, 0), *pattern = query_text(rows, 2);

		r = category && pattern
			    ? category_rules_add(rules, category, query_text(rows, 1), pattern)
			    : 0;
	}
	return r;
}

/* A file from before the rules is read with today's rules. */
static int load_stored_rules(struct query *query, struct category_rules *rules)
{
	CLEANUP(query_free_p) struct query *builtin = NULL;
	size_t before = rules->count;
	int r = load_rules(query, rules);

	if (r || rules->count > before)
		return r;
	r = query_open_builtin(&builtin);
	return r ? r : load_rules(builtin, rules);
}

/* Like lower() in SQLite: only ASCII. */
static char *lower(const char *text)
{
	char *copy = strdup(text ? text : "");

	for (char *at = copy; copy && *at; at++)
		if (*at >= 'A' && *at <= 'Z')
			*at = (char)(*at + ('a' - 'A'));
	return copy;
}

static int match(const struct categories *c, const char *name, const char *symbol, size_t *ret)
{
	CLEANUP(free_p) char *low_name = lower(name), *low_symbol = lower(symbol);

	if (!low_name || !low_symbol)
		return -ENOMEM;
	for (*ret = 0; *ret < c->rules.count; (*ret)++) {
		const char *pattern = c->rules.at[*ret].pattern;

		if (query_glob(pattern, low_name) || query_glob(pattern, low_symbol))
			return 0;
	}
	*ret = SIZE_MAX;
	return 0;
}

static int add_kernel(struct categories *c, const struct query_rows *rows)
{
	struct kernel *kernel;

	if (c->count == c->capacity) {
		size_t wanted = c->capacity ? c->capacity * 2 : 256;

		kernel = reallocarray(c->kernels, wanted, sizeof(*kernel));
		if (!kernel)
			return -ENOMEM;
		c->kernels = kernel;
		c->capacity = wanted;
	}
	kernel = c->kernels + c->count++;
	kernel->id = query_integer(rows, 0);
	return match(c, query_text(rows, 1), query_text(rows, 2), &kernel->rule);
}

static int load_kernels(struct query *query, struct categories *c)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(query, "kernels", &rows);

	while (!r && (r = query_next(rows)) > 0)
		r = add_kernel(c, rows);
	return r;
}

int categories_new(struct query *query, const char *file, char error[QUERY_ERROR_BYTES],
	struct categories **ret)
{
	CLEANUP(categories_free_p) struct categories *c = calloc(1, sizeof(*c));
	int r = 0;

	if (!file)
		file = getenv("RTL_CATEGORIES");
	error[0] = '\0';
	if (!c)
		return -ENOMEM;
	if (file && *file)
		r = category_file_read(file, &c->rules, error);
	if (!r)
		r = load_stored_rules(query, &c->rules);
	if (!r)
		r = load_kernels(query, c);
	if (r)
		return r;
	*ret = TAKE(c);
	return 0;
}

static const struct category *of_rule(const struct categories *c, size_t rule)
{
	return rule < c->rules.count ? &c->rules.at[rule].category : &other;
}

const struct category *categories_of(const struct categories *categories, int64_t kernel_id)
{
	const struct kernel *kernels = categories->kernels;
	size_t at = PARTITION_POINT(categories->count, i, kernels[i].id < kernel_id);

	if (at == categories->count || kernels[at].id != kernel_id)
		return &other;
	return of_rule(categories, kernels[at].rule);
}

const struct category *categories_match(
	const struct categories *categories, const char *name, const char *symbol)
{
	size_t rule;

	return match(categories, name, symbol, &rule) ? NULL : of_rule(categories, rule);
}

char *categories_text(const struct categories *categories)
{
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);

	if (!to)
		return NULL;
	for (size_t i = 0; i < categories->rules.count; i++) {
		const struct category_rule *rule = categories->rules.at + i;

		fprintf(to, "%s/%s %s\n", rule->category.name, rule->category.collective,
			rule->pattern);
		if (!strcmp(rule->pattern, "*"))
			break;
	}
	if (!fclose(to))
		return text;
	free(text);
	return NULL;
}
