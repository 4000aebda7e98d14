// SPDX-License-Identifier: MIT
#include <math.h>

#include <stdlib.h>
#include <string.h>

#include "cli/output/table.h"
#include "cli/base/message.h"
#include "tests/lib/test.h"

static void check_escape(const char *text, size_t length, const char *expected)
{
	char *safe = render_escape(text, length);

	assert_non_null(safe);
	assert_string_equal(safe, expected);
	free(safe);
}

TEST_CASE(controls_never_reach_a_terminal)
{
	check_escape("a\x1b[31mb", 7, "a\\x1b[31mb");
	check_escape("a\nb\tc\rd", 7, "a\\nb\\tc\\rd");
	check_escape("nul\0x", 5, "nul\\x00x");
	check_escape("\x7f", 1, "\\x7f");
	check_escape("\xc2\x9b"
		     "31m",
		5, "\\x9b31m");		  /* C1 CSI as UTF-8 */
	check_escape("\x9b", 1, "\\x9b"); /* and as a byte */
	check_escape("\xe2\x80\xae"
		     "abc",
		6, "\\u202eabc");
	check_escape("\xff\xfe", 2, "\\xff\\xfe");
	check_escape("\xc0\xaf", 2, "\\xc0\\xaf");	    /* overlong */
	check_escape("\xed\xa0\x80", 3, "\\xed\\xa0\\x80"); /* surrogate */
	check_escape("\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80");
	check_escape("\xe2\x82", 2, "\\xe2\\x82"); /* cut */
	check_escape("\xd0\xba", 2, "\xd0\xba");
}

/* @code as UTF-8; not in ASCII. */
static size_t encode(unsigned code, char to[4])
{
	size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	for (size_t i = n; --i; code >>= 6)
		to[i] = (char)(0x80 | (code & 0x3f));
	to[0] = (char)(0xf00u >> n | code);
	return n;
}

static void check_code(unsigned code, bool is_escaped)
{
	char text[5] = "", expected[16];
	size_t n = encode(code, text);

	snprintf(expected, sizeof(expected), code < 0x100 ? "\\x%02x" : "\\u%04x", code);
	check_escape(text, n, is_escaped ? expected : text);
}

TEST_CASE(code_points_that_show_nothing_are_escaped)
{
	/* Unicode's Default_Ignorable_Code_Point and format characters; and what lies around them.
	 */
	static const unsigned hidden[][2] = {{0x80, 0x9f}, {0xad, 0xad}, {0x34f, 0x34f},
		{0x61c, 0x61c}, {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f},
		{0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164},
		{0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfffb},
		{0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
		for (unsigned code = hidden[i][0]; code <= hidden[i][1]; code++)
			check_code(code, true);
		if (i)
			check_code(hidden[i][0] - 1, false);
		check_code(hidden[i][1] + 1, false);
	}
	check_code(0x600, false); /* a number sign, of general category Cf, is seen */
}

TEST_CASE(every_byte_pair_is_safe)
{
	for (int a = 0; a < 256; a++)
		for (int b = 0; b < 256; b++) {
			const char pair[] = {(char)a, (char)b};
			char *safe = render_escape(pair, 2);

			assert_non_null(safe);
			for (const char *at = safe; *at; at++) {
				unsigned char c = (unsigned char)*at;

				assert_true(c >= 0x20 && c != 0x7f);
				if (c == 0xc2)
					assert_true((unsigned char)at[1] >= 0xa0);
			}
			free(safe);
		}
}

TEST_CASE(a_cut_text_has_the_width_asked_for)
{
	char long_text[1000];
	char *cut;

	memset(long_text, 'x', sizeof(long_text));
	setenv("LC_ALL", "C", 1);
	cut = render_escape_cut(long_text, sizeof(long_text), 10);
	assert_string_equal(cut, "xxxxxxxxx~");
	free(cut);
	setenv("LC_ALL", "C.UTF-8", 1);
	cut = render_escape_cut(long_text, sizeof(long_text), 10);
	assert_string_equal(cut, "xxxxxxxxx\xe2\x80\xa6");
	assert_int_equal(render_width(cut), 10);
	free(cut);
	cut = render_escape_cut("short", 5, 10);
	assert_string_equal(cut, "short");
	free(cut);
	cut = render_escape_cut("\xd0\xba\xd0\xb5\xd1\x80\xd0\xbd\xd0\xb5\xd0\xbb", 12, 4);
	assert_string_equal(cut, "\xd0\xba\xd0\xb5\xd1\x80\xe2\x80\xa6");
	free(cut);
	for (size_t width = 1; width < 40; width++) {
		cut = render_escape_cut("\x1b\x1b\x1b\x1b\x1b\x1b", 6, width);
		assert_true(render_width(cut) <= width || width >= 24);
		free(cut);
	}
}

static const struct render_column columns[] = {
	{"count", "COUNT", RENDER_COUNT},
	{"ns", "TIME ms", RENDER_NS_IN_MS},
	{"pct", "%", RENDER_TENTHS},
	{"hidden", NULL, RENDER_ID},
	{"flag", "FLAG", RENDER_BOOL},
	{"name", "NAME", RENDER_TEXT},
};

#define COUNT (sizeof(columns) / sizeof(columns[0]))

static char *show(enum render_format format, size_t width, const struct render_value rows[][COUNT],
	size_t count)
{
	struct render *render = NULL;
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);

	assert_non_null(to);
	render = render_new(to, format, columns, COUNT);
	render_set_width(render, width);
	for (size_t i = 0; i < count; i++)
		render_row(render, rows[i]);
	render_finish(render);
	render_free_p(&render);
	fclose(to);
	return text;
}

static void fill(struct render_value rows[3][COUNT])
{
	for (size_t i = 0; i < 3; i++) {
		rows[i][3] = render_integer(7);
		rows[i][4] = render_integer(i == 1);
	}
	rows[0][0] = render_integer(1234567);
	rows[0][1] = render_integer(1500000);
	rows[0][2] = render_real(33.3333);
	rows[0][5] = render_text("gemm");
	rows[1][0] = render_integer(-1000);
	rows[1][1] = render_integer(999499);
	rows[1][2] = render_real(NAN);
	rows[1][5] = render_text("=1+1,\"x\"\n\x1b[2J");
	rows[2][0] = render_null();
	rows[2][1] = render_null();
	rows[2][2] = render_integer(5);
	rows[2][5] = render_null();
}

TEST_CASE(what_rounds_to_zero_has_no_sign)
{
	struct render_value rows[3][COUNT];
	char *text;

	fill(rows);
	rows[0][1] = render_integer(-499);
	rows[0][2] = render_real(-0.049);
	rows[1][1] = render_integer(-500);
	rows[1][2] = render_real(-0.051);
	text = show(RENDER_TABLE, 0, rows, 2);
	assert_non_null(strstr(text, " 0.000   0.0 "));
	assert_non_null(strstr(text, " -0.001  -0.1 "));
	free(text);
}

TEST_CASE(a_table_aligns_numbers_and_says_unknown)
{
	struct render_value rows[3][COUNT];
	char *text;

	fill(rows);
	text = show(RENDER_TABLE, 0, rows, 3);
	assert_string_equal(text, "    COUNT  TIME ms     %  FLAG  NAME\n"
				  "1,234,567    1.500  33.3    no  gemm\n"
				  "   -1,000    0.999     -   yes  =1+1,\"x\"\\n\\x1b[2J\n"
				  "        -        -   5.0    no  -\n");
	free(text);
}

/* If a table is cut, a text in the last column has any width, and numbers there are aligned. */
TEST_CASE(numbers_at_the_end_align)
{
	static const struct render_column pair[] = {
		{"way", "WAY", RENDER_TEXT}, {"rate", "GB/s", RENDER_TENTHS}};
	const double rates[] = {2456.1, 51.2};
	struct render *render = NULL;
	size_t bytes;
	char *text = NULL;
	FILE *to = open_memstream(&text, &bytes);

	render = render_new(to, RENDER_TABLE, pair, 2);
	render_set_width(render, 80);
	for (size_t i = 0; i < 2; i++) {
		const struct render_value row[] = {render_text("p2p"), render_real(rates[i])};

		render_row(render, row);
	}
	render_finish(render);
	render_free_p(&render);
	fclose(to);
	assert_string_equal(text, "WAY    GB/s\n"
				  "p2p  2456.1\n"
				  "p2p    51.2\n");
	free(text);
}

/* One row of columns of its own. */
static char *show_columns(const struct render_column *of, size_t count, enum render_format format,
	const struct render_value *row)
{
	struct render *render = NULL;
	size_t bytes;
	char *text = NULL;
	FILE *to = open_memstream(&text, &bytes);

	render = render_new(to, format, of, count);
	render_row(render, row);
	render_finish(render);
	render_free_p(&render);
	fclose(to);
	return text;
}

TEST_CASE(csv_is_exact_and_starts_no_formula)
{
	struct render_value rows[3][COUNT];
	char *text;

	fill(rows);
	text = show(RENDER_CSV, 0, rows, 3);
	assert_string_equal(text, "count,ns,pct,hidden,flag,name\n"
				  "1234567,1500000,33.3333,7,0,gemm\n"
				  "-1000,999499,,7,1,\"'=1+1,\"\"x\"\"\\n\\x1b[2J\"\n"
				  ",,5,7,0,\n");
	free(text);
	text = show(RENDER_CSV, 0, rows, 0);
	assert_string_equal(text, "count,ns,pct,hidden,flag,name\n");
	free(text);
	/* Also in their full width, and an empty row is one. */
	rows[0][0] = render_text("\uff1d1+1");
	text = show_columns(columns, 1, RENDER_CSV, rows[0]);
	assert_string_equal(text, "count\n\"'\uff1d1+1\"\n");
	free(text);
	rows[0][0] = render_text("");
	text = show_columns(columns, 1, RENDER_CSV, rows[0]);
	assert_string_equal(text, "count\n\"\"\n");
	free(text);
}

TEST_CASE(csv_tells_what_is_simulated)
{
	static const struct render_column column = {"name", "NAME", RENDER_TEXT};
	static const char *const wanted[][2] = {[RENDER_TABLE] = {"NAME\n-\n", "NAME\n-\n"},
		[RENDER_CSV] = {"name,simulated\n,0\n", "name,simulated\n,1\n"}};
	static const enum render_format formats[] = {RENDER_TABLE, RENDER_CSV};
	const struct render_value row = render_null();

	for (size_t i = 0; i < 4; i++) {
		struct render *render = NULL;
		char *text = NULL;
		size_t bytes;
		FILE *to = open_memstream(&text, &bytes);

		render = render_new(to, formats[i / 2], &column, 1);
		render_tell_simulated(render, i % 2);
		render_row(render, &row);
		render_finish(render);
		render_free_p(&render);
		fclose(to);
		assert_string_equal(text, wanted[formats[i / 2]][i % 2]);
		free(text);
	}
}

TEST_CASE(titles_of_strangers_are_safe)
{
	static const struct render_column column = {"a\x1b[31m", "a\x1b[31m", RENDER_ANY};
	struct render_value row = render_text("x");
	char *text;

	text = show_columns(&column, 1, RENDER_TABLE, &row);
	assert_string_equal(text, "a\\x1b[31m\nx\n");
	free(text);
	text = show_columns(&column, 1, RENDER_CSV, &row);
	assert_string_equal(text, "a\\x1b[31m\nx\n");
	free(text);
}

TEST_CASE(json_is_valid_whatever_the_text)
{
	struct render_value rows[1][COUNT];
	json_t *document;
	char every[256];
	char *text;

	for (int i = 0; i < 256; i++)
		every[i] = (char)i;
	for (size_t i = 0; i < COUNT; i++)
		rows[0][i] = render_null();
	rows[0][5] = (struct render_value){.type = RENDER_STRING, .text = every, .length = 256};
	rows[0][2] = (struct render_value){.type = RENDER_REAL, .real = INFINITY};
	rows[0][4] = render_integer(1);
	rows[0][0] = render_integer(INT64_MAX);
	text = show(RENDER_JSON, 0, rows, 1);
	document = json_loads(text, JSON_ALLOW_NUL, NULL);
	assert_non_null(document);
	assert_int_equal(json_array_size(document), 1);
	assert_true(json_is_null(json_object_get(json_array_get(document, 0), "pct")));
	assert_true(json_is_true(json_object_get(json_array_get(document, 0), "flag")));
	assert_true(json_integer_value(json_object_get(json_array_get(document, 0), "count")) ==
		    INT64_MAX);
	for (const char *at = text; *at; at++)
		assert_true((unsigned char)*at < 0x7f);
	json_decref(document);
	free(text);
	text = show(RENDER_JSON, 0, rows, 0);
	assert_string_equal(text, "[]");
	free(text);
}

TEST_CASE(a_long_table_streams)
{
	struct render *render = NULL;
	struct render_value row[COUNT];
	size_t bytes, lines = 0;
	char *text = NULL;
	FILE *to = open_memstream(&text, &bytes);

	for (size_t i = 0; i < COUNT; i++)
		row[i] = render_integer(1);
	render = render_new(to, RENDER_TABLE, columns, COUNT);
	for (int i = 0; i < 5000; i++) {
		row[0] = render_integer(i);
		render_row(render, row);
	}
	render_finish(render);
	render_free_p(&render);
	fclose(to);
	for (const char *at = text; *at; at++)
		lines += *at == '\n';
	assert_int_equal(lines, 5001);
	assert_non_null(strstr(text, "4,999"));
	free(text);
}

TEST_CASE(the_nearest_name_is_suggested)
{
	static const char *const names[] = {"stat", "summary", "info"};

	assert_string_equal(say_nearest("sumary", names, 3), "summary");
	assert_string_equal(say_nearest("sumamry", names, 3), "summary");
	assert_string_equal(say_nearest("sum", names, 3), "summary");
	assert_string_equal(say_nearest("stats", names, 3), "stat");
	assert_null(say_nearest("frobnicate", names, 3));
	assert_null(say_nearest("", names, 3));
}
