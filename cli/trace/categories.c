// SPDX-License-Identifier: MIT
#include "cli/trace/categories.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/trace/category_file.h"
#include "proto/base/cleanup.h"

struct categories {
	struct category_rules rules;
};

const struct category category_other = {.name = CATEGORY_OTHER, .class = CATEGORY_COMPUTATION};

void categories_free_p(struct categories **categories)
{
	if (!*categories)
		return;
	category_rules_done(&(*categories)->rules);
	free(*categories);
	*categories = NULL;
}

static int load_rules(struct query *query, struct category_rules *rules)
{
	int r = 0;

	QUERY_EACH (r, query, "categories", rows) {
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
		*ret = TAKE(c);
	return r;
}

static const struct category *of_rule(const struct categories *c, size_t rule)
{
	return rule < c->rules.count ? &c->rules.at[rule].category : &category_other;
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
