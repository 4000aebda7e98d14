// SPDX-License-Identifier: MIT
/* The user that a uid counts as, by files like /etc/subuid. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/limits.h"
#include "proto/base/subordinate_uids.h"
#include "tests/lib/test.h"

static char path[] = "/tmp/rtl-subuid-XXXXXX";

static int read_text(const char *text, struct subuids **ret)
{
	FILE *file = fopen(path, "w");
	int r;

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	r = subuids_read(path, ret);
	return r;
}

/* The user that a uid counts as. */
struct counts_as {
	uid_t uid, owner;
};

static void check(const char *text, const struct counts_as *of, size_t count)
{
	struct subuids *subuids = NULL;

	assert_int_equal(read_text(text, &subuids), 0);
	for (size_t i = 0; i < count; i++)
		if (subuids_owner(subuids, of[i].uid) != of[i].owner)
			fail_msg("uid %u counts as %u", of[i].uid,
				subuids_owner(subuids, of[i].uid));
	subuids_free(subuids);
}

#define CHECK(text, ...)                                                                           \
	check(text, (const struct counts_as[]){__VA_ARGS__},                                       \
		sizeof((const struct counts_as[]){__VA_ARGS__}) / sizeof(struct counts_as))

TEST_CASE(all_ranges_of_a_user_belong_to_that_user)
{
	CHECK("1002:400000:10\n1001:100000:65536\n1001:300000:100000", {1001, 1001}, {99999, 99999},
		{100000, 1001}, {165535, 1001}, {165536, 165536}, {399999, 1001}, {400009, 1002},
		{400010, 400010}, {0, 0});
}

/* A name that is in no /etc/passwd of this node: all ranges of the name belong to one user, never
 * to root. */
TEST_CASE(names_are_users)
{
	CHECK("one@directory:200000:10\none@directory:300000:10\n"
	      "another@directory:400000:10\nroot:500000:10\n",
		{200009, 200000}, {300009, 200000}, {400009, 400000}, {500009, 500000});
}

/* As LXD has them for root, or for a user that was given one twice: behind the end of an inner
 * range the outer owner stays. */
TEST_CASE(ranges_may_lie_in_others)
{
	CHECK("1001:100000:1000000\n1002:200000:10\n1003:200000:100\n"
	      "1004:1000000:200000\n",
		{199999, 1001}, {200000, 1002}, {200010, 1003}, {200100, 1001}, {999999, 1001},
		{1000000, 1004}, {1199999, 1004}, {1200000, 1200000});
}

/* The kubelet's, docker's: a container has a block of them. */
TEST_CASE(uids_of_a_container_manager_count_by_container)
{
	CHECK("998:100000:200000\n", {100001, 100000}, {100000 + SUBUID_BLOCK - 1, 100000},
		{100000 + SUBUID_BLOCK, 100000 + SUBUID_BLOCK}, {299999, 100000 + 3 * SUBUID_BLOCK},
		{300000, 300000});
}

TEST_CASE(malformed_lines_are_ignored)
{
	struct subuids *subuids = NULL;

	assert_int_equal(read_text("\n:\n::\n:100:10\n1001\n1001:\n1001:100000\n1001:-1:10\n"
				   "1001:0:10\n1001:100000:0\n1001:4294967295:1\n"
				   "1001:4294967290:6\n1001:200000:1x\n1001:99999999999:1\n"
				   "# 1001:300000:10\n1001:700000:10:more\n1001:600000:10\n",
				 &subuids),
		0);
	for (uid_t uid = 0; uid < 500000; uid++)
		if (subuids_owner(subuids, uid) != uid && uid / 10 != 30000)
			fail_msg("uid %u counts as %u", uid, subuids_owner(subuids, uid));
	assert_int_equal(subuids_owner(subuids, 600009), 1001);
	assert_int_equal(subuids_owner(subuids, 4294967295), 4294967295);
	subuids_free(subuids);
	assert_int_equal(unlink(path), 0);
	subuids = NULL;
	assert_int_equal(subuids_read(path, &subuids), 0);
	assert_int_equal(subuids_owner(subuids, 600009), 600009);
	subuids_free(subuids);
	assert_int_equal(subuids_owner(NULL, 600009), 600009);
}

TEST_CASE(ranges_beyond_the_limit_are_refused)
{
	struct subuids *subuids = NULL;
	char *text = malloc((SUBUID_RANGES_MAX + 1) * 24), *at = text;

	assert_non_null(text);
	for (unsigned i = 0; i <= SUBUID_RANGES_MAX; i++) {
		if (i == SUBUID_RANGES_MAX) {
			assert_int_equal(read_text(text, &subuids), 0);
			assert_int_equal(subuids_owner(subuids, 100000 + 2 * (i - 1)), 1001);
			subuids = subuids_free(subuids);
		}
		at += sprintf(at, "1001:%u:1\n", 100000 + 2 * i);
	}
	assert_int_equal(read_text(text, &subuids), -E2BIG);
	free(text);
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	return test_run(NULL, NULL);
}
