// SPDX-License-Identifier: MIT
/* Tables at the width of a terminal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/escape.h"
#include "cli/output/layout.h"
#include "cli/output/table.h"
#include "tests/lib/test.h"

#define NAME "Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_SE_1LDSB0_GRVW8_K1_WG16_16_1"

static const struct render_column kernels[] = {
	{"calls", "CALLS", RENDER_COUNT},
	{"total", "TOTAL ms", RENDER_NS_IN_MS},
	{"min", "MIN us", RENDER_NS_IN_US},
	{"p50", "P50 us", RENDER_NS_IN_US},
	{"max", "MAX us", RENDER_NS_IN_US},
	{"dropped", "DROPPED", RENDER_COUNT},
	{"name", "KERNEL", RENDER_TEXT},
};
#define COUNT (sizeof(kernels) / sizeof(*kernels))

static const struct render_column notes[] = {
	{"rank", "RANK", RENDER_ID},
	{"why", "WHY", RENDER_NOTE},
};

/* Two rows of @columns, the last cell of each is @last, to a terminal of @width columns. */
static char *show(const struct render_column *columns, size_t count, const char *last, size_t width)
{
	struct render_value row[COUNT];
	struct render *render = NULL;
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);

	render = render_new(to, RENDER_TABLE, columns, count);
	render_set_width(render, width);
	for (size_t i = 0; i < count; i++)
		row[i] = render_integer(i == 5 ? 0 : 1500000);
	row[count - 1] = render_text(last);
	render_row(render, row);
	render_row(render, row);
	render_finish(render);
	render_free_p(&render);
	fclose(to);
	return text;
}

static void assert_lines_fit(const char *text, size_t width)
{
	while (*text) {
		size_t length = strcspn(text, "\n");
		char *line = strndup(text, length);

		assert_true(render_width(line) <= width);
		free(line);
		text += length + !!text[length];
	}
}

TEST_CASE(texts_before_the_last_column_get_narrower_before_a_column_is_hidden)
{
	struct layout_column columns[] = {
		{.title = "NAME", .width = 70, .is_left = true},
		{.title = "PATH", .width = 40, .is_left = true},
		{.title = "MIN", .width = 8},
		{.title = "N", .width = 8},
	};

	/* 70 + 2 + 40 + 2 + 8 + 2 + 8 = 132: the widest gives up what is missing, then both. */
	assert_false(layout_fit(columns, 4, 120));
	assert_int_equal(columns[0].width, 58);
	assert_true(columns[0].is_cut && !columns[1].is_cut);
	assert_false(layout_fit(columns, 4, 84));
	assert_int_equal(columns[0].width, 31);
	assert_int_equal(columns[1].width, 31);
	assert_false(columns[2].is_hidden);
	/* No text is narrower than 30. */
	assert_false(layout_fit(columns, 4, 79));
	assert_int_equal(columns[0].width + columns[1].width, 60);
	assert_true(columns[2].is_hidden);
	columns[2] = (struct layout_column){.title = "MIN", .width = 8, .is_fixed = true};
	assert_false(layout_fit(columns, 4, 79));
	assert_false(columns[2].is_hidden);
}

TEST_CASE(a_table_that_fits_keeps_all_columns)
{
	char *text = show(kernels, COUNT, "gemm", 200);

	assert_non_null(strstr(text, "MIN us"));
	assert_non_null(strstr(text, "DROPPED"));
	assert_null(strstr(text, "--wide"));
	free(text);
}

TEST_CASE(the_columns_of_a_distribution_go_before_those_of_zeros_and_the_name_is_cut_in_its_middle)
{
	char *text = show(kernels, COUNT, NAME, 80);

	assert_lines_fit(text, 80);
	assert_null(strstr(text, "  MIN us"));
	assert_non_null(strstr(text, "MAX us"));
	assert_non_null(strstr(text, "\u2026"));
	assert_non_null(strstr(text, "WG16_16_1\n"));
	assert_non_null(strstr(text, "no room for MIN us"));
	free(text);
}

TEST_CASE(a_narrow_terminal_has_the_name_on_a_line_of_its_own)
{
	char *text = show(kernels, COUNT, NAME, 50);

	assert_lines_fit(text, 50);
	assert_non_null(strstr(text, "\n    Cijk_Ailk_Bljk"));
	assert_non_null(strstr(text, "TOTAL ms"));
	assert_non_null(strstr(text, "0 or unknown in all rows: DROPPED"));
	free(text);
}

TEST_CASE(a_wrapped_note_is_aligned_below_its_beginning)
{
	char *text =
		show(notes, 2, "its GPU worked longer than that of the others of this job", 40);

	assert_lines_fit(text, 40);
	assert_non_null(strstr(text, "1500000  its GPU worked longer than that\n"
				     "         of the others of this job\n"));
	free(text);
}

TEST_CASE(a_word_longer_than_the_room_is_broken)
{
	char *text = show(notes, 2, NAME NAME, 40);

	assert_lines_fit(text, 40);
	assert_non_null(strstr(text, "Cijk_Ailk_Bljk_HHS_BH_MT128x128\n"));
	free(text);
}

TEST_CASE(a_locale_without_utf_8_has_no_ellipsis)
{
	char *text;

	setenv("LC_ALL", "C", 1);
	text = show(kernels, COUNT, NAME, 80);
	setenv("LC_ALL", "C.UTF-8", 1);
	assert_null(strstr(text, "\u2026"));
	assert_non_null(strstr(text, "~"));
	free(text);
}

int main(void)
{
	setenv("LC_ALL", "C.UTF-8", 1);
	return test_run(NULL, NULL);
}
