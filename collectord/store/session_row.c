/* SPDX-License-Identifier: MIT */
/* What a file holds of a session: its row and its meta data. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collectord/db/database.h"
#include "collectord/ingest/process/ranks.h"
#include "collectord/store/internal.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/base/format.h"

/* Bytes of a name that are kept, so that a suffix still fits into a file name. */
#define NAME_STEM_BYTES 100

void session_row_boot_id(char ret[SESSION_ROW_BOOT_BYTES])
{
	CLEANUP(close_p) int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, ret, SESSION_ROW_BOOT_BYTES - 1);

	ret[n > 0 ? n : 0] = 0;
	ret[strcspn(ret, "\n")] = 0;
}

bool session_row_is_its_own(const struct store_session *session, sqlite3_stmt *row)
{
	const char *job = (const char *)sqlite3_column_text(row, 2);

	return sqlite3_column_type(row, 1) != SQLITE_NULL &&
	       sqlite3_column_int64(row, 1) == session->uid &&
	       (job && session->job ? !strcmp(job, session->job) : !job && !session->job);
}

/* The first command that was stored stays, whatever a later runner calls it. */
static int take_row(struct store_session *session, sqlite3_stmt *row)
{
	const char *command = (const char *)sqlite3_column_text(row, 4);
	char *copy = command ? strdup(command) : NULL;

	session->id = sqlite3_column_int64(row, 0);
	session->start_realtime_ns = (uint64_t)sqlite3_column_int64(row, 3);
	if (!copy)
		return command ? -ENOMEM : 0;
	free(session->command);
	session->command = copy;
	return 0;
}

/* 1: the row of its name is of this user and job; 0: it is another's; -ENOENT: there is none. */
static int find_row(struct store_session *session, struct writer *writer)
{
	sqlite3_stmt *find = writer->statements.at[ST_SESSION_FIND];
	bool is_its_own = false;
	int step, r = 0;

	database_bind_text(find, 1, session->name);
	step = sqlite3_step(find);
	if (step == SQLITE_ROW)
		is_its_own = session_row_is_its_own(session, find);
	if (is_its_own)
		r = take_row(session, find);
	sqlite3_reset(find);
	if (r < 0)
		return r;
	return step == SQLITE_ROW    ? is_its_own
	       : step == SQLITE_DONE ? -ENOENT
				     : database_errno(step);
}

static int put_row(struct store_session *session, struct writer *writer)
{
	sqlite3_stmt *put = writer->statements.at[ST_SESSION_PUT];
	int r;

	session->start_realtime_ns = clock_realtime_ns();
	database_bind_text(put, 1, session->name);
	database_bind_text(put, 2, session->job);
	sqlite3_bind_int64(put, 3, session->uid);
	database_bind_text(put, 4, session->command);
	database_bind_text(put, 5, session->host);
	sqlite3_bind_int64(put, 6, (int64_t)clock_boottime_ns());
	sqlite3_bind_int64(put, 7, (int64_t)session->start_realtime_ns);
	r = database_run(put);
	if (r == 0)
		session->id = sqlite3_last_insert_rowid(writer->db);
	return r;
}

static int open_row_again(struct store_session *session, struct writer *writer)
{
	sqlite3_stmt *again = writer->statements.at[ST_SESSION_OPEN_AGAIN];

	sqlite3_bind_int64(again, 1, session->id);
	return database_run(again);
}

static int put_meta(struct store_session *session, struct writer *writer)
{
	char boot_id[SESSION_ROW_BOOT_BYTES];
	int r = writer_put_meta_number(writer, "complete", 0);

	session_row_boot_id(boot_id);
	if (r == 0)
		r = writer_put_meta(writer, "boot_id", boot_id);
	if (r == 0)
		r = writer_put_meta_first(writer, "command", session->command);
	return r == 0 ? writer_put_meta_first(writer, "host", session->host) : r;
}

int session_row_put(struct store_session *session, struct writer *writer)
{
	int r = put_row(session, writer);

	return r == 0 ? put_meta(session, writer) : r;
}

int session_row_take_name(struct store_session *session, const char *first, int n)
{
	uint64_t now_ns = clock_realtime_ns();
	time_t now_s = (time_t)(now_ns / 1000000000u);
	char when[32], *name;
	struct tm tm;

	if (n == 1)
		name = strdup(first);
	else if (n <= SESSION_ROW_NAMES_NUMBERED)
		name = format_new("%.*s-%d", NAME_STEM_BYTES, first, n);
	else if (gmtime_r(&now_s, &tm) && strftime(when, sizeof(when), "%Y%m%dT%H%M%S", &tm))
		name = format_new("%.*s-%s.%09u", NAME_STEM_BYTES, first, when,
			(unsigned)(now_ns % 1000000000u));
	else
		return -EOVERFLOW;
	if (!name)
		return -ENOMEM;
	free(session->name);
	session->name = name;
	return 0;
}

/*
 * In a shared file a job continues its own row of that name, even a closed one, since a late
 * process may find it closed. A name of another job or user gets a suffix.
 */
static int name_row(struct store_session *session, struct writer *writer)
{
	CLEANUP(free_p) char *first = strdup(session->name);

	for (int i = 1; first && i <= SESSION_ROW_NAMES_MAX; i++) {
		int r = session_row_take_name(session, first, i);

		if (r == 0)
			r = find_row(session, writer);
		if (r == -ENOENT)
			return put_row(session, writer);
		if (r < 0)
			return r;
		if (r == 1 && session->create == STORE_RESUME)
			return open_row_again(session, writer);
	}
	return first ? -EEXIST : -ENOMEM;
}

int session_row_open(struct store_session *session, struct store_database *database)
{
	struct writer *writer = database->writer;
	int r;

	r = writer_begin(writer);
	if (r < 0)
		return r;
	r = name_row(session, writer);
	if (r == 0)
		r = put_meta(session, writer);
	if (r == 0)
		r = writer_commit(writer);
	if (r < 0 && writer_rollback(writer) < 0)
		database->must_reload = true;
	return r;
}

/* ---- meta data ----------------------------------------------------------------------------- */

void session_row_controls_key(int64_t session_id, char ret[SESSION_ROW_KEY_BYTES])
{
	snprintf(ret, SESSION_ROW_KEY_BYTES, "controls:%" PRId64, session_id);
}

int session_row_put_controls(struct writer *writer, int64_t session_id, const char *text)
{
	sqlite3_stmt *drop = writer->statements.at[ST_META_DROP];
	char key[SESSION_ROW_KEY_BYTES], boot_id[SESSION_ROW_BOOT_BYTES];
	CLEANUP(free_p) char *value = NULL;

	session_row_controls_key(session_id, key);
	if (!text) {
		database_bind_text(drop, 1, key);
		return database_run(drop);
	}
	session_row_boot_id(boot_id);
	value = format_new("%s\n%s", boot_id, text);
	return value ? writer_put_meta(writer, key, value) : -ENOMEM;
}

/* The loop thread has checked the text: each line is three fields between tabs (runner.c). */
int session_row_put_categories(struct writer *writer, const char *text)
{
	sqlite3_stmt *put = writer->statements.at[ST_CATEGORY_PUT];
	CLEANUP(free_p) char *copy = strdup(text);
	char *rest = copy, *line;
	int64_t position = 0;
	int r = copy ? database_run(writer->statements.at[ST_CATEGORIES_DROP]) : -ENOMEM;

	for (const char *at = text; *at; at++)
		position -= *at == '\n';
	while (r == 0 && position < 0 && (line = strsep(&rest, "\n"))) {
		const char *category = strsep(&line, "\t"), *collective = strsep(&line, "\t");

		sqlite3_bind_int64(put, 1, position++);
		database_bind_text(put, 2, category);
		if (collective && *collective)
			database_bind_text(put, 3, collective);
		database_bind_text(put, 4, line ? line : "");
		r = database_run(put);
	}
	return r;
}

int session_row_find_ranks(struct store_session *session, struct writer *writer)
{
	int r = ranks_update(writer, session->id);
	bool is_new = r > 0;

	for (struct store_process *p = session->processes; r >= 0 && p; p = p->next) {
		if (!p->process)
			continue;
		p->process->is_rank_new = false;
		if (!is_new)
			continue;
		r = ranks_reload(writer, p->process);
		if (r == 0)
			stat_fill_process(p);
	}
	return r < 0 ? r : 0;
}
