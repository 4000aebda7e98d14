// SPDX-License-Identifier: MIT
#include "cli/trace/categories.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
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

		if (category && pattern)
			category_rules_add(rules, category, query_text(rows, 1), pattern);
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
	char *copy = xstrdup(text ? text : "");

	for (char *at = copy; *at; at++)
		if (*at >= 'A' && *at <= 'Z')
			*at = (char)(*at + ('a' - 'A'));
	return copy;
}

int categories_new(struct query *query, const char *file, char error[QUERY_ERROR_BYTES],
	struct categories **ret)
{
	CLEANUP(categories_free_p) struct categories *c = xcalloc(1, sizeof(*c));
	int r = 0;

	if (!file)
		file = getenv("RTL_CATEGORIES");
	error[0] = '\0';
	if (file && *file)
		r = category_file_read(file, &c->rules, error);
	if (!r)
		r = load_stored_rules(query, &c->rules);
	if (!r)
		*ret = TAKE(c);
	return r;
}

const struct category *categories_match(
	const struct categories *categories, const char *name, const char *symbol)
{
	CLEANUP(free_p) char *low_name = lower(name), *low_symbol = lower(symbol);

	for (size_t i = 0; i < categories->rules.count; i++) {
		const struct category_rule *rule = categories->rules.at + i;

		if (query_glob(rule->pattern, low_name) || query_glob(rule->pattern, low_symbol))
			return &rule->category;
	}
	return &category_other;
}

char *categories_text(const struct categories *categories)
{
	char *text = NULL;
	FILE *to = xmemstream(&text);

	for (size_t i = 0; i < categories->rules.count; i++) {
		const struct category_rule *rule = categories->rules.at + i;

		fprintf(to, "%s/%s %s\n", rule->category.name, rule->category.collective,
			rule->pattern);
		if (!strcmp(rule->pattern, "*"))
			break;
	}
	xfclose(to);
	return text;
}
