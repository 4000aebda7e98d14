// SPDX-License-Identifier: MIT
/*
 * fuzz.pages: a closed file whose pages of dispatches, or whose head, are damaged: what is read from
 * its pages is what SQLite alone reads, and ends where that ends. An input is a row of changes: a
 * page of the table (0: the head of the file), where in it or in a cell, how many bytes, those; of
 * none: the whole page is another one of the table.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/database/query_internal.h"
#include "proto/base/cleanup.h"
#include "tests/fuzz/bench.h"
#include "tests/fuzz/files.h"
#include "tests/lib/answer.h"

#define PAGE_BYTES 512u /* three levels of them */
#define HEAD_BYTES 100u
#define ROWS	   2000u
#define PAGES_MAX  256u
#define COLUMNS	   7 /* of the query tree_dispatches */
#define FOLDED	   4 /* of the query dispatches */

static char path[160];
static uint8_t *good, *bad;
static size_t count;
static unsigned pages[PAGES_MAX];
static size_t pages_count;

/* All columns. True: all of it came from the pages. */
static bool ask_rows(struct query *query, bool is_of_sqlite, struct answer *ret)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(query, "tree_dispatches", &rows);

	*ret = (struct answer){0};
	if (rows && is_of_sqlite)
		query_pages_free_p(&rows->pages);
	while (r == 0 && (r = query_next(rows)) > 0) {
		r = 0;
		ret->rows++;
		for (int i = 0; i < COLUMNS; i++)
			answer_add(ret, query_integer(rows, i), query_is_null(rows, i));
	}
	ret->is_error = r < 0;
	return rows && rows->pages;
}

/* Those of the query dispatches, and no other: SQLite sees that the end of a record is wrong where it is
 * asked for what lies there. */
static void ask_folded(struct query *query, struct answer *ret)
{
	static const char sql[] = "SELECT shape_id, start, duration, call FROM rtl_dispatch";
	sqlite3_stmt *all = NULL;
	int code = sqlite3_prepare_v2(query->db, sql, -1, &all, NULL);

	*ret = (struct answer){0};
	while (code == SQLITE_OK && (code = sqlite3_step(all)) == SQLITE_ROW) {
		code = SQLITE_OK;
		ret->rows++;
		for (int i = 0; i < FOLDED; i++)
			answer_add(ret, sqlite3_column_int64(all, i),
				sqlite3_column_type(all, i) == SQLITE_NULL);
	}
	ret->is_error = code != SQLITE_DONE;
	sqlite3_finalize(all);
}

/* True: from the pages. */
static bool check(void)
{
	CLEANUP(query_free_p) struct query *query = NULL;
	struct answer rows, fold = {0}, sqlite;
	char error[QUERY_ERROR_BYTES];
	bool is_of_pages;

	if (query_open(path, error, &query))
		return false;
	is_of_pages = ask_rows(query, false, &rows);
	(void)ask_rows(query, true, &sqlite);
	FUZZ_MUST(answer_is_same(&rows, &sqlite));
	fold.is_error = query_fold(query, "dispatches", answer_take, &fold) < 0;
	ask_folded(query, &sqlite);
	FUZZ_MUST(answer_is_same(&fold, &sqlite));
	return is_of_pages;
}

/* Ids with holes between, too. */
static void fill(sqlite3 *db)
{
	char sql[800];

	(void)snprintf(sql, sizeof(sql),
		"PRAGMA page_size=%u; " ANSWER_ROWS_SQL
		" DELETE FROM rtl_dispatch WHERE rowid %% 7 = 3; VACUUM",
		PAGE_BYTES, ROWS);
	FUZZ_MUST(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
}

static void read_good(void)
{
	CLEANUP(close_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	FUZZ_MUST(fd >= 0 && fstat(fd, &st) == 0);
	count = (size_t)st.st_size;
	good = malloc(count);
	bad = malloc(count);
	FUZZ_MUST(good && bad && read(fd, good, count) == st.st_size);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	sqlite3 *db = NULL;

	(void)argc;
	(void)argv;
	files_init();
	snprintf(path, sizeof(path), "%s/pages.db", fuzz_folder());
	files_write_whole(FILE_CLOSED, path);
	FUZZ_MUST(sqlite3_open(path, &db) == SQLITE_OK);
	fill(db);
	pages_count = answer_pages(db, pages, PAGES_MAX);
	FUZZ_MUST(pages_count > 60);
	sqlite3_close(db);
	read_good();
	FUZZ_MUST(check());
	return 0;
}

/* The upper bit of @at chooses a place in a cell of a leaf; the next seven bits choose the cell. */
static size_t place_in(const uint8_t *page, size_t at, size_t size)
{
	const uint8_t *cell = page + 8 + 2 * (at >> 8 & 0x7f);

	return (at & 0x8000 ? (size_t)(cell[0] << 8 | cell[1]) + (at & 0xff) : at) % size;
}

static void change(struct tape *tape)
{
	unsigned which = (unsigned)tape_number(tape, 1);
	size_t size = which ? PAGE_BYTES : HEAD_BYTES, n;
	uint8_t *page = which ? bad + (pages[which % pages_count] - 1) * PAGE_BYTES : bad;
	size_t at = place_in(page, (size_t)tape_number(tape, 2), size);
	size_t want = (size_t)tape_number(tape, 1) % 32;
	const uint8_t *from;

	if (!want && which) {
		which = pages[tape_number(tape, 1) % pages_count];
		memcpy(page, good + (which - 1) * PAGE_BYTES, PAGE_BYTES);
		return;
	}
	from = tape_bytes(tape, want, &n);
	memcpy(page + at, from, n < size - at ? n : size - at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct tape tape = {data, bytes};
	CLEANUP(close_p) int fd = open(path, O_WRONLY | O_CLOEXEC);

	memcpy(bad, good, count);
	while (tape.left)
		change(&tape);
	FUZZ_MUST(fd >= 0 && pwrite(fd, bad, count, 0) == (ssize_t)count);
	(void)check();
	return 0;
}
