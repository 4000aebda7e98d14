// SPDX-License-Identifier: MIT
#include "tests/softgpu/test_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void forget_settings(void)
{
	static const char *const names[] = {"SOFTGPU_COUNT", "SOFTGPU_GFX", "SOFTGPU_EAGER",
		"SOFTGPU_SCRIPT", "SOFTGPU_FAULT", "SOFTGPU_REALTIME", "SOFTGPU_TRUTH",
		"ROCR_VISIBLE_DEVICES"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
}

static int setup(void **state)
{
	(void)state;
	forget_settings();
	return 0;
}

static void get_uuid(hsa_agent_t agent, char ret[32])
{
	memset(ret, 0, 32);
	HSA_OK(hsa_agent_get_info(agent, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_UUID, ret));
}

static uint32_t get_u32(hsa_agent_t agent, int what)
{
	uint32_t v = 0;

	HSA_OK(hsa_agent_get_info(agent, (hsa_agent_info_t)what, &v));
	return v;
}

#define CASE(claim) TEST_CASE_BETWEEN(claim, setup, NULL)

CASE(default_is_one_cpu_and_two_simulated_gfx90a)
{
	char name[64], product[64];
	struct gpu g;

	gpu_open(&g);
	assert_int_equal(g.count, 2);
	assert_true(g.cpu.handle);
	for (unsigned int i = 0; i < g.count; i++) {
		HSA_OK(hsa_agent_get_info(g.agent[i], HSA_AGENT_INFO_NAME, name));
		HSA_OK(hsa_agent_get_info(
			g.agent[i], (hsa_agent_info_t)HSA_AMD_AGENT_INFO_PRODUCT_NAME, product));
		assert_string_equal(name, "gfx90a");
		assert_string_equal(product, "SIMULATED gfx90a");
		assert_int_equal(get_u32(g.agent[i], HSA_AMD_AGENT_INFO_DRIVER_NODE_ID), i + 1);
		assert_int_equal(get_u32(g.agent[i], HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT), 104);
	}
	gpu_close();
}

CASE(count_is_obeyed_and_addresses_are_unique)
{
	char uuid[8][32];
	struct gpu g;

	setenv("SOFTGPU_COUNT", "8", 1);
	gpu_open(&g);
	assert_int_equal(g.count, 8);
	for (unsigned int i = 0; i < 8; i++) {
		get_uuid(g.agent[i], uuid[i]);
		assert_memory_equal(uuid[i], "GPU-", 4);
		for (unsigned int k = 0; k < i; k++) {
			assert_string_not_equal(uuid[i], uuid[k]);
			assert_int_not_equal(get_u32(g.agent[i], HSA_AMD_AGENT_INFO_BDFID),
				get_u32(g.agent[k], HSA_AMD_AGENT_INFO_BDFID));
		}
	}
	gpu_close();
}

CASE(no_gpu_is_possible)
{
	struct gpu g;

	setenv("SOFTGPU_COUNT", "0", 1);
	gpu_open(&g);
	assert_int_equal(g.count, 0);
	gpu_close();
}

CASE(every_known_target_comes_up)
{
	static const char *const targets[] = {
		"gfx90a", "gfx908", "gfx906", "gfx900", "gfx1030", "gfx1031"};
	char name[64], all[128] = "";
	struct gpu g;

	for (size_t i = 0; i < 6; i++) {
		strcat(all, i ? "," : "");
		strcat(all, targets[i]);
	}
	setenv("SOFTGPU_GFX", all, 1);
	setenv("SOFTGPU_COUNT", "6", 1);
	gpu_open(&g);
	assert_int_equal(g.count, 6);
	for (unsigned int i = 0; i < 6; i++) {
		hsa_queue_t *q = queue_new(g.agent[i], 64);

		HSA_OK(hsa_agent_get_info(g.agent[i], HSA_AGENT_INFO_NAME, name));
		assert_string_equal(name, targets[i]);
		HSA_OK(hsa_queue_destroy(q));
	}
	gpu_close();
}

/* ROCr before 6.4 drops such a GPU; a debug build reports that too, but not which one. */
CASE(target_that_the_runtime_does_not_know_is_one_line)
{
	static const char line[] = "softgpu: SOFTGPU_GFX: this runtime does not know gfx1201,"
				   " and left those GPUs out\n";
	char have[1024] = "";
	int keep = dup(STDERR_FILENO), fd = memfd_create("stderr", MFD_CLOEXEC);
	struct gpu g;
	char *at;

	setenv("SOFTGPU_GFX", "gfx90a,gfx1201,gfx1201", 1);
	setenv("SOFTGPU_COUNT", "3", 1);
	assert_true(keep >= 0 && fd >= 0);
	dup2(fd, STDERR_FILENO);
	gpu_open(&g);
	gpu_close();
	dup2(keep, STDERR_FILENO);
	assert_true(pread(fd, have, sizeof(have) - 1, 0) >= 0);
	close(keep);
	close(fd);
	at = strstr(have, line);
	assert_int_equal(g.count, at ? 1 : 3);
	assert_null(strstr(at ? at + 1 : have, "softgpu:"));
}

static void expect_visible(const char *value, const char *const *uuid, unsigned int count)
{
	char have[32];
	struct gpu g;

	setenv("ROCR_VISIBLE_DEVICES", value, 1);
	gpu_open(&g);
	assert_int_equal(g.count, count);
	for (unsigned int i = 0; i < count; i++) {
		get_uuid(g.agent[i], have);
		assert_string_equal(have, uuid[i]);
	}
	gpu_close();
}

CASE(visible_devices_select_by_index_order_and_uuid)
{
	char uuid[4][32];
	struct gpu g;

	setenv("SOFTGPU_COUNT", "4", 1);
	gpu_open(&g);
	assert_int_equal(g.count, 4);
	for (unsigned int i = 0; i < 4; i++)
		get_uuid(g.agent[i], uuid[i]);
	gpu_close();
	expect_visible("2", (const char *[]){uuid[2]}, 1);
	expect_visible("3,0", (const char *[]){uuid[3], uuid[0]}, 2);
	expect_visible(uuid[1], (const char *[]){uuid[1]}, 1);
}

CASE(bad_settings_stop_the_runtime)
{
	static const char *const bad[][2] = {
		{"SOFTGPU_COUNT", "two"},
		{"SOFTGPU_COUNT", "65"},
		{"SOFTGPU_GFX", "gfx1"},
		{"SOFTGPU_EAGER", "3"},
		{"SOFTGPU_SCRIPT", "/nonexistent/script"},
		{"SOFTGPU_FAULT", "kernel a fault=unheard_of"},
		{"SOFTGPU_TRUTH", "/nonexistent/truth"},
	};

	gpu_require_soft_thunk();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		forget_settings();
		setenv(bad[i][0], bad[i][1], 1);
		assert_int_not_equal(hsa_init(), HSA_STATUS_SUCCESS);
	}
	forget_settings();
	HSA_OK(hsa_init());
	gpu_close();
}

int main(void)
{
	gpu_require_soft_thunk();
	return test_run(NULL, NULL);
}
