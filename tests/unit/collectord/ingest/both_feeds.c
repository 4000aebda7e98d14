// SPDX-License-Identifier: MIT
#include "tests/unit/collectord/ingest/both_feeds.h"

#include "collectord/db/rows/row_feed.h"
#include "tests/lib/test.h"

bool feeds_are_bound;

int main(void)
{
	int failed = test_run(NULL, NULL);

	feed_bind_rows();
	feeds_are_bound = true;
	return failed + test_run(NULL, NULL);
}
