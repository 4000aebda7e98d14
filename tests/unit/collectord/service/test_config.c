/* SPDX-License-Identifier: MIT */
/* The options of the collector: from rtl.conf, over it the command line, and read again. */
#include "collectord/service/config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectord/service/data_limit.h"
#include "proto/base/cleanup.h"
#include "tests/lib/child_output.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#define WORDS_MAX 4

static char folder[] = "/tmp/rtl-config-XXXXXX";

static void configure(const char *text)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/rtl/rtl.conf", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

struct call {
	const char *configuration, *words[WORDS_MAX];
	int status;
	const char *text; /* part of what is printed */
};

static void parse_words(const struct call *call, struct config *ret)
{
	static char name[] = "collectord";
	static char *words[WORDS_MAX + 2] = {name};
	int count = 1;

	for (; count <= WORDS_MAX && call->words[count - 1]; count++)
		words[count] = (char *)call->words[count - 1];
	words[count] = NULL;
	config_parse(ret, count, words);
}

static void parse(void *data)
{
	struct store_limits limits;
	struct config config;

	parse_words(data, &config);
	limits = config_limits(&config, "/tmp");
	if (config.socket_path)
		printf("socket %s;", config.socket_path);
	if (config.db_file)
		printf("file %s;", config.db_file);
	if (config.db_dir)
		printf("folder %s;", config.db_dir);
	if (config.private_session)
		printf("session %s;", config.private_session);
	printf("%s%s", config.is_private ? "private;" : "", config.is_check ? "check;" : "");
	if (limits.quota.records_per_s)
		printf("rows %" PRIu64 ";", limits.quota.records_per_s);
	if (limits.quota.keep_s)
		printf("keep %" PRIu64 " s;", limits.quota.keep_s);
	if (limits.keep_free_bytes)
		printf("free %" PRIu64 ";", limits.keep_free_bytes);
	if (config.give_up_ms)
		printf("wait %u ms;", config.give_up_ms);
	config_done(&config);
}

TEST_CASE(options_come_from_the_command_line_or_from_the_file)
{
	static const char file[] = "[run]\nmode = full\n[service]\nsocket = /c\nprivate = no\n"
				   "verbose = yes\n[quota]\nquota-rows = 100000\n"
				   "[retention]\nkeep-days = 2\n";
	static const struct call calls[] = {
		{"", {"-s", "/s", "--db=a.db", "--private"}, 0, "socket /s;file a.db;private;"},
		{"", {"--db-dir=/d", "--keep-free=1", "--disk-wait=2", "--check"}, 0,
			"folder /d;check;free 1048576;wait 2000 ms;"},
		{file, {NULL}, 0, "socket /c;rows 100000;keep 172800 s;"},
		{file, {"--quota-rows=200000", "--socket=/s"}, 0,
			"socket /s;rows 200000;keep 172800 s;"},
		/* Its rtl run passes every setting. */
		{"nonsense", {"--private-session=job", "--db=a.db"}, 0,
			"file a.db;session job;private;"},
	};
	struct child_output found;

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		configure(calls[i].configuration);
		child_output_of(parse, (void *)(calls + i), 0, &found);
		assert_string_equal(found.text, calls[i].text);
		assert_int_equal(found.status, 0);
	}
}

TEST_CASE(a_wrong_option_ends_the_collector_with_its_place)
{
	static const struct call calls[] = {
		{"nonsense", {NULL}, 2, "rtl.conf:1: neither [section] nor key = value\n"},
		{"[quota]\nkeep-days = 1\n", {NULL}, 2,
			"rtl.conf:2: [quota] has no key keep-days; they are the long options of "
			"collectord --help\n"},
		{"[service]\nnothing = 1\n", {NULL}, 2, "[service] has no key nothing"},
		{"[service]\nprivate = maybe\n", {NULL}, 2,
			"rtl.conf:2: private is yes or no, not maybe\n"},
		{"[quota]\n\nquota-rows = x\n", {NULL}, 2,
			"rtl.conf:3: quota-rows: not a number up to 1000000000: x\n"},
		{"", {"--quota-rows=-1"}, 2, "--quota-rows: not a number up to 1000000000: -1\n"},
		{"", {"--keep-free=1x"}, 2, "--keep-free: not a number up to "},
		{"", {"--quota-burst=0"}, 2, "--quota-burst: at least a second\n"},
		{"", {"--quota-rows=1"}, 2, "--quota-rows times --quota-burst: at least "},
		{"", {"--disk-wait=0"}, 2, "--disk-wait: at least a second\n"},
		{"", {"--disk-wait=3601"}, 2, "--disk-wait: not a number up to 3600: 3601\n"},
		{"", {"--db=a.db", "--db-dir=/d"}, 2, "--db and --db-dir exclude each other\n"},
		{"", {"--private-session=job"}, 2, "--private-session needs --db FILE\n"},
		{"", {"--socket="}, 2, "--socket: the name is empty\n"},
		{"", {"--db="}, 2, "--db: the name is empty\n"},
		{"", {"--db-dir="}, 2, "--db-dir: the name is empty\n"},
	};
	struct child_output found;

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		configure(calls[i].configuration);
		child_output_of(parse, (void *)(calls + i), 0, &found);
		if (found.status != calls[i].status || !strstr(found.text, calls[i].text))
			fail_msg("'%s': status %d and '%s'", calls[i].text, found.status,
				found.text);
	}
}

static void reload(void *data)
{
	static const struct call call = {.words = {"--quota-burst=5", "--keep-free=2"}};
	struct config config;

	configure("[quota]\nquota-rows = 100000\n");
	parse_words(&call, &config);
	configure(data);
	printf("%s;", config_reload(&config, &config) ? "as before" : "anew");
	printf("rows %" PRIu64 ";burst %" PRIu64 " s;free %" PRIu64, config.limits.records_per_s,
		config.limits.burst_s, config.keep_free_bytes);
	config_done(&config);
}

TEST_CASE(limits_are_read_again_and_stay_where_the_file_is_wrong)
{
	static const char *const cases[][3] = {
		{"[quota]\nquota-rows = 200000\n", "", "anew;rows 200000;burst 5 s;free 2097152"},
		{"[quota]\nquota-burst = 9\nquota-rows = 7000\n[service]\nsocket = /other\n", "",
			"anew;rows 7000;burst 5 s;free 2097152"},
		{"[quota]\nquota-rows = x\n", "rtl.conf:2: quota-rows: not a number",
			"as before;rows 100000;burst 5 s;free 2097152"},
		{"[quota\n", "rtl.conf:1: a section ends with ]",
			"as before;rows 100000;burst 5 s;free 2097152"},
	};
	struct child_output found;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		child_output_of(reload, (void *)cases[i][0], 0, &found);
		if (!strstr(found.text, cases[i][1]) || !strstr(found.text, cases[i][2]))
			fail_msg("'%s', not '%s' and '%s'", found.text, cases[i][1], cases[i][2]);
	}
}

static void assert_places(const struct call *call, const char *path, const char *where)
{
	CLEANUP(free_p) char *beside = NULL;
	struct config config;

	parse_words(call, &config);
	assert_int_equal(config_resolve(&config), 0);
	assert_string_equal(config.store_path, path);
	beside = config_folder(&config);
	assert_string_equal(beside, where);
	assert_string_equal(config.socket_path, CONFIG_SYSTEM_SOCKET);
	config_done(&config);
}

TEST_CASE(paths_are_absolute_before_the_working_folder_changes)
{
	static const struct call file = {.words = {"--db=a.db"}}, top = {.words = {"--db=/a.db"}},
				 dir = {.words = {"--db-dir=/d//"}};
	CLEANUP(free_p) char *here = getcwd(NULL, 0), *path = NULL, *socket = NULL, *other = NULL;
	char wanted[64];

	configure("");
	assert_non_null(here);
	assert_true(asprintf(&path, "%s/a.db", here) > 0);
	assert_places(&file, path, here);
	assert_places(&top, "/a.db", "/");
	assert_places(&dir, "/d", "/d");
	/* The socket of a user is in the user's own folder, if there is one. */
	setenv("XDG_RUNTIME_DIR", folder, 1);
	assert_int_equal(config_user_socket(&socket), 0);
	snprintf(wanted, sizeof(wanted), "%s/rtl/collectord.sock", folder);
	assert_string_equal(socket, wanted);
	setenv("XDG_RUNTIME_DIR", "/nonexistent", 1);
	assert_int_equal(config_user_socket(&other), 0);
	snprintf(wanted, sizeof(wanted), "/tmp/rtl-%u/collectord.sock", (unsigned)geteuid());
	assert_string_equal(other, wanted);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* their memory has no limit   \
								     */
TEST_CASE(the_memory_of_a_worker_grows_with_what_its_tenant_may_define)
{
	struct rlimit before, limited, after;

	assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
	data_limit(1 << 20);
	assert_int_equal(getrlimit(RLIMIT_DATA, &limited), 0);
	data_limit(0);
	assert_int_equal(getrlimit(RLIMIT_DATA, &after), 0);
	assert_true(limited.rlim_cur == WORKER_DATA_BYTES + (1 << 20) ||
		    limited.rlim_cur == before.rlim_max);
	assert_true(limited.rlim_max == before.rlim_max);
	assert_true(after.rlim_cur == before.rlim_max);
}
#endif

static int make_folder(void **state)
{
	char path[64];

	(void)state;
	if (!mkdtemp(folder) || setenv("XDG_CONFIG_HOME", folder, 1))
		return -1;
	snprintf(path, sizeof(path), "%s/rtl", folder);
	return mkdir(path, 0700);
}

static int remove_folder(void **state)
{
	(void)state;
	return folder_remove(folder);
}

int main(void)
{
	return test_run(make_folder, remove_folder);
}
