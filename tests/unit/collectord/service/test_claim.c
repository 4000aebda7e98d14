/* SPDX-License-Identifier: MIT */
/* A claim on a folder: at most one collector stores there. */
#include "collectord/service/lock_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/test.h"

/* The exit status of a child that tries: 0 it has it, 1 it is told that @holder has. */
static int try_in_child(const char *path, pid_t holder)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct claim claim;
		pid_t found = 0;
		int r = claim_take(path, &claim, &found);

		_exit(r == 0 ? 0 : r == -EADDRINUSE && found == holder ? 1 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

TEST_CASE(one_at_a_time)
{
	char dir[] = "/tmp/rtl-claim-XXXXXX", path[64];
	struct claim claim;
	pid_t found;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/.lock", dir);
	assert_int_equal(claim_take(path, &claim, &found), 0);
	assert_int_equal(try_in_child(path, getpid()), 1);
	claim_release(&claim);
	assert_int_not_equal(access(path, F_OK), 0);
	/* A child that held the claim and died leaves a file, which does not stop the next
	 * claim. */
	assert_int_equal(try_in_child(path, 0), 0);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(claim_wait(path, &claim, &found), 0);
	claim_release(&claim);
	assert_int_equal(rmdir(dir), 0);
}
