/* SPDX-License-Identifier: MIT */
#include "collectord/service/links.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "proto/base/cleanup.h"

#define OTHER  65534
#define NO_ONE ((uid_t)-1)

/* dir/real/in, dir/ours -> real, dir/up -> ../NAME/ours, dir/theirs -> real of another user, dir/by
 * -> theirs, dir/round -> round. */
static int make(void **state)
{
	static char dir[] = "/tmp/rtl-links-XXXXXX";
	char up[64];

	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	snprintf(up, sizeof(up), "..%s/ours", strrchr(dir, '/'));
	assert_int_equal(mkdir("real", 0700) | mkdir("real/in", 0700), 0);
	assert_int_equal(symlink("real", "ours") | symlink(up, "up") | symlink("real", "theirs") |
				 symlink("theirs", "by") | symlink("round", "round"),
		0);
	*state = dir;
	return 0;
}

static int check(const char *dir, const char *path, uid_t trusted, const char *expected)
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

static void links_of_ours_are_followed(void **state)
{
	const char *dir = *state;

	assert_int_equal(check(dir, "real/in", NO_ONE, "real/in"), 0);
	assert_int_equal(check(dir, "ours/in/new/er", NO_ONE, "real/in/new/er"), 0);
	assert_int_equal(check(dir, "ours", NO_ONE, "real"), 0);
	assert_int_equal(check(dir, "round/in", NO_ONE, NULL), -ELOOP);
	assert_int_equal(check(dir, "nothing/in", NO_ONE, "nothing/in"), 0);
}

static void a_link_that_leads_up_is_followed_to_its_end(void **state)
{
	CLEANUP(free_p) char *found = NULL, *real = realpath("up/in", NULL);
	CLEANUP(free_p) char *again = NULL;
	char whole[128];

	snprintf(whole, sizeof(whole), "%s/up/in", (const char *)*state);
	assert_int_equal(links_resolve(whole, NO_ONE, &found), 0);
	again = realpath(found, NULL);
	assert_string_equal(again, real);
}

/* Only root can give a link to another user. */
static void links_of_others_are_refused_by_name(void **state)
{
	const char *dir = *state;

	if (geteuid() != 0)
		return;
	assert_int_equal(lchown("theirs", OTHER, OTHER), 0);
	assert_int_equal(check(dir, "theirs/in", NO_ONE, "theirs"), -EPERM);
	assert_int_equal(check(dir, "by/in", NO_ONE, "theirs"), -EPERM);
	assert_int_equal(check(dir, "by/in", OTHER, "real/in"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_of_ours_are_followed),
		cmocka_unit_test(a_link_that_leads_up_is_followed_to_its_end),
		cmocka_unit_test(links_of_others_are_refused_by_name),
	};

	return cmocka_run_group_tests(tests, make, NULL);
}
