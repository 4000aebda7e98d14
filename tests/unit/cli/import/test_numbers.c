// SPDX-License-Identifier: MIT
#include <string.h>

#include "cli/import/input/decimal.h"
#include "cli/import/input/sha256.h"
#include "tests/lib/test.h"

static int64_t ns(const char *us)
{
	int64_t value;

	assert_true(decimal_scaled(us, strlen(us), 3, &value));
	return value;
}

TEST_CASE(times_of_us_are_ns_to_the_last_digit)
{
	assert_int_equal(ns("0"), 0);
	assert_int_equal(ns("4521234567890.123"), 4521234567890123);
	/* A double has 256 ns of the time of day, and this would be ...744. */
	assert_int_equal(ns("1682725898237042.001"), 1682725898237042001);
	assert_int_equal(ns("1.5"), 1500);
	assert_int_equal(ns("-1.5"), -1500);
	assert_int_equal(ns("0.0004"), 0);
	assert_int_equal(ns("0.0005"), 1);
	assert_int_equal(ns("0.00049999"), 0);
	assert_int_equal(ns("12.34567"), 12346);
	assert_int_equal(ns("1e3"), 1000000);
	assert_int_equal(ns("1.5E-3"), 2);
	assert_int_equal(ns("1.4E-3"), 1);
	assert_int_equal(ns("2.5e+2"), 250000);
	assert_int_equal(ns("0e999"), 0);
	assert_int_equal(ns("1e-999"), 0);
	assert_int_equal(ns("000012"), 12000);
}

TEST_CASE(what_is_no_number_or_too_large_is_refused)
{
	static const char *const bad[] = {"", "-", ".", "e5", "1e", "1e+", "1.2.3", "0x10", "1 ",
		"NaN", "99999999999999999999", "1e300", "4611686018427387.905", "1e2147483648"};
	int64_t value = 7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (decimal_scaled(bad[i], strlen(bad[i]), 3, &value))
			fail_msg("%s is %lld", bad[i], (long long)value);
	assert_int_equal(value, 7);
}

TEST_CASE(whole_numbers_may_have_a_point_and_nothing_behind_it)
{
	int64_t value;

	assert_true(decimal_whole("12.0", 4, &value) && value == 12);
	assert_true(decimal_whole("-7", 2, &value) && value == -7);
	assert_true(decimal_whole("100", 3, &value) && value == 100);
	assert_true(decimal_whole("0", 1, &value) && value == 0);
	assert_true(decimal_whole("1.75e+18", 8, &value) && value == 1750000000000000000);
	assert_false(decimal_whole("12.5", 4, &value));
	assert_false(decimal_whole("Spans", 5, &value));
	assert_false(decimal_whole("", 0, &value));
}

TEST_CASE(checksums_are_those_of_the_standard)
{
	static const struct {
		const char *text, *hex;
	} known[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
			"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	};
	struct sha256 sha;
	char hex[SHA256_HEX_BYTES], block[1000];

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		sha256_init(&sha);
		sha256_add(&sha, known[i].text, strlen(known[i].text));
		sha256_end(&sha, hex);
		assert_string_equal(hex, known[i].hex);
	}
	/* A million times a, in pieces that are no blocks. */
	memset(block, 'a', sizeof(block));
	sha256_init(&sha);
	for (int i = 0; i < 1000; i++)
		sha256_add(&sha, block, sizeof(block));
	sha256_end(&sha, hex);
	assert_string_equal(
		hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
