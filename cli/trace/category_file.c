// SPDX-License-Identifier: MIT
#include "cli/trace/category_file.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/base/array.h"
#include "proto/base/cleanup.h"

struct line {
	const char *path;
	size_t number;
	char *error;
};

static void fclose_p(FILE **file)
{
	if (*file)
		fclose(*file);
}

__attribute__((format(printf, 2, 3))) static int refuse(
	const struct line *line, const char *format, ...)
{
	CLEANUP(free_p) char *text = NULL, *path = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	path = render_escape_cut(line->path, strlen(line->path), 200);
	snprintf(line->error, QUERY_ERROR_BYTES, "%s:%zu: %s", path, line->number,
		text ? text : "out of memory");
	return -EINVAL;
}

void category_rules_done(struct category_rules *rules)
{
	for (size_t i = 0; i < rules->count; i++)
		free(rules->at[i].pattern);
	free(rules->at);
	*rules = (struct category_rules){0};
}

static enum category_class find_class(const char *name)
{
	if (!strcmp(name, "communication"))
		return CATEGORY_COMMUNICATION;
	return strcmp(name, "copy") ? CATEGORY_COMPUTATION : CATEGORY_COPY;
}

void category_rules_add(struct category_rules *rules, const char *category, const char *collective,
	const char *pattern)
{
	struct category_rule rule = {
		.category.class = find_class(category), .pattern = xstrdup(pattern)};

	snprintf(rule.category.name, CATEGORY_NAME_BYTES, "%s", category);
	snprintf(rule.category.collective, CATEGORY_NAME_BYTES, "%s", collective ? collective : "");
	rules->at = grow_by_one(rules->at, rules->count, sizeof(*rules->at));
	rules->at[rules->count++] = rule;
}

static bool is_name(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-");

	return n && !text[n] && n < CATEGORY_NAME_BYTES;
}

/* SQLite treats an unclosed [ as no match, and a rule that never matches is an error. */
static bool has_open_bracket(const char *pattern)
{
	for (const char *at = pattern; (at = strchr(at, '['));) {
		const char *first = at + 1 + (at[1] == '^');

		at = *first ? strchr(first + 1, ']') : NULL;
		if (!at)
			return true;
	}
	return false;
}

static int add_pattern(const struct line *line, struct category_rules *rules, const char *category,
	const char *collective, const char *text)
{
	char pattern[CATEGORY_PATTERN_BYTES_MAX + 3];
	bool is_part = !strpbrk(text, "*?[");
	int n;

	if (strchr(text, '\t'))
		return refuse(line, "a tab in the pattern");
	if (has_open_bracket(text))
		return refuse(line, "a [ in the pattern is not closed");
	n = snprintf(pattern, sizeof(pattern), is_part ? "*%s*" : "%s", text);
	if (n < 0 || strlen(text) > CATEGORY_PATTERN_BYTES_MAX)
		return refuse(
			line, "the pattern is longer than %d bytes", CATEGORY_PATTERN_BYTES_MAX);
	for (char *at = pattern; *at; at++)
		if (isascii((unsigned char)*at))
			*at = (char)tolower((unsigned char)*at);
	if (rules->count == CATEGORY_RULES_MAX)
		return refuse(line, "more than %d rules", CATEGORY_RULES_MAX);
	category_rules_add(rules, category, collective, pattern);
	return 0;
}

static int read_line(const struct line *line, struct category_rules *rules, char *text)
{
	char *category = text + strspn(text, " \t"), *pattern, *collective, *end;

	for (end = text + strlen(text); end > category && isspace((unsigned char)end[-1]);)
		*--end = '\0';
	if (!*category || *category == '#')
		return 0;
	pattern = category + strcspn(category, " \t");
	if (!*pattern)
		return refuse(line, "no pattern behind the category");
	*pattern++ = '\0';
	pattern += strspn(pattern, " \t");
	collective = strchr(category, '/');
	if (collective)
		*collective++ = '\0';
	if (!is_name(category) || (collective && !is_name(collective)))
		return refuse(line,
			"the category is not CATEGORY or CATEGORY/COLLECTIVE in a-z, 0-9, _ and -, "
			"of at most %d bytes",
			CATEGORY_NAME_BYTES - 1);
	if (collective && find_class(category) != CATEGORY_COMMUNICATION)
		return refuse(line, "only communication has collectives");
	return add_pattern(line, rules, category, collective, pattern);
}

/*
 * Reads all of a file, at most one byte more than is allowed, and adds a NUL. Returns NULL with
 * errno.
 */
static char *read_all(const char *path, size_t *ret_bytes)
{
	CLEANUP(fclose_p) FILE *file = fopen(path, "re");
	CLEANUP(free_p) char *text = file ? xmalloc(CATEGORY_FILE_BYTES_MAX + 2) : NULL;

	if (!text)
		return NULL;
	*ret_bytes = fread(text, 1, CATEGORY_FILE_BYTES_MAX + 1, file);
	if (ferror(file))
		return NULL;
	text[*ret_bytes] = '\0';
	return TAKE(text);
}

int category_file_read(
	const char *path, struct category_rules *rules, char error[QUERY_ERROR_BYTES])
{
	struct line line = {.path = path, .error = error};
	size_t bytes = 0;
	CLEANUP(free_p) char *text = read_all(path, &bytes);
	int r = text ? 0 : -errno;

	if (r < 0) {
		snprintf(error, QUERY_ERROR_BYTES, "rules of categories: %s: %s", path,
			strerror(-r));
		return r;
	}
	if (bytes > CATEGORY_FILE_BYTES_MAX) {
		snprintf(error, QUERY_ERROR_BYTES, "rules of categories: %s: longer than %u KiB",
			path, CATEGORY_FILE_BYTES_MAX >> 10);
		return -EFBIG;
	}
	for (char *at = text, *end; !r && at < text + bytes; at = end + 1) {
		end = at + strcspn(at, "\n");
		line.number++;
		if (!*end && end < text + bytes)
			return refuse(&line, "not a text");
		*end = '\0';
		r = read_line(&line, rules, at);
	}
	return r;
}

char *category_rules_text(const struct category_rules *rules)
{
	char *text = NULL;
	FILE *to = xmemstream(&text);

	for (size_t i = 0; i < rules->count; i++) {
		const struct category_rule *rule = rules->at + i;

		fprintf(to, "%s\t%s\t%s\n", rule->category.name, rule->category.collective,
			rule->pattern);
	}
	if (fclose(to)) {
		free(text);
		return NULL;
	}
	return text;
}
