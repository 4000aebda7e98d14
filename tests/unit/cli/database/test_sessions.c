// SPDX-License-Identifier: MIT
/* How verbs find sessions: the links to private runs, the files in the state directories. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/command.h"
#include "cli/database/session/exit_text.h"
#include "cli/database/session/find_session.h"
#include "cli/database/session/private_runs.h"
#include "cli/database/session/verb.h"
#include "cli/run/collector/collector.h"
#include "proto/base/cleanup.h"
#include "tests/lib/child_output.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#define LINKS_MAX 256

/* What XDG_STATE_HOME is, and rtl's folder in it. */
static char home[48], folder[64];

static int make_folder(void **state)
{
	(void)state;
	strcpy(home, "/tmp/rtl-sessions-XXXXXX");
	if (!mkdtemp(home) || setenv("XDG_STATE_HOME", home, 1))
		return -1;
	snprintf(folder, sizeof(folder), "%s/rtl", home);
	if (mkdir(folder, 0700))
		return -1;
	/* No collector answers. */
	return setenv("RTL_SOCKET", "/nonexistent/rtl.sock", 1);
}

static int remove_folder(void **state)
{
	(void)state;
	return folder_remove(home);
}

#define CASE(claim) TEST_CASE_BETWEEN(claim, make_folder, remove_folder)

static void write_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
}

/* Makes FOLDER/@name; the path is valid until the fourth call after this one. */
static const char *make_file(const char *name)
{
	static char paths[4][128];
	static unsigned at;
	char *path = paths[at++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	write_file(path);
	return path;
}

/* Checks that the session @name is the file @path; NULL: that there is none. */
static void assert_session(const char *name, const char *path)
{
	CLEANUP(free_p) char *found = find_of_user(name);

	if (!found != !path || (found && strcmp(found, path) != 0))
		fail_msg("%s is %s, not %s", name, found ? found : "unknown",
			path ? path : "unknown");
}

static bool has(char **paths, const char *path)
{
	for (; paths && *paths; paths++)
		if (!strcmp(*paths, path))
			return true;
	return false;
}

static bool is_kept(const char *path)
{
	CLEANUP(find_files_free_p) char **kept = find_kept();

	return has(kept, path);
}

/* ---- private runs -----------------------------------------------------------------------------
 */

CASE(a_private_run_is_found_by_the_name_of_its_session)
{
	const char *path = make_file("a.db");

	assert_session("job", NULL);
	private_runs_add("job", path);
	assert_session("job", path);
	assert_session("jo", NULL);
	/* Names that are no names of sessions become no part of a path. */
	assert_session("", NULL);
	assert_session("../private/job", NULL);
	assert_session(".job", NULL);
	assert_session("-job", NULL);
	/* A link that leads nowhere is no session. */
	assert_int_equal(unlink(path), 0);
	assert_session("job", NULL);
}

CASE(runs_of_one_name_are_all_found_the_newest_by_the_name_itself)
{
	const char *first = make_file("a.db"), *second = make_file("b.db"),
		   *third = make_file("c.db");

	private_runs_add("job", first);
	private_runs_add("job", second);
	assert_session("job", second);
	assert_session("job-2", first);
	private_runs_add("job", third);
	assert_session("job", third);
	assert_session("job-2", first);
	assert_session("job-3", second);
	/* The same file again takes no other's name. */
	private_runs_add("job", third);
	assert_session("job", third);
	assert_session("job-4", NULL);
}

CASE(a_kept_run_has_all_its_names_and_can_be_let_go)
{
	const char *path = make_file("a.db"), *other = make_file("b.db");

	private_runs_add("job", path);
	private_runs_add("mine", path);
	assert_false(is_kept(path));
	assert_int_equal(private_runs_keep("job", path, true), 0);
	assert_true(is_kept(path));
	assert_session("job", path);
	assert_session("mine", path);
	/* The name is that of a file that is kept, not of another. */
	assert_int_equal(private_runs_keep("job", other, true), -EEXIST);
	assert_int_equal(private_runs_keep("job", path, true), 0);
	assert_int_equal(private_runs_keep("job", "/nonexistent/a.db", true), -ENOENT);
	assert_int_equal(private_runs_keep("job", path, false), 0);
	assert_false(is_kept(path));
	assert_session("job", path);
	assert_session("mine", path);
}

CASE(a_run_that_is_forgotten_is_found_by_none_of_its_names)
{
	const char *path = make_file("a.db"), *other = make_file("b.db");

	private_runs_add("job", path);
	private_runs_add("mine", path);
	private_runs_add("other", other);
	assert_int_equal(private_runs_keep("job", path, true), 0);
	private_runs_add("again", path);
	private_runs_forget("/nonexistent/a.db");
	assert_session("job", path);
	private_runs_forget(path);
	assert_session("job", NULL);
	assert_session("mine", NULL);
	assert_session("again", NULL);
	assert_session("other", other);
	assert_false(is_kept(path));
}

CASE(of_very_many_private_runs_the_oldest_is_forgotten)
{
	const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	const char *path = make_file("a.db");
	char link[160];

	private_runs_add("first", path);
	for (unsigned i = 1; i < LINKS_MAX; i++) {
		snprintf(link, sizeof(link), "%s/private/s%u.db", folder, i);
		assert_int_equal(symlink(path, link), 0);
	}
	snprintf(link, sizeof(link), "%s/private/s7.db", folder);
	assert_int_equal(utimensat(AT_FDCWD, link, long_ago, AT_SYMLINK_NOFOLLOW), 0);
	private_runs_add("last", path);
	assert_session("s7", NULL);
	assert_session("first", path);
	assert_session("s255", path);
	assert_session("last", path);
}

CASE(a_name_that_is_too_long_for_a_file_is_not_listed)
{
	const char *path = make_file("a.db");
	char name[NAME_MAX + 2];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	private_runs_add(name, path);
	assert_int_equal(private_runs_keep(name, path, true), -ENAMETOOLONG);
	assert_false(is_kept(path));
}

CASE(a_run_is_listed_by_its_session_and_by_the_name_of_its_user)
{
	struct run_options options = {.name = "mine"};
	struct run_collector collector = {.session = "mine-4711", .options = &options};
	const char *path = make_file("a.db"), *published = make_file("b.db");

	snprintf(collector.database, sizeof(collector.database), "%s", path);
	run_list_private(&collector);
	assert_session("mine", NULL); /* it is a service's */
	collector.is_private = true;
	run_list_private(&collector);
	assert_session("mine", path);
	assert_session("mine-4711", path);
	/* It will lie elsewhere. */
	snprintf(collector.publish, sizeof(collector.publish), "%s", published);
	run_list_private(&collector);
	assert_session("mine-4711", published);
	/* The name alone is no session's. */
	snprintf(collector.session, sizeof(collector.session), "mine");
	options.name = NULL;
	snprintf(collector.publish, sizeof(collector.publish), "%s", "b.db");
	run_list_private(&collector);
	assert_session("mine", published);
}

/* ---- files ------------------------------------------------------------------------------------
 */

CASE(databases_of_a_users_collector_are_found_without_the_files_beside_them)
{
	CLEANUP(find_files_free_p) char **all = NULL, **own = NULL, **stores = NULL;
	const char *one;
	char uid[80], path[128];

	(void)make_file("one.db-wal");
	(void)make_file("one.db-shm");
	(void)make_file("one.db-journal");
	snprintf(uid, sizeof(uid), "%s/%u", folder, (unsigned)getuid());
	assert_int_equal(mkdir(uid, 0700), 0);
	snprintf(path, sizeof(path), "%s/two.db", uid);
	write_file(path);
	assert_session("one", NULL);
	one = make_file("one.db");
	assert_session("one", one);
	assert_session("two", path);
	own = find_own_files();
	all = find_files();
	stores = find_stores();
	assert_true(has(own, path) && has(all, path));
	assert_true(has(stores, folder));
	assert_true(has(own, one) && has(all, one));
	for (char **at = own; *at; at++)
		assert_null(strstr(*at, ".db-"));
}

CASE(files_that_were_put_aside_are_found_in_a_folder_or_in_all)
{
	CLEANUP(find_files_free_p) char **all = NULL, **here = NULL, **none = NULL;
	const char *aside = make_file("job.db.corrupt-2026");

	(void)make_file("job.db");
	all = find_aside(NULL);
	here = find_aside(folder);
	none = find_aside("/tmp/rtl-*");
	assert_true(has(all, aside) && has(here, aside));
	assert_null(here[1]);
	assert_null(none[0]);
}

CASE(a_file_was_written_when_it_or_its_log_was)
{
	const struct timespec times[] = {{.tv_sec = 5}, {.tv_sec = 5}};
	const char *path = make_file("a.db"), *log;

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	assert_int_equal(newest_written_ns(path), 5000000000u);
	log = make_file("a.db-wal");
	assert_true(newest_written_ns(path) > 5000000000u);
	assert_int_equal(utimensat(AT_FDCWD, log, times, 0), 0);
	assert_int_equal(newest_written_ns(path), 5000000000u);
	assert_int_equal(newest_written_ns("/nonexistent/a.db"), 0);
}

CASE(what_is_no_database_and_no_session_is_said_by_its_name)
{
	char error[QUERY_ERROR_BYTES];
	struct query *query = NULL;

	assert_true(find_open("no-such-session", error, &query) < 0);
	assert_non_null(strstr(error, "no-such-session"));
	assert_true(find_open(make_file("a.db"), error, &query) < 0);
	assert_non_null(strstr(error, "/a.db"));
	assert_null(query);
}

CASE(without_a_home_there_are_no_private_runs)
{
	const char *path = make_file("a.db");

	setenv("XDG_STATE_HOME", "relative", 1);
	unsetenv("HOME");
	assert_null(find_private_folder(false));
	private_runs_add("job", path);
	assert_session("job", NULL);
	setenv("HOME", home, 1);
	private_runs_add("job", path);
	assert_session("job", path);
}

/* ---- verbs ------------------------------------------------------------------------------------
 */

TEST_CASE(how_a_process_ended_is_one_word_and_a_number)
{
	static const struct {
		const char *ended;
		bool has_status;
		int64_t status;
		bool is_in_use;
		const char *text;
	} cases[] = {
		{NULL, false, 0, true, "live"},
		{NULL, false, 0, false, "unknown"},
		{"exec", false, 0, true, "exec"},
		{"exited", true, 0, false, "exited 0"},
		{"exited", true, 255, false, "exited 255"},
		{"killed", true, 137, false, "killed by 9"},
		{"killed", true, 9, false, "killed 9"},
	};
	char text[ENDED_BYTES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		ended_describe(cases[i].ended, cases[i].has_status, cases[i].status,
			cases[i].is_in_use, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void check_strictly(void *data)
{
	const struct verb lax = {0}, strict = {.is_strict = true};
	struct verdict verdict = {.line = "INCOMPLETE: 5 dispatched"};

	(void)data;
	printf("%d ", verb_check(&lax, &verdict));
	printf("%d ", verb_check(&strict, &verdict));
	verdict.is_complete = verdict.is_empty = true;
	printf("%d ", verb_check(&strict, &verdict));
	verdict.is_empty = false;
	printf("%d\n", verb_check(&strict, &verdict));
	printf("%d\n", verb_fail(NULL, "a.db: is a folder"));
}

TEST_CASE(a_strict_verb_says_what_is_missing)
{
	struct child_output found;

	child_output_of(check_strictly, NULL, 0, &found);
	assert_string_equal(found.text,
		"0 rtl: --strict: INCOMPLETE: 5 dispatched\n3 rtl: --strict: nothing was "
		"dispatched\n3 0\nrtl: a.db: is a folder\n1\n");
}

static void parse_both(void *data)
{
	struct verb verb = {0};

	(void)data;
	assert_int_equal(verb_parse('s', NULL, &verb), 0);
	assert_int_equal(verb_parse(ARGP_KEY_ARG, (char *)"a.db", &verb), 0);
	assert_int_equal(verb_parse('x', NULL, &verb), ARGP_ERR_UNKNOWN);
	assert_int_equal(verb_parse('j', NULL, &verb), 0);
	assert_int_equal(verb_parse('j', NULL, &verb), 0);
	printf("%s %d %d;", verb.name, verb.is_strict, verb.format == RENDER_JSON);
	(void)verb_parse('c', NULL, &verb);
}

TEST_CASE(a_verb_prints_one_format)
{
	struct child_output found;

	child_output_of(parse_both, NULL, 0, &found);
	assert_int_equal(found.status, CMD_USAGE);
	assert_string_equal(found.text,
		"a.db 1 1;rtl: : --json and --csv do not go together: give one of them\n");
}
