/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <hsa/hsa.h>

#include "shim/capture/front_ends/intercept.h"
#include "shim/load/runtime.h"
#include "shim/capture/front_ends/shadow.h"
#include "tests/lib/test.h"

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

TEST_CASE(a_tool_before_us_is_seen)
{
	struct hsa_table table;
	const char *path;

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

/* Tables of AMD's releases, as far as they tell which one it is. */
static const struct hsa_table rocm52 = {.root_major = 1, .ext_bytes = 400};
static const struct hsa_table rocm57 = {.root_major = 1, .ext_bytes = 456};
static const struct hsa_table rocm62 = {.root_major = 3, .ext_bytes = 576, .ext_step = 3};
static const struct hsa_table rocm64 = {.root_major = 3, .ext_bytes = 592, .ext_step = 5};
static const struct hsa_table rocm70 = {.root_major = 3, .ext_bytes = 608, .ext_step = 7};
static const struct hsa_table rocm72 = {.root_major = 3, .ext_bytes = 624, .ext_step = 8};
static const struct hsa_table batches = {.root_major = 3, .ext_bytes = 648, .ext_step = 0x0a};
static const struct hsa_table descriptors = {.root_major = 3, .ext_bytes = 712, .ext_step = 0x0f};
static const struct hsa_table to_come = {.root_major = 3, .ext_bytes = 4096, .ext_step = 99};

TEST_CASE(the_tables_say_which_runtime_it_is)
{
	static const struct {
		const struct hsa_table *table;
		enum runtime_kind kind;
		const char *release;
	} expected[] = {
		{&rocm52, RUNTIME_5, "ROCm 5 by its tables"},
		{&rocm57, RUNTIME_5, "ROCm 5 by its tables"},
		{&rocm62, RUNTIME_6, "ROCm 6 by its tables"},
		{&rocm64, RUNTIME_6, "ROCm 6 by its tables"},
		{&rocm70, RUNTIME_7_0, "ROCm 7.0 or 7.1 by its tables"},
		{&rocm72, RUNTIME_7_2, "ROCm 7.2 by its tables"},
		{&batches, RUNTIME_LATER, "later than ROCm 7.2 by its tables"},
		{&descriptors, RUNTIME_LATER_FIXED, "later than ROCm 7.2 by its tables"},
		{&to_come, RUNTIME_LATER_FIXED, "later than ROCm 7.2 by its tables"},
	};

	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		struct runtime_facts facts = {.kind = runtime_kind_of(expected[i].table)};
		char release[RUNTIME_RELEASE_BYTES];

		assert_int_equal(facts.kind, expected[i].kind);
		runtime_release(&facts, release);
		assert_string_equal(release, expected[i].release);
		facts.number = 60204;
		runtime_release(&facts, release);
		assert_string_equal(release, "ROCm 6.2.4");
	}
}

TEST_CASE(the_number_is_in_the_name_or_the_build)
{
	static const struct {
		const char *path, *build;
		uint32_t number;
	} expected[] = {
		{"/usr/lib/libhsa-runtime64.so.1.5.0", "", 0},
		{"/opt/rocm-5.2.3/lib/libhsa-runtime64.so.1.5.50203", "", 50203},
		{"", "", 0},
		{"/opt/rocm/lib/libhsa-runtime64.so.1.14.60204", "", 60204},
		{"/opt/rocm/lib/libhsa-runtime64.so.1", "", 0},
		{"/site-packages/torch/lib/libhsa-runtime64.so", "1.18.0.70201-38-abcdef0", 70201},
		{"/opt/rocm/lib/libhsa-runtime64.so.1.18.71300", "9.9.9.60000", 71300},
		/* Of builds by others there is none. */
		{"/opt/rocm/lib/libhsa-runtime64.so.1.21.0", "1.21.0-local-build-2b22ab01", 0},
		/* A hash of digits and a folder's name are no releases. */
		{"/home/60204/libhsa-runtime64.so.1", "1.18.0-1234567-70201x", 0},
	};

	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		assert_int_equal(
			runtime_number(expected[i].path, expected[i].build), expected[i].number);
}

#define SHADOW	  (&shadow_front_end)
#define INTERCEPT (&intercept_front_end)

static void check(const struct runtime_facts *facts, enum front_end_wish wish,
	const struct front_end *first, const struct front_end *fallback)
{
	struct front_ends ends;

	runtime_choose(facts, wish, &ends);
	if (ends.first != first || ends.fallback != fallback)
		fail_msg("kind %d, number %u, wish %d: %s, then %s", facts->kind, facts->number,
			wish, ends.first ? ends.first->name : "none",
			ends.fallback ? ends.fallback->name : "none");
	assert_int_equal(!ends.why, first != NULL);
}

TEST_CASE(queues_are_shadowed_on_every_release)
{
	static const uint32_t numbers[] = {0, 50203, 60402, 70000, 70203, 71300, 100000};

	for (int kind = RUNTIME_5; kind <= RUNTIME_LATER_FIXED; kind++) {
		for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
			struct runtime_facts facts = {
				.kind = (enum runtime_kind)kind, .number = numbers[i]};

			check(&facts, FRONT_END_AUTO, SHADOW, NULL);
			check(&facts, FRONT_END_SHADOW, SHADOW, NULL);
			check(&facts, FRONT_END_NONE, NULL, NULL);
		}
	}
}

TEST_CASE(queues_are_intercepted_only_where_that_is_known_to_be_safe)
{
	static const struct {
		enum runtime_kind kind;
		uint32_t number;
		bool is_safe;
	} expected[] = {
		{RUNTIME_5, 0, false},
		{RUNTIME_5, 50701, false},
		{RUNTIME_6, 0, true},
		{RUNTIME_6, 60402, true},
		/* One table, two kinds of queue: the number decides, and none is none. */
		{RUNTIME_7_0, 0, false},
		{RUNTIME_7_0, 70000, true},
		{RUNTIME_7_0, 70100, true},
		{RUNTIME_7_0, 70101, false},
		{RUNTIME_7_2, 0, false},
		{RUNTIME_7_2, 70203, false},
		{RUNTIME_LATER, 0, false},
		{RUNTIME_LATER, 70900, false},
		{RUNTIME_LATER, 71300, true},
		{RUNTIME_LATER_FIXED, 0, true},
		{RUNTIME_LATER_FIXED, 100000, true},
	};

	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		struct runtime_facts facts = {.kind = expected[i].kind,
			.number = expected[i].number,
			.has_intercept = true};
		const struct front_end *if_safe = expected[i].is_safe ? INTERCEPT : NULL;

		check(&facts, FRONT_END_AUTO, SHADOW, if_safe);
		check(&facts, FRONT_END_SHADOW, SHADOW, if_safe);
		check(&facts, FRONT_END_INTERCEPT, if_safe, NULL);
		check(&facts, FRONT_END_INTERCEPT_UNSAFE, INTERCEPT, NULL);
	}
}

TEST_CASE(no_front_end_has_a_reason_that_says_what_to_set)
{
	struct runtime_facts facts = {.kind = RUNTIME_7_2, .has_intercept = true};
	struct front_ends ends;

	runtime_choose(&facts, FRONT_END_INTERCEPT, &ends);
	assert_non_null(strstr(ends.why, "RTL_FRONT_END=shadow"));
	assert_false(ends.is_asked_for);
	runtime_choose(&facts, FRONT_END_NONE, &ends);
	assert_true(ends.is_asked_for);
	facts.has_intercept = false;
	runtime_choose(&facts, FRONT_END_INTERCEPT, &ends);
	assert_null(ends.first);
	assert_non_null(ends.why);
}

TEST_CASE(beside_another_tool_only_what_is_safe)
{
	struct runtime_facts facts = {.kind = RUNTIME_6, .has_intercept = true};
	struct front_ends ends;

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

TEST_CASE(packets_are_left_alone_where_that_is_known)
{
	static const struct {
		enum runtime_kind kind;
		enum runtime_tool tool;
		bool is;
	} expected[] = {
		{RUNTIME_5, RUNTIME_TOOL_NONE, true},
		{RUNTIME_6, RUNTIME_TOOL_NONE, true},
		{RUNTIME_7_2, RUNTIME_TOOL_NONE, true},
		{RUNTIME_LATER, RUNTIME_TOOL_NONE, false},
		{RUNTIME_LATER_FIXED, RUNTIME_TOOL_NONE, false},
		{RUNTIME_6, RUNTIME_TOOL_CREATES, false},
		{RUNTIME_6, RUNTIME_TOOL_SUBMITS, false},
	};

	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		struct runtime_facts facts = {.kind = expected[i].kind, .tool = expected[i].tool};

		assert_int_equal(runtime_leaves_packets_alone(&facts), expected[i].is);
	}
}
