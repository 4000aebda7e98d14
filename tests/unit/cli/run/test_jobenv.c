// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "cli/run/job/job_environment.h"
#include "proto/base/cleanup.h"
#include "tests/lib/test.h"

static int clear_environment(void **state)
{
	(void)state;
	unsetenv("HSA_TOOLS_LIB");
	unsetenv("LD_PRELOAD");
	unsetenv("LD_LIBRARY_PATH");
	unsetenv("RTL_OUTPUT");
	return 0;
}

static const char *value_of(const struct jobenv *env, const char *name)
{
	for (size_t i = 0; i < env->count; i++)
		if (!strcmp(env->at[i].name, name))
			return env->at[i].value;
	return "(not set)";
}

/* Sets the variables as a command gets them. */
static void apply(const struct jobenv *env)
{
	for (size_t i = 0; i < env->count; i++)
		assert_int_equal(env->at[i].value ? setenv(env->at[i].name, env->at[i].value, 1)
						  : unsetenv(env->at[i].name),
			0);
}

/* A sanitizer's runtime may be in front of ours. */
static void assert_ends(const char *text, const char *end)
{
	assert_true(strlen(text) >= strlen(end));
	assert_string_equal(text + strlen(text) - strlen(end), end);
}

#define CASE(claim) TEST_CASE_BETWEEN(claim, clear_environment, NULL)

CASE(variables_of_the_user_are_kept)
{
	struct jobenv_params params = {.shim = "/lib/s.so", .softgpu = "/soft"};
	struct jobenv env;

	setenv("HSA_TOOLS_LIB", "/a.so /b.so", 1);
	setenv("LD_PRELOAD", "/c.so", 1);
	setenv("LD_LIBRARY_PATH", "/d:/e", 1);
	assert_int_equal(jobenv_init(&env, &params), 0);
	assert_string_equal(value_of(&env, "HSA_TOOLS_LIB"), "/a.so /b.so /lib/s.so");
	assert_ends(value_of(&env, "LD_PRELOAD"), "/lib/s.so:/c.so");
	assert_string_equal(value_of(&env, "LD_LIBRARY_PATH"), "/soft:/d:/e");
	assert_string_equal(value_of(&env, "HSA_TOOLS_ROCPROFILER_V1_TOOLS"), "1");
	assert_string_equal(value_of(&env, "RTL_SOCKET"), "(not set)");
	jobenv_done(&env);
}

CASE(nested_runs_add_nothing_twice)
{
	struct jobenv_params params = {.shim = "/lib/s.so", .softgpu = "/soft"};
	struct jobenv env, again;

	assert_int_equal(jobenv_init(&env, &params), 0);
	apply(&env);
	assert_int_equal(jobenv_init(&again, &params), 0);
	assert_true(again.count > 0);
	for (size_t i = 0; i < again.count; i++)
		assert_string_equal(again.at[i].value, value_of(&env, again.at[i].name));
	jobenv_done(&again);
	jobenv_done(&env);
}

CASE(a_library_of_a_similar_name_is_not_ours)
{
	struct jobenv_params params = {.shim = "/lib/s.so"};
	struct jobenv env;

	setenv("LD_PRELOAD", "/lib/s.so.1 /x/lib/s.so", 1);
	setenv("HSA_TOOLS_LIB", "/lib/s.so.1", 1);
	assert_int_equal(jobenv_init(&env, &params), 0);
	assert_ends(value_of(&env, "LD_PRELOAD"), "/lib/s.so:/lib/s.so.1 /x/lib/s.so");
	assert_string_equal(value_of(&env, "HSA_TOOLS_LIB"), "/lib/s.so.1 /lib/s.so");
	jobenv_done(&env);
}

CASE(copies_of_another_installation_are_left_out)
{
	struct jobenv_params params = {.shim = "/new/librtl-shim.so"};
	struct jobenv env;

	setenv("LD_PRELOAD", "/old/librtl-shim.so:/a.so librtl-calls.so:/new/librtl-calls.so", 1);
	setenv("HSA_TOOLS_LIB", "\"/o ld/librtl-shim.so\" /a.so librtl-shim.so", 1);
	assert_int_equal(jobenv_init(&env, &params), 0);
	assert_ends(value_of(&env, "LD_PRELOAD"), "/new/librtl-shim.so:/a.so:/new/librtl-calls.so");
	assert_string_equal(value_of(&env, "HSA_TOOLS_LIB"), "/a.so /new/librtl-shim.so");
	jobenv_done(&env);
	setenv("LD_PRELOAD", "/old/librtl-shim.so", 1);
	setenv("HSA_TOOLS_LIB", "/old/librtl-shim.so", 1);
	assert_int_equal(jobenv_init(&env, &params), 0);
	assert_ends(value_of(&env, "LD_PRELOAD"), "/new/librtl-shim.so");
	assert_string_equal(value_of(&env, "HSA_TOOLS_LIB"), "/new/librtl-shim.so");
	jobenv_done(&env);
}

CASE(a_path_with_spaces_is_quoted_or_left_out)
{
	struct jobenv_params params = {.shim = "/my libs/a\"b\\c.so"};
	struct jobenv env;

	assert_int_equal(jobenv_init(&env, &params), 0);
	assert_string_equal(value_of(&env, "HSA_TOOLS_LIB"), "\"/my libs/a\\\"b\\\\c.so\"");
	assert_true(jobenv_tools_list_has(value_of(&env, "HSA_TOOLS_LIB"), params.shim));
	assert_true(env.is_without_preload);
	assert_string_equal(value_of(&env, "LD_PRELOAD"), "(not set)");
	jobenv_done(&env);
}

CASE(an_unrecorded_job_gets_the_software_gpu_alone)
{
	struct jobenv_params params = {.socket = "/s", .job = "j", .softgpu = "/soft"};
	struct jobenv env;

	assert_int_equal(jobenv_init(&env, &params), 0);
	assert_int_equal(env.count, 1);
	assert_string_equal(value_of(&env, "LD_LIBRARY_PATH"), "/soft");
	jobenv_done(&env);
}

CASE(the_output_of_this_run_is_not_the_jobs)
{
	struct jobenv_params params = {.shim = "/lib/s.so"};
	struct spawn_env given;
	bool has_tools = false;
	struct jobenv env;

	setenv("RTL_OUTPUT", "x.db", 1);
	assert_int_equal(jobenv_init(&env, &params), 0);
	assert_int_equal(spawn_env_init(&given, JOBENV_SETTINGS_MAX), 0);
	assert_int_equal(jobenv_put(&env, &given), 0);
	for (char **at = given.at; *at; at++) {
		assert_int_not_equal(strncmp(*at, "RTL_OUTPUT=", 11), 0);
		has_tools |= !strcmp(*at, "HSA_TOOLS_LIB=/lib/s.so");
	}
	assert_true(has_tools);
	spawn_env_done(&given);
	jobenv_done(&env);
}

TEST_CASE(quoting_is_safe_for_a_shell)
{
	static const char *const texts[][2] = {
		{"/usr/lib/a.so", "/usr/lib/a.so"},
		{"", "''"},
		{"a b", "'a b'"},
		{"it's", "'it'\\''s'"},
		{"$(x)`y`\\", "'$(x)`y`\\'"},
		{"~", "'~'"},
		{"a\nb", "'a\nb'"},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		CLEANUP(free_p) char *quoted = jobenv_quote(texts[i][0]);

		assert_string_equal(quoted, texts[i][1]);
	}
}

TEST_CASE(tools_are_split_as_rocr_does)
{
	assert_true(jobenv_tools_list_has("  a   b", "b"));
	assert_true(jobenv_tools_list_has("\"a b\" c", "a b"));
	assert_true(jobenv_tools_list_has("a\\ b", "a b"));
	assert_false(jobenv_tools_list_has("a:b", "a"));
	assert_false(jobenv_tools_list_has("", "a"));
	assert_false(jobenv_tools_list_has("\"open", "a"));
	assert_true(jobenv_tools_list_has("end\\", "end\\"));
}
