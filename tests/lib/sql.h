/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Questions to a database through a connection of the test's own, as a user's sqlite3 would ask,
 * and asserts that say which question had another answer. Tests; asserts through cmocka.
 */
#include <stdint.h>

struct sqlite3;

/* First column of the first row. Waits for as long as another connection holds the file. */
int64_t sql_number(const char *path, const char *sql);
/* The same as text, "" for NULL; valid until the next call. */
const char *sql_text(const char *path, const char *sql);
/* The number by a connection that is open. */
int64_t sql_number_of(struct sqlite3 *db, const char *sql);

#define assert_number(path, sql, expected)                                                         \
	sql_check_number(sql, sql_number(path, sql), (int64_t)(expected), __FILE__, __LINE__)
#define assert_text(path, sql, expected)                                                           \
	sql_check_text(sql, sql_text(path, sql), expected, __FILE__, __LINE__)

void sql_check_number(const char *sql, int64_t found, int64_t expected, const char *file, int line);
void sql_check_text(
	const char *sql, const char *found, const char *expected, const char *file, int line);
