/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "shim/load/clr.h"
#include "tests/lib/test.h"

/* Sizes of HIP's dispatch table, by release. */
#define TABLE_ROCM6  3800
#define TABLE_ROCM70 3824
#define TABLE_ROCM71 3976
#define TABLE_ROCM72 4056

TEST_CASE(a_file_s_name_says_the_release)
{
	static const struct {
		const char *path;
		unsigned release;
	} expected[] = {
		{"/opt/rocm-6.4.3/lib/libamdhip64.so.6.4.60403", 604},
		{"/usr/lib/x86_64-linux-gnu/libamdhip64.so.7.2.53211", 702},
		{"libamdhip64.so.7.14.60850", 714},
		{"/wheel/libs/libamdhip64-0a1b2c3d.so.7.2.53211", 702},
		{"libamdhip64.so.10.0.1", 1000},
		{"/opt/rocm/lib/libamdhip64.so.7", 0},
		{"/site-packages/torch/lib/libamdhip64.so", 0},
		{"/opt/7.2.so.6.4.1/libamdhip64.so", 0},
		{"libamdhip64.so.7.", 0},
		{"libamdhip64.so.7.x", 0},
		{"libamdhip64.so..2", 0},
		{"libamdhip64.so.20260101.2", 0},
		{"", 0},
	};

	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		assert_int_equal(clr_release_of_file(expected[i].path), expected[i].release);
}

TEST_CASE(hip_s_table_says_the_release)
{
	assert_int_equal(clr_release_of_table(3544), 600);
	assert_int_equal(clr_release_of_table(TABLE_ROCM6), 600);
	assert_int_equal(clr_release_of_table(TABLE_ROCM6 + 8), CLR_UNKNOWN);
	assert_int_equal(clr_release_of_table(TABLE_ROCM70), 700);
	assert_int_equal(clr_release_of_table(TABLE_ROCM71), 701);
	assert_int_equal(clr_release_of_table(TABLE_ROCM72), 702);
	assert_int_equal(clr_release_of_table(TABLE_ROCM72 + 8), CLR_UNKNOWN);
}

TEST_CASE(packets_are_read_back_by_what_was_not_read_and_after_7_2)
{
	static const unsigned never[] = {502, 600, 604, 702},
			      may[] = {700, 701, 703, 714, CLR_UNKNOWN};

	for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++)
		assert_false(clr_release_reads_back(never[i]));
	for (size_t i = 0; i < sizeof(may) / sizeof(*may); i++)
		assert_true(clr_release_reads_back(may[i]));
}

static void *load(const char *name)
{
	char path[PATH_MAX];
	void *library;

	snprintf(path, sizeof(path), CLR_FOLDER "/%s", name);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		fail_msg("%s", dlerror());
	return library;
}

static bool with(const char *name, enum runtime_kind kind)
{
	void *library = load(name);
	bool does = clr_reads_packets_back(kind);

	dlclose(library);
	return does;
}

TEST_CASE(a_file_with_a_number_is_asked_before_the_runtime_below)
{
	assert_false(with("libamdhip64.so.6.4.60403", RUNTIME_LATER));
	assert_false(with("libamdhip64.so.7.2.53211", RUNTIME_LATER_FIXED));
	assert_false(with("libamdhip64.so.7.2.53211", RUNTIME_7_0));
	assert_true(with("libamdhip64.so.7.14.60850", RUNTIME_7_2));
	assert_true(with("libamdhip64-0a1b2c3d.so.7.1.52802", RUNTIME_6));
}

TEST_CASE(a_link_leads_to_the_number)
{
	const char *name = "libamdhip64.so.9";
	char path[PATH_MAX];

	snprintf(path, sizeof(path), CLR_FOLDER "/%s", name);
	(void)unlink(path);
	assert_int_equal(symlink("libamdhip64.so.7.2.53211", path), 0);
	assert_false(with(name, RUNTIME_LATER));
	assert_int_equal(unlink(path), 0);
}

TEST_CASE(of_two_clr_libraries_the_one_that_reads_back_decides)
{
	void *library = load("libamdhip64.so.7.2.53211");

	assert_false(clr_reads_packets_back(RUNTIME_7_2));
	assert_true(with("libamdhip64.so.7.14.60850", RUNTIME_7_2));
	assert_false(clr_reads_packets_back(RUNTIME_7_2));
	dlclose(library);
}

TEST_CASE(a_clr_without_a_number_counts_as_the_runtimes_package)
{
	static const enum runtime_kind never[] = {RUNTIME_5, RUNTIME_6, RUNTIME_7_2};
	static const enum runtime_kind may[] = {RUNTIME_7_0, RUNTIME_LATER, RUNTIME_LATER_FIXED};

	for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++) {
		assert_false(with("libamdhip64.so", never[i]));
		assert_false(clr_reads_packets_back(never[i]));
	}
	for (size_t i = 0; i < sizeof(may) / sizeof(*may); i++) {
		assert_true(with("libamdhip64.so", may[i]));
		assert_true(clr_reads_packets_back(may[i]));
	}
}

/* The last of the tests: what has registered stays. */
TEST_CASE(a_registered_table_is_asked_before_the_runtime_below)
{
	static uint64_t table[1];

	table[0] = TABLE_ROCM72;
	clr_registered(table);
	assert_false(with("libamdhip64.so", RUNTIME_LATER));
	table[0] = TABLE_ROCM72 + 8;
	clr_registered(table);
	assert_true(with("libamdhip64.so", RUNTIME_7_2));
	assert_false(with("libamdhip64.so.7.2.53211", RUNTIME_7_2));
}
