// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "cli/output/html.h"
#include "tests/lib/test.h"

/* Collects what a function writes, until the test takes it. */
struct written {
	char *text;
	size_t bytes;
	FILE *to;
};

static void begin(struct written *w)
{
	*w = (struct written){0};
	w->to = open_memstream(&w->text, &w->bytes);
	assert_non_null(w->to);
}

static void check(struct written *w, const char *expected)
{
	assert_int_equal(fclose(w->to), 0);
	assert_string_equal(w->text, expected);
	free(w->text);
}

TEST_CASE(escaped_texts_end_no_element)
{
	struct written w;

	begin(&w);
	html_put(w.to, "</td><script>&\"'");
	check(&w, "&#60;/td&#62;&#60;script&#62;&#38;&#34;&#39;");
	begin(&w);
	html_put_text(w.to, "a\0\x1b\n\xff", 5);
	check(&w, "a\\x00\\x1b\\n\\xff");
	begin(&w);
	html_print(w.to, "%d <b>", 7);
	check(&w, "7 &#60;b&#62;");
}

TEST_CASE(json_ends_neither_its_string_nor_its_element)
{
	struct written w;

	begin(&w);
	html_put_json(w.to, "</script><!--\"\\\n&");
	check(&w, "\"\\u003c/script\\u003e\\u003c!--\\u0022\\u005c\\u005cn\\u0026\"");
	begin(&w);
	html_put_json(w.to, "\xe2\x80\xa8\xe2\x80\xae\xd0\xba");
	check(&w, "\"\\u005cu2028\\u005cu202e\xd0\xba\"");
}

/* Any two bytes of a name leave what is around them as it is. */
TEST_CASE(every_byte_pair_is_harmless)
{
	for (int i = 0; i < 65536; i++) {
		const char pair[] = {(char)(i >> 8), (char)i, '\0'};
		struct written w;

		begin(&w);
		html_put_text(w.to, pair, 2);
		fputc('\t', w.to); /* which no text has */
		html_put_json(w.to, pair);
		assert_int_equal(fclose(w.to), 0);
		assert_null(strpbrk(w.text, "<>\n\r"));
		assert_ptr_equal(strchr(w.text, '"'), strchr(w.text, '\t') + 1);
		assert_ptr_equal(strchr(strchr(w.text, '"') + 1, '"'), w.text + w.bytes - 1);
		free(w.text);
	}
}

TEST_CASE(base64_is_that_of_rfc_4648)
{
	static const char *const cases[][2] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="},
		{"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="},
		{"foobar", "Zm9vYmFy"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct html_base64 base64 = {0};
		struct written w;

		begin(&w);
		base64.to = w.to;
		/* Byte by byte is the same as at once. */
		for (const char *at = cases[i][0]; *at; at++)
			html_base64_put(&base64, at, 1);
		html_base64_finish(&base64);
		check(&w, cases[i][1]);
	}
}

TEST_CASE(varints_have_seven_bits_a_byte)
{
	struct html_base64 base64 = {0};
	struct written w;

	begin(&w);
	base64.to = w.to;
	html_base64_varint(&base64, 0);		 /* 00 */
	html_base64_varint(&base64, 300);	 /* ac 02 */
	html_base64_varint(&base64, UINT64_MAX); /* ff x 9, 01 */
	html_base64_finish(&base64);
	check(&w, "AKwC////////////AQ==");
}

TEST_CASE(cells_have_exact_values)
{
	const struct render_column columns[] = {{NULL, "TIME <ms>", RENDER_NS_IN_MS},
		{"hidden", NULL, RENDER_COUNT}, {NULL, "NAME", RENDER_TEXT},
		{NULL, "SHARE", RENDER_TENTHS}};
	const struct render_value rows[][4] = {{render_integer(1234567), render_integer(1),
						       render_text("a<b"), render_real(0.125)},
		{render_null(), render_null(), render_null(), render_null()}};
	struct render *render = NULL;
	struct written w;

	begin(&w);
	render = render_new(w.to, RENDER_HTML, columns, 4);
	for (int i = 0; i < 2; i++)
		render_row(render, rows[i]);
	render_finish(render);
	render_free_p(&render);
	check(&w, "<table><thead><tr><th scope=col class=n>TIME &#60;ms&#62;<th scope=col>NAME"
		  "<th scope=col class=n>SHARE</thead><tbody>\n"
		  "<tr><td class=n data-v=1234567>1.235<td>a&#60;b<td class=n data-v=0.125>0.1\n"
		  "<tr><td class=n>-<td>-<td class=n>-\n</tbody></table>");
	begin(&w);
	render = render_new(w.to, RENDER_HTML, columns + 2, 1);
	render_finish(render);
	render_free_p(&render);
	check(&w, "<table><thead><tr><th scope=col>NAME</thead><tbody>\n</tbody></table>");
}

TEST_CASE(titles_are_explained_by_the_entry_that_names_them)
{
	static const char help[] =
		"CALLS: those that are \"stored\". TOTAL, AVG: of those with times, "
		"from 1.2 on; TIME %: of all. BUSY: the union";
	static const struct {
		const char *title, *tooltip;
	} cases[] = {
		{"CALLS", " title=\"CALLS: those that are &#34;stored&#34;\""},
		{"AVG us", " title=\"TOTAL, AVG: of those with times, from 1.2 on\""},
		{"TOTAL", " title=\"TOTAL, AVG: of those with times, from 1.2 on\""},
		{"TIME %", " title=\"TIME %: of all\""},
		{"TIME ms", ""},
		{"BUSY ms", " title=\"BUSY: the union\""},
		{"BUSY %", ""}, /* not the time itself */
		{"TOT", ""},
		{"the union", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct render_column column = {NULL, cases[i].title, RENDER_TEXT};
		struct render *render = NULL;
		char expected[256];
		struct written w;

		begin(&w);
		render = render_new(w.to, RENDER_HTML, &column, 1);
		render_explain(render, help);
		render_finish(render);
		render_free_p(&render);
		snprintf(expected, sizeof(expected),
			"<table><thead><tr><th scope=col%s>%s</thead><tbody>\n</tbody></table>",
			cases[i].tooltip, cases[i].title);
		check(&w, expected);
	}
}
