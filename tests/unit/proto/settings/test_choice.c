/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "proto/settings/selection.h"
#include "proto/names/control.h"
#include "tests/lib/test.h"

TEST_CASE(lists_have_what_they_name)
{
	struct choice_list list = {0};

	assert_true(choice_has(&list, 7)); /* none given: everything */
	assert_int_equal(choice_parse_list("0,3-5,9", &list), 0);
	for (uint32_t i = 0; i < 12; i++)
		assert_int_equal(choice_has(&list, i), i == 0 || (i >= 3 && i <= 5) || i == 9);
	assert_int_equal(choice_parse_list("4294967294", &list), 0);
	assert_true(choice_has(&list, 4294967294u));
}

TEST_CASE(lists_with_a_mistake_are_refused)
{
	static const char *const texts[] = {"", ",", "1,", ",1", "1-", "-1", "5-3", "1,,2", "1 2",
		"a", "0x1", "4294967295", "99999999999999999999", "1-2-3", " 1"};
	struct choice_list list = {.count = 1, .range = {{7, 7}}};
	char many[512] = "0";

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(choice_parse_list(texts[i], &list), -EINVAL);
	for (unsigned i = 0; i < CHOICE_RANGES_MAX; i++)
		strcat(many, ",1");
	assert_int_equal(choice_parse_list(many, &list), -EINVAL);
	assert_true(choice_has(&list, 7)); /* untouched */
}

TEST_CASE(durations_are_read_with_their_units)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{"10", 10000000000u},
		{"1.5", 1500000000u},
		{"1.5s", 1500000000u},
		{"0.25ms", 250000u},
		{"500ms", 500000000u},
		{"7us", 7000u},
		{"1ns", 1u},
		{"2m", 120000000000u},
		{"1.5h", 5400000000000u},
		{"0.000000001", 1u},
	};
	static const char *const bad[] = {"", "0", "0.0", ".5", "1.", "-1", "+1", "1 s", "1d", "s",
		"1e3", "0.5ns", "999999999999999999999", "100000h", "1.1234567890", "1s ",
		/* 10^64 is 0 in 64 bits. */
		"1.00000000000000000000000000000000"
		"00000000000000000000000000000000"};
	uint64_t ns = 42;

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_int_equal(choice_parse_duration(good[i].text, &ns), 0);
		assert_int_equal(ns, good[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(choice_parse_duration(bad[i], &ns), -EINVAL);
	assert_int_equal(ns, 1); /* of the last good one */
}

TEST_CASE(steps_are_four_numbers)
{
	static const char *const bad[] = {"1", "1:2", "1:1:0:1", "1:2:3:4:5", "a:1:1:1",
		"1:1:1:", ":1:1:1", "1:1:-1:1", "1:1:1:x", "2000000000:1:1:1"};
	struct choice choice = {0};
	char why[CHOICE_WHY_BYTES];

	assert_int_equal(choice_set(&choice, CHOICE_STEPS, "5:1:3:2", why), 0);
	assert_int_equal(choice.steps.wait, 5);
	assert_int_equal(choice.steps.warmup, 1);
	assert_int_equal(choice.steps.active, 3);
	assert_int_equal(choice.steps.repeat, 2);
	assert_int_equal(choice_set(&choice, CHOICE_STEPS, "0:0:1", why), 0);
	assert_int_equal(choice.steps.repeat, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(choice_set(&choice, CHOICE_STEPS, bad[i], why), -EINVAL);
		assert_non_null(strstr(why, "WAIT:WARMUP:ACTIVE:REPEAT"));
	}
}

TEST_CASE(one_bad_variable_makes_the_choice_default)
{
	static const char *const environment[] = {
		"HOME=/", "RTL_RANKS=0-3", "RTL_KERNELS=gemm(", "RTL_DURATION=1s", NULL};
	struct choice choice;
	char why[CHOICE_WHY_BYTES] = "";

	assert_int_equal(choice_read(environment, &choice, why), -EINVAL);
	assert_non_null(strstr(why, "RTL_KERNELS=gemm("));
	assert_null(strchr(why, '\n'));
	assert_int_equal(choice.ranks.count, 0);
	assert_int_equal(choice.duration_ns, 0);
	assert_null(choice.kernels);
}

TEST_CASE(variables_mean_what_options_mean)
{
	static const char *const environment[] = {"RTL_RANKS=1", "RTL_GPUS=0-3",
		"RTL_KERNELS=^gemm", "RTL_REGION=fwd|bwd", "RTL_START_AFTER=", "RTL_DURATION=2m",
		"RTL_STEPS=1:1:1:1", "RTL_STEP_MARKER=^it", "RTL_DORMANT=1", "RTL_RANKSX=7", NULL};
	struct choice choice;
	char why[CHOICE_WHY_BYTES] = "";

	assert_int_equal(choice_read(environment, &choice, why), 0);
	assert_true(choice_has(&choice.ranks, 1) && !choice_has(&choice.ranks, 7));
	assert_true(choice_has(&choice.gpus, 3) && !choice_has(&choice.gpus, 4));
	assert_string_equal(choice.kernels, "^gemm");
	assert_string_equal(choice.region, "fwd|bwd");
	assert_int_equal(choice.start_after_ns, 0);
	assert_int_equal(choice.duration_ns, 120000000000u);
	assert_string_equal(choice.step_marker, "^it");
	assert_true(choice.is_dormant);
}

TEST_CASE(options_that_contradict_each_other_are_refused)
{
	struct choice choice = {.is_dormant = true, .start_after_ns = 1};
	char why[CHOICE_WHY_BYTES];

	assert_int_equal(choice_check(&choice, why), -EINVAL);
	choice = (struct choice){.step_marker = "x"};
	assert_int_equal(choice_check(&choice, why), -EINVAL);
}

TEST_CASE(the_default_step_marker_knows_the_usual_texts)
{
	static const char *const yes[] = {"ProfilerStep#0", "ProfilerStep#123", "step 5", "Step 5",
		"step_7", "step#7", "step: 7", "iteration 12", "Iteration 0", "iter 3",
		"train step 4", "training_step_9"};
	static const char *const no[] = {"step", "step=5", "loss=0.5", "forward", "stepper 5",
		"optimizer.step", "a step 5", "", "iterations"};
	regex_t regex;

	assert_int_equal(regcomp(&regex, CHOICE_STEP_MARKER_DEFAULT, REG_EXTENDED | REG_NOSUB), 0);
	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++)
		assert_int_equal(regexec(&regex, yes[i], 0, NULL, 0), 0);
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		assert_int_equal(regexec(&regex, no[i], 0, NULL, 0), REG_NOMATCH);
	regfree(&regex);
}

TEST_CASE(every_reason_has_a_name)
{
	for (unsigned i = 0; i < CONTROL_WHY_COUNT; i++)
		assert_non_null(control_why_name(i));
	assert_null(control_why_name(CONTROL_WHY_COUNT));
	assert_string_equal(control_state_text(0), "records");
	assert_string_equal(control_state_text(CONTROL_DORMANT | CONTROL_STEPS), "dormant");
}

TEST_CASE(a_pattern_that_is_too_large_written_out_is_refused)
{
	static const char *const large[] = {"a++++++++++++++++++++++++++++++++++++++++",
		"((((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+", "(a{200}){200}", "a{16000}{9}",
		"[]+*{9]{99}{99}{99}", "\\+++++++++++++++++++++++++++++++++++++",
		/* Few when written out: but each of them is reached from each. */
		"e*+++++++++++++", "(a?){8000}",
		"x?????"
		"????++++++",
		"(x*********)++++++"};
	static const char *const small[] = {"^(gemm|Cijk_.*)_[0-9]+x[0-9]+(_[[:alnum:]+]+)*$",
		"a{2,500}", "(.*){1,255}", "[+*{]+", "[]+++++++++++++++++++++++++++++++++]",
		"\\(\\(\\+\\{", "(a|b+)+c?d*", ".*?gemm.*?(_[a-z]+)*?"};
	char why[CHOICE_WHY_BYTES];
	struct choice choice = {0};

	for (size_t i = 0; i < sizeof(large) / sizeof(*large); i++) {
		assert_int_equal(choice_set(&choice, CHOICE_KERNELS, large[i], why), -EINVAL);
		assert_non_null(strstr(why, "too many repetitions"));
	}
	for (size_t i = 0; i < sizeof(small) / sizeof(*small); i++)
		assert_int_equal(choice_set(&choice, CHOICE_KERNELS, small[i], why), 0);
}

/* Seconds and gigabytes of regcomp(), all of them. */
TEST_CASE(a_pattern_with_too_many_ways_through_nothing_is_refused)
{
	static const char *const large[] = {"(()+||){0,18}", "((a|)+||){0,18}",
		"(\\b()*()*()*()*\\B)",
		"(^|$|\\b|\\B|\\<|\\>|\\`|\\'|)(^|$|\\b|\\B|\\<|\\>|\\`|\\'|)"
		"(^|$|\\b|\\B|\\<|\\>|\\`|\\'|)(^|$|\\b|\\B|\\<|\\>|\\`|\\'|)"
		"(^|$|\\b|\\B|\\<|\\>|\\`|\\'|)(^|$|\\b|\\B|\\<|\\>|\\`|\\'|)",
		"((\\'\\b\\b\\b\\b)+)", "(\\b|\\B|x)*(\\b|\\B|y)*(\\b|\\B|z)*",
		"(a|)*(a|)*(a|)*(a|)*(a|)*(a|)*(a|)*(a|)*(a|)*(a|)*(a|)*(a|)*(a|)*(a|)*(a|)*(a|)*",
		"$([ab]|){1,32}([ab]|){1,32}([ab]|){1,32}([ab]|){1,32}([ab]|){1,32}(.{0,16}[^a]|)+",
		"\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b",
		/* No brackets, but from each one may go to each behind it. */
		"^b*{0,255}", "\\b[a-z]?{3,255}_",
		"$_?"
		"?{1,100}",
		/* A character of several bytes is repeated as one: 400 MB in a UTF-8 locale. */
		"$\u00e9?{0,18}(_{9}|\\b)$\u00e9?{0,18}(_{9}|\\b)$\u00e9?{0,18}(_{9}|\\b)"};
	static const char *const small[] = {"(^|_)(gemm|flash)(_|$)",
		"\\bgemm\\b.*\\bf16\\b|\\bconv\\b", "(a*)*", "(foo|)bar", "([a-z]*_)*[0-9]*",
		"^([a-z]*)*$", "(a?b?c?)+", "(\\<[a-z]+\\>[ _]*)+$", "((gemm|conv)?(_f16|_bf16)?)*",
		"^.*(fwd|bwd)?.*(f16|bf16)?.*$", "(^|[^a-z])(step)([^a-z]|$)+", "\\(\\)", ")",
		"^[a-z]{0,255}_", "^([a-z]*_?){1,12}$", "\\bSchritt \u00fc?[\u00e4-\u00fc]*{0,9}$"};
	char why[CHOICE_WHY_BYTES];
	struct choice choice = {0};

	for (size_t i = 0; i < sizeof(large) / sizeof(*large); i++)
		assert_int_equal(choice_set(&choice, CHOICE_KERNELS, large[i], why), -EINVAL);
	for (size_t i = 0; i < sizeof(small) / sizeof(*small); i++)
		assert_int_equal(choice_set(&choice, CHOICE_KERNELS, small[i], why), 0);
}

#define NAMES 1000u

/* A pattern that names as many kernels as a user may have: "^(gemm_...0|gemm_...1)$". */
TEST_CASE(a_pattern_may_name_each_kernel)
{
	char why[CHOICE_WHY_BYTES], text[80 * NAMES];
	struct choice choice = {0};

	for (unsigned is_each = 0; is_each < 2; is_each++) {
		int at = sprintf(text, "%s", is_each ? "" : "^(");

		for (unsigned i = 0; i < NAMES; i++)
			at += sprintf(text + at, "%s%sgemm_%060u%s", i ? "|" : "",
				is_each ? "^" : "", i, is_each ? "$" : "");
		sprintf(text + at, "%s", is_each ? "" : ")$");
		assert_int_equal(choice_set(&choice, CHOICE_KERNELS, text, why), 0);
	}
	memset(text, '|', 4000);
	text[4000] = '\0';
	assert_int_equal(choice_set(&choice, CHOICE_KERNELS, text, why), -EINVAL);
	assert_non_null(strstr(why, ": too many alternatives"));
}

/* However long a text is, what is wrong with it is said. */
TEST_CASE(why_a_long_text_is_wrong_is_said)
{
	char why[CHOICE_WHY_BYTES], text[1000] = {0}, variable[1100];
	const char *const environment[] = {variable, NULL};
	struct choice choice = {0};

	memset(text, 'a', sizeof(text) - 2);
	assert_int_equal(choice_set(&choice, CHOICE_STEPS, text, why), -EINVAL);
	assert_non_null(strstr(why, "ACTIVE at least 1"));
	assert_int_equal(choice_set(&choice, CHOICE_RANKS, text, why), -EINVAL);
	assert_non_null(strstr(why, "like 0,3-5"));
	text[sizeof(text) - 2] = '[';
	assert_int_equal(choice_set(&choice, CHOICE_KERNELS, text, why), -EINVAL);
	assert_non_null(strstr(why, "a: "));
	sprintf(variable, "RTL_STEPS=%s", text);
	assert_int_equal(choice_read(environment, &choice, why), -EINVAL);
	assert_non_null(strstr(why, "ACTIVE at least 1"));
}

TEST_CASE(a_pattern_that_refers_back_is_refused)
{
	static const char *const back[] = {"(a*)*(a*)*\\1\\2x", "(a)\\9", "[\\]\\1"};
	char why[CHOICE_WHY_BYTES];
	struct choice choice = {0};

	for (size_t i = 0; i < sizeof(back) / sizeof(*back); i++) {
		assert_int_equal(choice_set(&choice, CHOICE_KERNELS, back[i], why), -EINVAL);
		assert_non_null(strstr(why, "refers back"));
	}
	assert_int_equal(choice_set(&choice, CHOICE_KERNELS, "\\\\1[\\1]", why), 0);
}
