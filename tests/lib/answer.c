// SPDX-License-Identifier: MIT
#include "tests/lib/answer.h"

#define TAKEN_COLUMNS 4 /* of the query dispatches */

void answer_add(struct answer *answer, int64_t number, bool is_null)
{
	uint64_t hash = answer->hash ^ (uint64_t)number ^ (uint64_t)is_null << 63;

	hash *= 0x9e3779b97f4a7c15u;
	answer->hash = hash ^ hash >> 29;
}

int answer_take(void *answer, const int64_t *numbers, unsigned nulls)
{
	struct answer *a = answer;

	a->rows++;
	for (int i = 0; i < TAKEN_COLUMNS; i++)
		answer_add(a, numbers[i], nulls >> i & 1);
	return 0;
}

bool answer_is_same(const struct answer *a, const struct answer *b)
{
	return a->rows == b->rows && a->hash == b->hash && a->is_error == b->is_error;
}

size_t answer_pages(sqlite3 *db, unsigned *pages, size_t capacity)
{
	static const char sql[] = "SELECT pageno FROM dbstat WHERE name = 'rtl_dispatch' ORDER BY path";
	sqlite3_stmt *all = NULL;
	size_t count = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &all, NULL) != SQLITE_OK)
		return 0;
	while (count < capacity && sqlite3_step(all) == SQLITE_ROW)
		pages[count++] = (unsigned)sqlite3_column_int(all, 0);
	sqlite3_finalize(all);
	return count;
}
