/* SPDX-License-Identifier: MIT */
/* rtl.conf: its lines, its mistakes, and what stands over a setting. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/cleanup.h"
#include "proto/settings/config_file.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

static int take(struct config_file *file, const char *text, char why[CONFIG_FILE_WHY_BYTES])
{
	*why = '\0';
	return config_file_take(file, strdup("rtl.conf"), strdup(text), why);
}

TEST_CASE(settings_are_what_stands_between_comments_and_blanks)
{
	CLEANUP(config_file_done) struct config_file file = {0};
	char why[CONFIG_FILE_WHY_BYTES];

	assert_int_equal(
		take(&file,
			"# a comment\n; and another\n\n[run]\r\n  mode =  full \t\nname = a = b\n"
			"[ quota ]\nquota-rows=5\n[run]\nstrict = yes",
			why),
		0);
	assert_int_equal(file.count, 4);
	assert_string_equal(file.settings[0].section, "run");
	assert_string_equal(file.settings[0].key, "mode");
	assert_string_equal(file.settings[0].value, "full");
	assert_int_equal(file.settings[0].line, 5);
	assert_string_equal(file.settings[1].value, "a = b");
	assert_string_equal(file.settings[2].section, "quota");
	assert_string_equal(file.settings[2].value, "5");
	assert_string_equal(file.settings[3].section, "run");
	assert_int_equal(file.settings[3].line, 10);
}

TEST_CASE(a_wrong_line_is_refused_with_its_place)
{
	static const char *const cases[][2] = {
		{"mode = full", "rtl.conf:1: it stands before any [section]"},
		{"[run\n", "rtl.conf:1: a section ends with ]"},
		{"\n[walk]\n", "rtl.conf:2: sections are run, stat, service, quota, "},
		{"[run]\nmode\n", "rtl.conf:2: neither [section] nor key = value"},
		{"[run]\n= full\n", "rtl.conf:2: a key is the long name of an option"},
		{"[run]\nMode = full\n", "rtl.conf:2: a key is the long name of an option"},
		{"[run]\nmode =\n", "rtl.conf:2: the value is missing"},
		{"[run]\nmode = full\n[stat]\nmode = full\n[run]\nmode = lite\n",
			"rtl.conf:6: this key is given twice"},
		{"[metrics]\nport = 1\n",
			"rtl.conf:2: [metrics] has no key port; no program takes this section yet"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		CLEANUP(config_file_done) struct config_file file = {0};
		char why[CONFIG_FILE_WHY_BYTES];

		assert_int_equal(take(&file, cases[i][0], why), -EINVAL);
		if (strncmp(why, cases[i][1], strlen(cases[i][1])) != 0)
			fail_msg("'%s', not '%s'", why, cases[i][1]);
	}
}

TEST_CASE(the_users_file_and_the_environment_stand_over_the_systems_file)
{
	CLEANUP(config_file_done) struct config_file file = {0};
	char why[CONFIG_FILE_WHY_BYTES], variable[64];

	assert_int_equal(take(&file, "[run]\nstart-after = 5\n", why), 0);
	assert_int_equal(take(&file, "[stat]\nstart-after = 6\n[run]\nstart-after = 7\n", why), 0);
	assert_true(config_file_is_overridden(&file, file.settings));
	assert_false(config_file_is_overridden(&file, file.settings + 1));
	assert_false(config_file_is_overridden(&file, file.settings + 2));
	assert_null(config_setting_variable(file.settings, variable));
	assert_string_equal(variable, "RTL_START_AFTER");
	setenv("RTL_START_AFTER", "", 1);
	assert_null(config_setting_variable(file.settings, variable));
	setenv("RTL_START_AFTER", "8", 1);
	assert_string_equal(config_setting_variable(file.settings, variable), "8");
	unsetenv("RTL_START_AFTER");
}

TEST_CASE(a_key_too_long_for_a_variable_has_none)
{
	char key[80], variable[64];
	const struct config_setting setting = {.key = key};

	memset(key, 'k', sizeof(key));
	key[sizeof(key) - 1] = '\0';
	assert_null(config_setting_variable(&setting, variable));
}

TEST_CASE(a_flag_is_yes_or_no)
{
	struct config_setting setting = {.key = "strict", .path = "rtl.conf", .line = 3};
	char why[CONFIG_FILE_WHY_BYTES];
	bool flag = false;

	setting.value = "yes";
	assert_int_equal(config_setting_flag(&setting, &flag, why), 0);
	assert_true(flag);
	setting.value = "no";
	assert_int_equal(config_setting_flag(&setting, &flag, why), 0);
	assert_false(flag);
	setting.value = "true";
	assert_int_equal(config_setting_flag(&setting, &flag, why), -EINVAL);
	assert_string_equal(why, "rtl.conf:3: strict is yes or no, not true");
}

/* ---- files ------------------------------------------------------------------------------------
 */

static char folder[] = "/tmp/rtl-config-XXXXXX";

static void write_user_file(const char *text, size_t bytes)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s/rtl/rtl.conf", folder);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, bytes), (ssize_t)bytes);
	close(fd);
}

/* The number of settings of the user's file; those of this machine come first. */
static size_t count_of_user(const struct config_file *file)
{
	size_t count = 0;

	for (size_t i = 0; i < file->count; i++)
		count += strcmp(file->settings[i].path, CONFIG_FILE_SYSTEM) != 0;
	return count;
}

static int read_all(size_t *ret_count, char why[CONFIG_FILE_WHY_BYTES])
{
	CLEANUP(config_file_done) struct config_file file = {0};
	int r = config_file_read(&file, why);

	*ret_count = count_of_user(&file);
	return r;
}

TEST_CASE(the_users_file_is_read_from_its_place_and_need_not_be_there)
{
	static const char text[] = "[run]\nmode = full\n", zero[] = "[run]\0mode = full\n";
	char why[CONFIG_FILE_WHY_BYTES], path[80];
	char *large = calloc(1, CONFIG_FILE_BYTES_MAX + 1);
	size_t count;

	assert_non_null(large);
	assert_non_null(mkdtemp(folder));
	setenv("XDG_CONFIG_HOME", folder, 1);
	assert_int_equal(read_all(&count, why), 0);
	assert_int_equal(count, 0);
	snprintf(path, sizeof(path), "%s/rtl", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	write_user_file(text, sizeof(text) - 1);
	assert_int_equal(read_all(&count, why), 0);
	assert_int_equal(count, 1);
	write_user_file(zero, sizeof(zero) - 1);
	assert_int_equal(read_all(&count, why), -EINVAL);
	assert_non_null(strstr(why, "/rtl.conf: is no configuration of rtl: it has zero bytes"));
	memset(large, '\n', CONFIG_FILE_BYTES_MAX + 1);
	write_user_file(large, CONFIG_FILE_BYTES_MAX);
	assert_int_equal(read_all(&count, why), 0);
	write_user_file(large, CONFIG_FILE_BYTES_MAX + 1);
	assert_int_equal(read_all(&count, why), -EINVAL);
	assert_non_null(strstr(why, "more than 64 KiB"));
	free(large);
	/* A folder is no file. */
	strcat(path, "/rtl.conf");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(read_all(&count, why), -EISDIR);
	/* Without a home there is none of the user; with one it is in its .config. */
	setenv("XDG_CONFIG_HOME", "relative", 1);
	setenv("HOME", "relative", 1);
	assert_int_equal(read_all(&count, why), 0);
	setenv("HOME", folder, 1);
	assert_int_equal(read_all(&count, why), 0);
	assert_int_equal(folder_remove(folder), 0);
}
