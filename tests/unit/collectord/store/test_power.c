/* SPDX-License-Identifier: MIT */
/*
 * The power goes at an operation of the disk: collector and rank are gone, and any of the writes
 * that were not synced. What is left is rows up to some commit, and a verdict that says so.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/collectord/store/life.h"
#include "tests/reliability/vfs/fault_vfs.h"

#define KINDS	   (FAULT_VFS_WRITE | FAULT_VFS_SYNC | FAULT_VFS_TRUNCATE)
#define CUTS_SHORT 50u
#define CUTS_LONG  1000u

static uint64_t count_operations(struct harness *h)
{
	const struct fault_vfs none = {.kinds = KINDS};
	uint64_t n;

	fault_vfs_set(&none);
	life_restart(h, 0);
	assert_int_equal(life_run(h), LIFE_CLOSED);
	n = fault_vfs_operations();
	life_forget(h);
	return n;
}

static void lose_power(struct harness *h, uint64_t at, uint64_t seed)
{
	const struct fault_vfs cut = {.kinds = KINDS, .cut_at = at, .seed = seed};
	struct store_config config = {0};
	int status;
	pid_t pid;

	/* A fork takes one thread along: there must be no other. */
	h->store = store_free(h->store);
	pid = fork();
	if (pid == 0) {
		fault_vfs_set(&cut);
		if (store_new(&config, &h->store) < 0)
			_exit(1);
		(void)life_run(h);
		_exit(3); /* timing: fewer operations than were counted */
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ||
		    (WIFEXITED(status) && WEXITSTATUS(status) == 3));
	assert_int_equal(store_new(&config, &h->store), 0);
}

/* A new boot finds the file and ends it; the ranks are gone. */
static bool end_it(struct harness *h)
{
	struct store_session_params params = {
		.name = "job", .job = "job-1", .path = h->path, .create = STORE_RESUME};

	params.uid = getuid();
	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	harness_wait(h, STORE_OPENED);
	assert_int_equal(store_session_close(h->session, 0), 0);
	harness_wait(h, STORE_CLOSED);
	h->session = store_session_free(h->session);
	return h->answer.complete;
}

static void check(struct harness *h, uint64_t at, uint64_t seed)
{
	const struct fault_vfs none = {0};
	bool is_complete;
	int64_t rows;

	fault_vfs_set(&none);
	is_complete = end_it(h);
	life_check(h);
	rows = sql_number(h->path, "SELECT count(*) FROM rocpd_op");
	if (is_complete && rows != LIFE_FRAMES * LIFE_EACH &&
		sql_number(h->path, "SELECT count(*) FROM rtl_process"))
		fail_msg("operation %lu, seed %lu: complete with %ld rows", (unsigned long)at,
			(unsigned long)seed, (long)rows);
	assert_text(h->path, "PRAGMA journal_mode", "delete");
	life_forget(h);
}

STORE_CASE(any_operation)
{
	uint64_t count = count_operations(h);
	unsigned cuts = getenv("RTL_TEST_LONG") ? CUTS_LONG : CUTS_SHORT;

	for (unsigned i = 0; i < cuts; i++) {
		uint64_t at = 1 + i * count / cuts;

		lose_power(h, at, i + 1);
		check(h, at, i + 1);
	}
	print_message("%u power cuts over %lu operations\n", cuts, (unsigned long)count);
}

int main(void)
{
	fault_vfs_install();
	return test_run(NULL, NULL);
}
