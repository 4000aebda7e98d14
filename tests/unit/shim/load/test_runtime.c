/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <hsa/hsa.h>

#include "shim/capture/intercept.h"
#include "shim/load/runtime.h"
#include "shim/capture/shadow.h"

static hsa_status_t queue_create_of_another_tool(hsa_agent_t agent, uint32_t size,
	hsa_queue_type32_t type, void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
	uint32_t private_segment_size, uint32_t group_segment_size, hsa_queue_t **queue)
{
	(void)agent, (void)size, (void)type, (void)callback, (void)data;
	(void)private_segment_size, (void)group_segment_size, (void)queue;
	return HSA_STATUS_ERROR;
}

static hsa_status_t register_of_another_tool(
	hsa_queue_t *queue, hsa_intercept_handler *callback, void *data)
{
	(void)queue, (void)callback, (void)data;
	return HSA_STATUS_ERROR;
}

static void store_of_another_tool(hsa_signal_t signal, hsa_signal_value_t value)
{
	(void)signal, (void)value;
}

/* The runtime's own, as far as the loader can tell. */
static void table_fill(struct hsa_table *table)
{
	*table = (struct hsa_table){0};
#define FILL(name, offset) table->real.name = name;
	HSA_CORE_MEMBERS(FILL)
}

static void a_tool_before_us_is_seen(void **state)
{
	struct hsa_table table;
	const char *path;

	(void)state;
	table_fill(&table);
	assert_int_equal(runtime_tool_before(&table, &path), RUNTIME_TOOL_NONE);
	assert_string_equal(path, "");
	table.real.hsa_queue_create = queue_create_of_another_tool;
	assert_int_equal(runtime_tool_before(&table, &path), RUNTIME_TOOL_CREATES);
	assert_non_null(strstr(path, "test_runtime"));
	table.real.hsa_signal_store_screlease = store_of_another_tool;
	assert_int_equal(runtime_tool_before(&table, &path), RUNTIME_TOOL_SUBMITS);
	/* Its own callback would come with ours, and after it. */
	table_fill(&table);
	table.real.hsa_amd_queue_intercept_register = register_of_another_tool;
	assert_int_equal(runtime_tool_before(&table, &path), RUNTIME_TOOL_CREATES);
	table_fill(&table);
	table.real.hsa_signal_store_relaxed = store_of_another_tool;
	assert_int_equal(runtime_tool_before(&table, &path), RUNTIME_TOOL_SUBMITS);
}

static void the_release_is_told_by_name_build_or_table(void **state)
{
	static const struct hsa_table rocm52 = {.root_major = 1, .ext_bytes = 400};
	static const struct hsa_table rocm57 = {.root_major = 1, .ext_bytes = 456};
	static const struct hsa_table rocm62 = {.root_major = 3, .ext_bytes = 576, .ext_step = 3};
	static const struct hsa_table rocm70 = {.root_major = 3, .ext_bytes = 608, .ext_step = 7};
	static const struct {
		const struct hsa_table *table;
		const char *path, *build;
		uint32_t version;
	} expected[] = {
		{&rocm52, "/usr/lib/libhsa-runtime64.so.1.5.0", "", 59999},
		{&rocm52, "/opt/rocm-5.2.3/lib/libhsa-runtime64.so.1.5.50203", "", 50203},
		{&rocm57, "", "", 59999},
		{&rocm62, "/opt/rocm/lib/libhsa-runtime64.so.1.14.60204", "", 60204},
		{&rocm62, "", "", 69999},
		{&rocm62, "/usr/lib/x86_64-linux-gnu/libhsa-runtime64.so.1.13.0", "", 69999},
		{&rocm70, "/opt/rocm/lib/libhsa-runtime64.so.1", "", 79999},
		{&rocm70, "/site-packages/torch/lib/libhsa-runtime64.so", "1.18.0.70201-38-abcdef0",
			70201},
		{&rocm70, "/opt/rocm/lib/libhsa-runtime64.so.1.18.70201", "", 70201},
		{&rocm70, "/opt/rocm/lib/libhsa-runtime64.so.1.18.71300", "9.9.9.60000", 71300},
		/* A hash of digits and a folder's name are no releases. */
		{&rocm70, "/home/60204/libhsa-runtime64.so.1", "1.18.0-1234567-70201x", 79999},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		assert_int_equal(
			runtime_version(expected[i].table, expected[i].path, expected[i].build),
			expected[i].version);
}

static void check(uint32_t version, enum front_end_wish wish, const struct front_end *first,
	const struct front_end *fallback)
{
	struct runtime_facts facts = {.version = version, .has_intercept = true};
	struct front_ends ends;

	runtime_choose(&facts, wish, &ends);
	if (ends.first != first || ends.fallback != fallback)
		fail_msg("ROCm %u, wish %d: %s, then %s", version, wish,
			ends.first ? ends.first->name : "none",
			ends.fallback ? ends.fallback->name : "none");
	assert_int_equal(!ends.why, first != NULL);
}

#define SHADOW	  (&shadow_front_end)
#define INTERCEPT (&intercept_front_end)

static void each_release_has_its_front_ends(void **state)
{
	static const uint32_t rocm5[] = {50203, 50301, 50400, 50701, RUNTIME_SOME(5)};
	static const uint32_t rocm6[] = {60000, 60103, 60204, 60402, RUNTIME_SOME(6)};
	static const uint32_t intact[] = {70000, 70002, 70100, 71300, 71400, 100000};
	static const uint32_t broken[] = {
		70101, 70200, 70201, 70203, 70300, 71200, RUNTIME_SOME(7)};

	(void)state;
	for (size_t i = 0; i < sizeof(rocm5) / sizeof(*rocm5); i++) {
		check(rocm5[i], FRONT_END_AUTO, SHADOW, NULL);
		check(rocm5[i], FRONT_END_SHADOW, SHADOW, NULL);
		check(rocm5[i], FRONT_END_INTERCEPT, NULL, NULL);
		check(rocm5[i], FRONT_END_INTERCEPT_UNSAFE, INTERCEPT, NULL);
		check(rocm5[i], FRONT_END_NONE, NULL, NULL);
	}
	for (size_t i = 0; i < sizeof(rocm6) / sizeof(*rocm6); i++) {
		check(rocm6[i], FRONT_END_AUTO, SHADOW, INTERCEPT);
		check(rocm6[i], FRONT_END_SHADOW, SHADOW, INTERCEPT);
		check(rocm6[i], FRONT_END_INTERCEPT, INTERCEPT, NULL);
	}
	for (size_t i = 0; i < sizeof(intact) / sizeof(*intact); i++) {
		check(intact[i], FRONT_END_AUTO, INTERCEPT, NULL);
		check(intact[i], FRONT_END_SHADOW, SHADOW, INTERCEPT);
	}
	for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
		check(broken[i], FRONT_END_AUTO, NULL, NULL);
		check(broken[i], FRONT_END_SHADOW, SHADOW, NULL);
		check(broken[i], FRONT_END_INTERCEPT, NULL, NULL);
		check(broken[i], FRONT_END_INTERCEPT_UNSAFE, INTERCEPT, NULL);
	}
}

static void no_front_end_has_a_reason_that_says_what_to_set(void **state)
{
	struct runtime_facts facts = {.version = 70201, .has_intercept = true};
	struct front_ends ends;

	(void)state;
	runtime_choose(&facts, FRONT_END_AUTO, &ends);
	assert_non_null(strstr(ends.why, "RTL_FRONT_END=shadow"));
	assert_false(ends.is_asked_for);
	runtime_choose(&facts, FRONT_END_NONE, &ends);
	assert_true(ends.is_asked_for);
	facts.has_intercept = false;
	facts.version = 70000;
	runtime_choose(&facts, FRONT_END_AUTO, &ends);
	assert_null(ends.first);
	assert_non_null(ends.why);
}

static void beside_another_tool_only_what_is_safe(void **state)
{
	struct runtime_facts facts = {.version = 60204, .has_intercept = true};
	struct front_ends ends;

	(void)state;
	facts.tool = RUNTIME_TOOL_CREATES;
	runtime_choose(&facts, FRONT_END_AUTO, &ends);
	assert_ptr_equal(ends.first, SHADOW);
	assert_null(ends.fallback);
	runtime_choose(&facts, FRONT_END_INTERCEPT, &ends);
	assert_null(ends.first);
	facts.tool = RUNTIME_TOOL_SUBMITS;
	for (int wish = FRONT_END_AUTO; wish <= FRONT_END_NONE; wish++) {
		runtime_choose(&facts, (enum front_end_wish)wish, &ends);
		assert_null(ends.first);
	}
}

static void packets_are_left_alone_where_that_is_known(void **state)
{
	static const struct {
		uint32_t version;
		enum runtime_tool tool;
		bool is;
	} expected[] = {
		{RUNTIME_SOME(5), RUNTIME_TOOL_NONE, true},
		{60204, RUNTIME_TOOL_NONE, true},
		{70100, RUNTIME_TOOL_NONE, true},
		{70101, RUNTIME_TOOL_NONE, false},
		{RUNTIME_SOME(7), RUNTIME_TOOL_NONE, false},
		{60204, RUNTIME_TOOL_CREATES, false},
		{60204, RUNTIME_TOOL_SUBMITS, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		struct runtime_facts facts = {
			.version = expected[i].version, .tool = expected[i].tool};

		assert_int_equal(runtime_leaves_packets_alone(&facts), expected[i].is);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tool_before_us_is_seen),
		cmocka_unit_test(the_release_is_told_by_name_build_or_table),
		cmocka_unit_test(each_release_has_its_front_ends),
		cmocka_unit_test(no_front_end_has_a_reason_that_says_what_to_set),
		cmocka_unit_test(beside_another_tool_only_what_is_safe),
		cmocka_unit_test(packets_are_left_alone_where_that_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
