// SPDX-License-Identifier: MIT
#include "cli/output/layout.h"

#include <string.h>

#define GAP 2 /* blanks between columns */

static bool is_shown(const struct layout_column *column)
{
	return column->title && !column->is_hidden;
}

size_t layout_last(const struct layout_column *columns, size_t count)
{
	for (size_t i = count; i-- > 0;)
		if (is_shown(columns + i))
			return i;
	return count;
}

/* Returns the width of all shown columns except the last one, with the gaps behind them. */
static size_t width_before_last(const struct layout_column *columns, size_t count, size_t last)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++)
		if (is_shown(columns + i) && i != last)
			used += columns[i].width + GAP;
	return used;
}

/* Returns the width that the last column needs. */
static size_t width_of_last(const struct layout_column *last)
{
	if (!last->is_left || last->width < LAYOUT_LAST_COLUMNS)
		return last->width;
	return LAYOUT_LAST_COLUMNS;
}

static bool fits(const struct layout_column *columns, size_t count, size_t last, size_t width)
{
	return width_before_last(columns, count, last) + width_of_last(columns + last) <= width;
}

/* Takes what is missing from the widest texts, one column of the terminal after the other. */
static void cut_texts(struct layout_column *columns, size_t count, size_t last, size_t width)
{
	while (!fits(columns, count, last, width)) {
		struct layout_column *widest = NULL;

		for (size_t i = 0; i < last; i++)
			if (is_shown(columns + i) && columns[i].is_left &&
				columns[i].width > LAYOUT_LAST_COLUMNS &&
				(!widest || columns[i].width > widest->width))
				widest = columns + i;
		if (!widest)
			return;
		widest->width--;
		widest->is_cut = true;
	}
}

static void hide(struct layout_column *column)
{
	column->is_hidden = !column->is_fixed;
}

static bool is_of_distribution(const char *title, const char *word)
{
	size_t length = strlen(word);

	return !strncmp(title, word, length) && (!title[length] || title[length] == ' ');
}

bool layout_fit(struct layout_column *columns, size_t count, size_t width)
{
	static const char *const words[] = {"MIN", "P50", "P95", "P99"};
	size_t last = layout_last(columns, count);

	if (last == count)
		return false;
	cut_texts(columns, count, last, width);
	for (size_t w = 0; w < sizeof(words) / sizeof(*words); w++)
		for (size_t i = 0; i < count && !fits(columns, count, last, width); i++)
			if (i != last && is_shown(columns + i) &&
				is_of_distribution(columns[i].title, words[w]))
				hide(columns + i);
	for (size_t i = last; i-- > 0 && !fits(columns, count, last, width);)
		if (is_shown(columns + i) && columns[i].is_nothing)
			hide(columns + i);
	if (fits(columns, count, last, width))
		return false;
	if (columns[last].is_left && width_before_last(columns, count, last) <= width + GAP)
		return true;
	/* The first column identifies the row, so it stays. */
	for (size_t i = last; i-- > 1 && !fits(columns, count, last, width);)
		if (is_shown(columns + i))
			hide(columns + i);
	return false;
}
