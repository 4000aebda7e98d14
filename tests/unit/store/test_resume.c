// SPDX-License-Identifier: MIT
/* A job that finds files of its name: it goes on with its own, and changes no other. */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/store/harness.h"

static size_t read_whole(const char *path, char **ret)
{
	int fd = open(path, O_RDONLY);
	struct stat st;

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	*ret = malloc((size_t)st.st_size);
	assert_int_equal(read(fd, *ret, (size_t)st.st_size), st.st_size);
	close(fd);
	return (size_t)st.st_size;
}

/* A look into the file of an earlier job of that name leaves it as it is: one file, and its verdict. */
static void a_job_leaves_the_files_of_others_alone(void **state)
{
	struct harness *h = *state;
	struct store_session_params params = {
		.name = "job", .job = "1", .dir = h->dir, .uid = getuid(), .create = STORE_RESUME};
	char first[160], *before, *after;
	size_t bytes;

	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	harness_wait(h, STORE_OPENED);
	snprintf(first, sizeof(first), "%s", h->answer.database);
	assert_int_equal(store_session_close(h->session, 0), 0);
	harness_wait(h, STORE_CLOSED);
	assert_int_equal(harness_number(first, "SELECT value FROM rtl_meta WHERE key = 'complete'"), 1);
	bytes = read_whole(first, &before);
	params.job = "2";
	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	harness_wait(h, STORE_OPENED);
	assert_string_equal(h->answer.name, "job-2");
	assert_int_equal(read_whole(first, &after), bytes);
	assert_memory_equal(before, after, bytes);
	free(before);
	free(after);
}

/* Somebody reads the first file of that name, which is closed: nobody waits for that. */
static void a_job_goes_on_whoever_reads_the_file_before_its_own(void **state)
{
	struct harness *h = *state;
	struct store_session_params params = {
		.name = "job", .job = "1", .dir = h->dir, .uid = getuid(), .create = STORE_NEW};
	char first[160], want[160], index[96];
	const struct store_config service = {.index_path = index};
	sqlite3 *reader;

	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	harness_wait(h, STORE_OPENED);
	snprintf(first, sizeof(first), "%s", h->answer.database);
	assert_int_equal(store_session_close(h->session, 0), 0);
	harness_wait(h, STORE_CLOSED);
	/* Of the same job, and open: it goes on with this. */
	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	harness_wait(h, STORE_OPENED);
	assert_string_equal(h->answer.name, "job-2");
	store_answer_done(&h->answer);
	h->store = store_free(h->store);
	snprintf(index, sizeof(index), "%s/index.db", h->dir);
	assert_int_equal(store_new(&service, &h->store), 0);
	assert_int_equal(sqlite3_open(first, &reader), SQLITE_OK);
	assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM rtl_meta", NULL, NULL,
				 NULL),
		SQLITE_OK);
	params.create = STORE_RESUME;
	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	harness_wait(h, STORE_OPENED);
	snprintf(want, sizeof(want), "%s/%u/job-2.db", h->dir, (unsigned)getuid());
	assert_string_equal(h->answer.database, want);
	assert_int_equal(sqlite3_close(reader), SQLITE_OK);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, harness_setup, harness_teardown)
	const struct CMUnitTest tests[] = {
		T(a_job_leaves_the_files_of_others_alone),
		T(a_job_goes_on_whoever_reads_the_file_before_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
