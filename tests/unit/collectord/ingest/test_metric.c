/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/ingest/step_metrics.h"
#include "tests/lib/test.h"

/* "name=value ..." of what is found in @text, values in their shortest form. */
static const char *found(const char *text)
{
	static char all[4096];
	struct metric metric;
	size_t at = 0;

	all[0] = '\0';
	while (metric_next(&text, &metric))
		at += (size_t)snprintf(all + at, sizeof(all) - at, "%s%s=%.15g", at ? " " : "",
			metric.name, metric.value);
	return all;
}

TEST_CASE(pairs_are_found)
{
	assert_string_equal(found("loss=1.25"), "loss=1.25");
	assert_string_equal(found("loss=1.2 lr=3e-4"), "loss=1.2 lr=0.0003");
	assert_string_equal(found("a=1,b=-2;c=+3\td=.5\n"), "a=1 b=-2 c=3 d=0.5");
	assert_string_equal(found("step 12: loss=2.5 done"), "loss=2.5");
	assert_string_equal(found("grad/norm=7 l\xc3\xb6ss=1"), "grad/norm=7 l\xc3\xb6ss=1");
}

TEST_CASE(what_is_no_number_is_no_metric)
{
	assert_string_equal(found(""), "");
	assert_string_equal(found("forward"), "");
	assert_string_equal(found("= =1 a= a=b a=1x a==1 a=1=2"), "");
	assert_string_equal(found("a=inf b=nan c=0x10 d=1e999 e=-1e999 f=e f=. f=- g=1 2"), "g=1");
	assert_string_equal(found("a=1e"), "");
}

TEST_CASE(names_and_numbers_without_end_are_passed_over)
{
	char text[4096];

	memset(text, 'n', sizeof(text));
	strcpy(text + METRIC_NAME_BYTES_MAX + 1, "=1 b=2");
	assert_string_equal(found(text), "b=2");
	memset(text, 'n', sizeof(text));
	strcpy(text + METRIC_NAME_BYTES_MAX, "=1");
	assert_int_equal(strlen(found(text)), METRIC_NAME_BYTES_MAX + 2);
	memset(text, '1', sizeof(text));
	memcpy(text, "a=", 2);
	strcpy(text + 1000, " b=2");
	assert_string_equal(found(text), "b=2");
}

/* Any bytes but NUL: it ends, and what it finds is finite. */
TEST_CASE(hostile_texts_are_harmless)
{
	static const char bytes[] = "=+-.eE0123456789 ,;xnaif\xff\t";
	unsigned seed = 1;

	for (int i = 0; i < 20000; i++) {
		char text[65];
		const char *at = text;
		struct metric metric;
		unsigned n = 0;

		for (size_t k = 0; k < sizeof(text) - 1; k++)
			text[k] = bytes[(unsigned)rand_r(&seed) % (sizeof(bytes) - 1)];
		text[sizeof(text) - 1] = '\0';
		for (; metric_next(&at, &metric); n++)
			assert_true(metric.value - metric.value == 0 && metric.name[0]);
		assert_true(n <= sizeof(text) / 3);
	}
}
