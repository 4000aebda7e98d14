// SPDX-License-Identifier: MIT
/* A new database is a copy of the image that the build made, and is not made by migrations. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectord/db/database.h"
#include "collectord/db/migrate.h"
#include "proto/names/schema.h"
#include "tests/unit/collectord/store/harness.h"

static int count_rows(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement;
	int n;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	n = sqlite3_column_int(statement, 0);
	sqlite3_finalize(statement);
	return n;
}

STORE_CASE(a_new_file_is_what_the_migrations_make)
{
	char attach[192];
	sqlite3 *db;

	harness_open_session(h, STORE_NEW);
	store_free(h->store);
	assert_int_equal(store_new(&(struct store_config){0}, &h->store), 0);
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	for (const struct migration *m = migrations; m->version; m++)
		assert_int_equal(sqlite3_exec(db, m->sql, NULL, NULL, NULL), SQLITE_OK);
	snprintf(attach, sizeof(attach), "ATTACH '%s' AS made", h->path);
	assert_int_equal(sqlite3_exec(db, attach, NULL, NULL, NULL), SQLITE_OK);
#define OBJECTS(schema) "SELECT type, name, tbl_name, sql FROM " schema ".sqlite_schema "
#define RULES(schema)	"SELECT * FROM " schema ".rtl_category "
	assert_true(count_rows(db, "SELECT count(*) FROM (" OBJECTS("main") ")") > 20);
	assert_int_equal(count_rows(db, "SELECT count(*) FROM (" OBJECTS("main") " EXCEPT " OBJECTS(
						"made") ")"),
		0);
	assert_int_equal(count_rows(db, "SELECT count(*) FROM (" OBJECTS("made") " EXCEPT " OBJECTS(
						"main") ")"),
		0);
	assert_true(count_rows(db, "SELECT count(*) FROM (" RULES("main") ")") > 0);
	assert_int_equal(
		count_rows(db, "SELECT count(*) FROM (" RULES("main") " EXCEPT " RULES("made") ")"),
		0);
	sqlite3_close(db);
	assert_number(h->path, "PRAGMA user_version", SCHEMA_VERSION);
	assert_number(h->path, "PRAGMA page_size", DATABASE_PAGE_BYTES);
	assert_text(h->path, "PRAGMA integrity_check", "ok");
}

/* Schema 18 moved them out of a table of their own. */
TEST_CASE(inputs_of_operations_outlive_a_migration)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	for (const struct migration *m = migrations; m->version; m++) {
		assert_int_equal(sqlite3_exec(db, m->sql, NULL, NULL, NULL), SQLITE_OK);
		if (m->version == 17)
			assert_int_equal(
				sqlite3_exec(db,
					"INSERT INTO rocpd_string VALUES (901, 'aten::conv2d'), "
					"(902, '[\"1\"]'); INSERT INTO rtl_process (id, "
					"session_id, "
					"pid, start_ns, boot_id, uid, token, start_time) VALUES "
					"(1, 1, 7, 0, 'b', 0, 't', 0); INSERT INTO rtl_op_base "
					"(id, "
					"tid, name_id, kind, start_ns, end_ns) VALUES "
					"((1 << 40) + 1, 7, 901, 'op', 1, 2), "
					"((1 << 40) + 2, 7, 901, 'op', 3, 4); INSERT INTO "
					"rtl_op_inputs VALUES ((1 << 40) + 2, 902)",
					NULL, NULL, NULL),
				SQLITE_OK);
	}
	assert_int_equal(count_rows(db, "SELECT count(*) FROM rtl_op"), 2);
	assert_int_equal(count_rows(db, "SELECT op_id FROM rtl_op WHERE inputs = '[\"1\"]'"), 2);
	assert_int_equal(count_rows(db, "SELECT op_id FROM rtl_op WHERE inputs IS NULL"), 1);
	sqlite3_close(db);
}

/* The callback that reports the file finds it whole under its name; times counts the calls. */
struct made {
	const char *path;
	unsigned times;
};

static void count_made(void *data)
{
	struct made *made = data;

	assert_number(made->path, "PRAGMA user_version", SCHEMA_VERSION);
	made->times++;
}

STORE_CASE(a_name_is_given_to_a_whole_file_alone)
{
	struct made made = {.path = h->path};
	struct stat st;
	sqlite3 *db;

	assert_int_equal(migrate_make_file(h->path, 0600, count_made, &made), 0);
	assert_int_equal(made.times, 1);
	/* What it counts for it takes, as far as the file system can say so. */
	assert_int_equal(stat(h->path, &st), 0);
	if ((size_t)st.st_blocks * 512 < (size_t)st.st_size)
		fail_msg("%jd bytes, and room for %jd", (intmax_t)st.st_size,
			(intmax_t)st.st_blocks * 512);
	assert_text(h->path, "PRAGMA integrity_check", "ok");
	assert_number(h->path, "PRAGMA user_version", SCHEMA_VERSION);
	assert_number(h->path, "SELECT count(*) FROM rtl_meta", 0);
	/* Whatever has the name keeps it. */
	assert_int_equal(sqlite3_open(h->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA user_version=1", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(migrate_make_file(h->path, 0600, count_made, &made), -EEXIST);
	assert_int_equal(made.times, 1);
	assert_number(h->path, "PRAGMA user_version", 1);
	assert_int_equal(migrate_make_file("/proc/job.db", 0600, count_made, &made), -EOPNOTSUPP);
	assert_int_equal(migrate_make_file("/none/job.db", 0600, count_made, &made), -ENOENT);
	assert_int_equal(made.times, 1);
}

/* The disk fails the next sync. */
static bool is_sync_to_fail;
/* The owner puts another file here before the next sync. */
static const char *replaced;

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

static void replace(const char *path)
{
	FILE *other;

	assert_int_equal(unlink(path), 0);
	other = fopen(path, "wx");
	assert_non_null(other);
	assert_true(fputs("mine\n", other) > 0);
	assert_int_equal(fclose(other), 0);
}

int __wrap_fdatasync(int fd)
{
	if (replaced)
		replace(replaced);
	replaced = NULL;
	if (!is_sync_to_fail)
		return __real_fdatasync(fd);
	is_sync_to_fail = false;
	errno = EIO;
	return -1;
}

static void do_nothing(void *data)
{
	(void)data;
}

static void put_another(void *data)
{
	assert_int_equal(unlink(data), 0);
	close(open(data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
}

STORE_CASE(a_file_that_fails_to_be_synced_goes_and_no_other)
{
	is_sync_to_fail = true;
	assert_int_equal(migrate_make_file(h->path, 0600, do_nothing, NULL), -EIO);
	assert_int_equal(access(h->path, F_OK), -1);
	is_sync_to_fail = true;
	assert_int_equal(migrate_make_file(h->path, 0600, put_another, h->path), -EIO);
	assert_int_equal(access(h->path, F_OK), 0);
}

/* The filter applies to this process and its children, for good. */
static int forbid_links(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_linkat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;
}

STORE_CASE(where_nothing_is_linked_a_file_is_made_empty)
{
	struct made made = {.path = h->path};
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (forbid_links() < 0)
			_exit(2);
		_exit(migrate_make_file(h->path, 0600, count_made, &made) != -EOPNOTSUPP);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(access(h->path, F_OK), -1);
}

STORE_CASE(a_new_file_is_made_before_it_is_open)
{
	struct store_session_params params = {
		.name = "job", .job = "job-1", .path = h->path, .create = STORE_NEW};

	params.uid = getuid();
	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	harness_wait(h, STORE_MADE);
	assert_ptr_equal(h->answer.owner, h);
	harness_wait(h, STORE_OPENED);
}

STORE_CASE(a_taken_name_is_no_new_file)
{
	struct store_session_params params = {
		.name = "job", .job = "job-1", .path = h->path, .create = STORE_NEW};
	struct pollfd answer = {.fd = store_answer_fd(h->store), .events = POLLIN};
	int fd = open(h->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
	params.uid = getuid();
	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	assert_int_equal(poll(&answer, 1, HARNESS_WAIT_MS), 1);
	assert_true(store_next_answer(h->store, &h->answer));
	assert_int_equal(h->answer.kind, STORE_FAILED);
	assert_int_equal(h->answer.error, -EEXIST);
}

STORE_CASE(what_took_the_place_of_a_new_file_stays)
{
	struct store_session_params params = {
		.name = "job", .job = "job-1", .path = h->path, .create = STORE_RESUME};
	struct pollfd answer = {.fd = store_answer_fd(h->store), .events = POLLIN};
	char text[8] = "";
	FILE *other;

	replaced = h->path; /* the store's thread is told of it with the command */
	params.uid = getuid();
	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	harness_wait(h, STORE_MADE);
	store_answer_done(&h->answer);
	while (!store_next_answer(h->store, &h->answer))
		assert_int_equal(poll(&answer, 1, 20000), 1);
	assert_int_equal(h->answer.kind, STORE_FAILED);
	other = fopen(h->path, "r");
	assert_non_null(other);
	assert_non_null(fgets(text, sizeof(text), other));
	fclose(other);
	assert_string_equal(text, "mine\n");
	assert_int_equal(h->answer.error, -ESTALE);
}
