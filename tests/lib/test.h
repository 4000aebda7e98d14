/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A test is TEST_CASE(its_claim) { ... }: it registers itself before main() begins, and runs in the
 * order of its file. A file whose tests need something before the first has a main() of its own,
 * which ends with test_run(); the others get that of test_main.c. The asserts are cmocka's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

struct test_case {
	struct CMUnitTest test;
	struct test_case *next;
};

/* @test_case must live as long as the program. */
void test_register(struct test_case *test_case);
/* Runs all that are registered between these two fixtures of the group, of which each may be NULL;
 * the exit status of main(). */
int test_run(CMFixtureFunction set_up, CMFixtureFunction tear_down);

#define TEST_REGISTER(claim, run, set_up, tear_down)                                               \
	__attribute__((constructor)) static void claim##_registers(void)                           \
	{                                                                                          \
		static struct test_case registered = {                                             \
			{#claim, run, set_up, tear_down, NULL}, NULL};                             \
                                                                                                   \
		test_register(&registered);                                                        \
	}

/* Between @set_up and @tear_down, of which each may be NULL. */
#define TEST_CASE_BETWEEN(claim, set_up, tear_down)                                                \
	static void claim(void);                                                                   \
	static void claim##_runs(void **state)                                                     \
	{                                                                                          \
		(void)state;                                                                       \
		claim();                                                                           \
	}                                                                                          \
	TEST_REGISTER(claim, claim##_runs, set_up, tear_down)                                      \
	static void claim(void)

#define TEST_CASE(claim) TEST_CASE_BETWEEN(claim, NULL, NULL)

/* The same, and the test gets what @set_up left in *state: @parameter declares it. */
#define TEST_CASE_WITH(claim, set_up, tear_down, parameter)                                        \
	static void claim(parameter);                                                              \
	static void claim##_runs(void **state)                                                     \
	{                                                                                          \
		claim(*state);                                                                     \
	}                                                                                          \
	TEST_REGISTER(claim, claim##_runs, set_up, tear_down)                                      \
	static void claim(__attribute__((unused)) parameter)
