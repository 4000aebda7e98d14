/* SPDX-License-Identifier: MIT */
/* What must hold of a place: nobody else stores there. */
#include "collectord/service/lock_file.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* The exit status of a child that tries: 0 it has it, 1 it is told that @holder has. */
static int try_in_child(const char *path, pid_t holder)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct claim claim;
		pid_t who = 0;
		int r = claim_take(path, &claim, &who);

		_exit(r == 0 ? 0 : r == -EADDRINUSE && who == holder ? 1 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

static void one_at_a_time(void **state)
{
	char dir[] = "/tmp/rtl-claim-XXXXXX", path[64];
	struct claim claim;
	pid_t who;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/.lock", dir);
	assert_int_equal(claim_take(path, &claim, &who), 0);
	assert_int_equal(try_in_child(path, getpid()), 1);
	claim_release(&claim);
	assert_int_not_equal(access(path, F_OK), 0);
	/* A child that had it and died leaves a file, and nobody in its way. */
	assert_int_equal(try_in_child(path, 0), 0);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(claim_wait(path, &claim, &who), 0);
	claim_release(&claim);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
