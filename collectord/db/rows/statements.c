/* SPDX-License-Identifier: MIT */
#include "collectord/db/rows/statements.h"

#include "collectord/db/database.h"

#define STATEMENT_SQL(name, sql) sql,
static const char *const statement_sql[] = {STATEMENTS(STATEMENT_SQL)};

int statements_prepare(sqlite3 *db, struct statements *statements)
{
	int r;

	for (unsigned i = 0; i < ST_COUNT; i++) {
		r = database_prepare(db, &statements->at[i], statement_sql[i]);
		if (r < 0) {
			statements_done(statements);
			return r;
		}
	}
	return 0;
}

void statements_done(struct statements *statements)
{
	for (unsigned i = 0; i < ST_COUNT; i++) {
		sqlite3_finalize(statements->at[i]);
		statements->at[i] = NULL;
	}
}
