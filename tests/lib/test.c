/* SPDX-License-Identifier: MIT */
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static struct test_case *first, **next = &first;
static size_t n_registered;

void test_register(struct test_case *test_case)
{
	*next = test_case;
	next = &test_case->next;
	n_registered++;
}

int test_run(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
	struct CMUnitTest *tests = NULL;
	size_t n = 0;
	int failed;

	if (n_registered > 0)
		tests = calloc(n_registered, sizeof(*tests));
	if (!tests) {
		fprintf(stderr, "%s: there is no test\n", program_invocation_short_name);
		return 1;
	}
	for (const struct test_case *c = first; c; c = c->next)
		tests[n++] = c->test;
	failed =
		_cmocka_run_group_tests(program_invocation_short_name, tests, n, set_up, tear_down);
	free(tests);
	return failed;
}
