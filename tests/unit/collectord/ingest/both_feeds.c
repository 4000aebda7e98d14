// SPDX-License-Identifier: MIT
/* Runs the tests of its program twice: SQLite copies the rows of a feed, then they are bound. */
#include <sqlite3.h>

#include "collectord/db/rows/row_feed.h"
#include "tests/lib/test.h"

int main(void)
{
	int failed = test_run(NULL, NULL);

	feed_bind_rows();
	return failed + test_run(NULL, NULL);
}
