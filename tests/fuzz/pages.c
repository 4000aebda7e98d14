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

#include "cli/query_private.h"
#include "proto/cleanup.h"
#include "tests/fuzz/bench.h"
#include "tests/fuzz/files.h"

#define PAGE_BYTES 512u /* three levels of them */
#define HEAD_BYTES 100u
#define ROWS	   2000u
#define PAGES_MAX  256u
#define COLUMNS	   7 /* of tree_dispatches.sql */

static char path[160];
static uint8_t *good, *bad;
static size_t count;
static unsigned pages[PAGES_MAX];
static size_t pages_count;

struct answer {
	uint64_t hash, rows;
	bool is_error;
};

static void add_number(struct answer *a, int64_t number, bool is_null)
{
	a->hash = (a->hash ^ (uint64_t)number ^ (uint64_t)is_null << 63) * 0x9e3779b97f4a7c15u;
	a->hash ^= a->hash >> 29;
}

static bool is_folded(int column)
{
	return column < 3 || column == 6;
}

/* All columns, and those of dispatches.sql. True: all of it came from the pages. */
static bool ask_rows(
	struct query *query, bool is_of_sqlite, struct answer *ret, struct answer *ret_folded)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(query, "tree_dispatches", &rows);

	*ret = *ret_folded = (struct answer){0};
	if (rows && is_of_sqlite)
		query_pages_free_p(&rows->pages);
	while (r == 0 && (r = query_next(rows)) > 0) {
		r = 0;
		ret->rows++;
		ret_folded->rows++;
		for (int i = 0; i < COLUMNS; i++) {
			int64_t number = query_integer(rows, i);
			bool is_null = query_is_null(rows, i);

			add_number(ret, number, is_null);
			if (is_folded(i))
				add_number(ret_folded, number, is_null);
		}
	}
	ret->is_error = ret_folded->is_error = r < 0;
	return rows && rows->pages;
}

static int take(void *context, const int64_t *numbers, unsigned nulls)
{
	struct answer *a = context;

	a->rows++;
	for (int i = 0; i < 4; i++)
		add_number(a, numbers[i], nulls >> i & 1);
	return 0;
}

static bool are_same(const struct answer *a, const struct answer *b)
{
	return a->rows == b->rows && a->hash == b->hash && a->is_error == b->is_error;
}

/* True: from the pages. */
static bool check(void)
{
	CLEANUP(query_free_p) struct query *query = NULL;
	struct answer rows, fold = {0}, sqlite, sqlite_folded, unused;
	char error[QUERY_ERROR_BYTES];
	bool is_of_pages;

	if (query_open(path, error, &query))
		return false;
	is_of_pages = ask_rows(query, false, &rows, &unused);
	(void)ask_rows(query, true, &sqlite, &sqlite_folded);
	FUZZ_MUST(are_same(&rows, &sqlite));
	fold.is_error = query_fold(query, "dispatches", take, &fold) < 0;
	FUZZ_MUST(are_same(&fold, &sqlite_folded));
	return is_of_pages;
}

/* Numbers of all lengths, NULLs, and ids with holes between. */
static void fill(sqlite3 *db)
{
	char sql[640];

	(void)snprintf(sql, sizeof(sql),
		"PRAGMA page_size=%u; WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n "
		"WHERE i + 1 < %u) INSERT INTO rtl_dispatch (shape_id, seq, start, duration, submit, "
		"tid, marker, call) SELECT i %% 5, i, CASE WHEN i %% 11 THEN 5000000000 + i * 1000 "
		"END, (1 << i %% 62) - (i %% 3), -(1 << i %% 62), 7, CASE i %% 4 WHEN 1 THEN i WHEN 2 "
		"THEN 0 WHEN 3 THEN 1 END, CASE WHEN i %% 2 THEN i * 300 END FROM n; "
		"DELETE FROM rtl_dispatch WHERE rowid %% 7 = 3; VACUUM",
		PAGE_BYTES, ROWS);
	FUZZ_MUST(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
}

static void find_pages(sqlite3 *db)
{
	sqlite3_stmt *all = NULL;

	FUZZ_MUST(sqlite3_prepare_v2(db,
			  "SELECT pageno FROM dbstat WHERE name = 'rtl_dispatch' ORDER BY path", -1,
			  &all, NULL) == SQLITE_OK);
	while (pages_count < PAGES_MAX && sqlite3_step(all) == SQLITE_ROW)
		pages[pages_count++] = (unsigned)sqlite3_column_int(all, 0);
	sqlite3_finalize(all);
	FUZZ_MUST(pages_count > 60);
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
	find_pages(db);
	sqlite3_close(db);
	read_good();
	FUZZ_MUST(check());
	return 0;
}

/* With its upper bit: in the cell that its next seven say, of a leaf. */
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
