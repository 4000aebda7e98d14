/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/runtime.h"
#include "shim/shadow.h"

static hsa_status_t queue_create_of_another_tool(hsa_agent_t agent, uint32_t size,
	hsa_queue_type32_t type, void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
	uint32_t private_segment_size, uint32_t group_segment_size, hsa_queue_t **queue)
{
	(void)agent, (void)size, (void)type, (void)callback, (void)data;
	(void)private_segment_size, (void)group_segment_size, (void)queue;
	return HSA_STATUS_ERROR;
}

static void a_tool_before_us_is_seen(void **state)
{
	struct hsa_table table = {
		.real.hsa_queue_create = queue_create_of_another_tool,
	};

	(void)state;
	assert_true(runtime_has_other_tool(&table));
}

static void rocm7_is_told_by_table_or_name(void **state)
{
	struct hsa_table rocm52 = {.ext_bytes = 400, .ext_step = 0};
	struct hsa_table rocm62 = {.ext_bytes = 576, .ext_step = 3};
	struct hsa_table rocm70 = {.ext_bytes = 608, .ext_step = 7};

	(void)state;
	assert_false(runtime_is_rocm7(&rocm52, "/usr/lib/libhsa-runtime64.so.1.5.0"));
	assert_false(runtime_is_rocm7(&rocm62, "/opt/rocm/lib/libhsa-runtime64.so.1.14.60204"));
	assert_true(runtime_is_rocm7(&rocm70, "/opt/rocm/lib/libhsa-runtime64.so.1"));
	assert_true(runtime_is_rocm7(&rocm62, "/opt/rocm/lib/libhsa-runtime64.so.1.18.70201"));
	assert_false(runtime_is_rocm7(&rocm62, ""));
}

static void rocm7_is_followed_on_demand_only(void **state)
{
	struct hsa_table rocm62 = {.ext_bytes = 576, .ext_step = 3};
	struct hsa_table rocm70 = {.ext_bytes = 608, .ext_step = 7};

	(void)state;
	assert_ptr_equal(runtime_front_end(&rocm62, "", ""), &shadow_front_end);
	assert_null(runtime_front_end(&rocm70, "", "lite"));
	assert_ptr_equal(runtime_front_end(&rocm70, "", "shadow"), &shadow_front_end);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tool_before_us_is_seen),
		cmocka_unit_test(rocm7_is_told_by_table_or_name),
		cmocka_unit_test(rocm7_is_followed_on_demand_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
