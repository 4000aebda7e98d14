/* SPDX-License-Identifier: MIT */
#include "collectord/service/links.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/cleanup.h"
#include "tests/lib/test.h"

#define OTHER  65534
#define NO_ONE ((uid_t)-1)

/* dir/real/in, dir/ours -> real, dir/up -> ../NAME/ours, dir/theirs -> real of another user, dir/by
 * -> theirs, dir/round -> round. */
static char dir[] = "/tmp/rtl-links-XXXXXX";

static int make(void **state)
{
	char up[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	snprintf(up, sizeof(up), "..%s/ours", strrchr(dir, '/'));
	assert_int_equal(mkdir("real", 0700) | mkdir("real/in", 0700), 0);
	assert_int_equal(symlink("real", "ours") | symlink(up, "up") | symlink("real", "theirs") |
				 symlink("theirs", "by") | symlink("round", "round"),
		0);
	return 0;
}

static int check(const char *path, uid_t trusted, const char *expected)
{
	CLEANUP(free_p) char *found = NULL;
	char whole[128], wanted[128];
	int r;

	snprintf(whole, sizeof(whole), "%s/%s", dir, path);
	snprintf(wanted, sizeof(wanted), "%s/%s", dir, expected ? expected : "");
	r = links_resolve(whole, trusted, &found);
	if (expected)
		assert_string_equal(found, wanted);
	else
		assert_null(found);
	return r;
}

TEST_CASE(links_of_ours_are_followed)
{
	assert_int_equal(check("real/in", NO_ONE, "real/in"), 0);
	assert_int_equal(check("ours/in/new/er", NO_ONE, "real/in/new/er"), 0);
	assert_int_equal(check("ours", NO_ONE, "real"), 0);
	assert_int_equal(check("round/in", NO_ONE, NULL), -ELOOP);
	assert_int_equal(check("nothing/in", NO_ONE, "nothing/in"), 0);
}

TEST_CASE(a_link_that_leads_up_is_followed_to_its_end)
{
	CLEANUP(free_p) char *found = NULL, *real = realpath("up/in", NULL);
	CLEANUP(free_p) char *again = NULL;
	char whole[128];

	snprintf(whole, sizeof(whole), "%s/up/in", dir);
	assert_int_equal(links_resolve(whole, NO_ONE, &found), 0);
	again = realpath(found, NULL);
	assert_string_equal(again, real);
}

/* Only root can give a link to another user. */
TEST_CASE(links_of_others_are_refused_by_name)
{
	if (geteuid() != 0)
		return;
	assert_int_equal(lchown("theirs", OTHER, OTHER), 0);
	assert_int_equal(check("theirs/in", NO_ONE, "theirs"), -EPERM);
	assert_int_equal(check("by/in", NO_ONE, "theirs"), -EPERM);
	assert_int_equal(check("by/in", OTHER, "real/in"), 0);
}

int main(void)
{
	return test_run(make, NULL);
}
