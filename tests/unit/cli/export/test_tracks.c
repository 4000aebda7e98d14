// SPDX-License-Identifier: MIT
/* Events of a track lie in lanes in which they nest. */
#include <errno.h>

#include "cli/export/rows/tracks.h"
#include "tests/lib/test.h"

/* Places an event of track @key and checks its lane; @lane is a new one if @is_new. */
static void place(struct tracks *tracks, int64_t key, bool may_nest, int64_t start_ns,
	int64_t end_ns, int lane, bool is_new)
{
	bool found_new = false;

	assert_int_equal(tracks_place(tracks, key, may_nest, start_ns, end_ns, &found_new), lane);
	assert_int_equal(found_new, is_new);
}

TEST_CASE(events_that_overlap_go_to_different_lanes)
{
	struct tracks tracks = {0};

	place(&tracks, 1, false, 0, 10, 0, true);
	place(&tracks, 1, false, 5, 15, 1, true);
	place(&tracks, 2, false, 5, 15, 0, true); /* another track */
	place(&tracks, 1, false, 10, 20, 0, false);
	place(&tracks, 1, false, 12, 13, 2, true); /* it lies within both */
	place(&tracks, 1, false, 20, 30, 0, false);
	tracks_done(&tracks);
	assert_int_equal(tracks.count, 0);
}

TEST_CASE(an_event_may_lie_within_another_and_not_across_its_end)
{
	struct tracks tracks = {0};

	place(&tracks, 1, true, 0, 100, 0, true);
	place(&tracks, 1, true, 10, 50, 0, false);
	place(&tracks, 1, true, 10, 50, 0, false);
	place(&tracks, 1, true, 40, 60, 1, true); /* across the end at 50 */
	place(&tracks, 1, true, 50, 100, 0, false);
	place(&tracks, 1, true, 30, 35, 2, true); /* too late for both */
	tracks_done(&tracks);
}

TEST_CASE(lanes_and_depths_have_a_limit)
{
	struct tracks tracks = {0};
	bool is_new;

	for (int i = 0; i < TRACK_DEPTH; i++)
		place(&tracks, 1, true, i, 1000 - i, 0, i == 0);
	place(&tracks, 1, true, TRACK_DEPTH, 500, 1, true);
	for (int i = 0; i < TRACK_LANES; i++)
		place(&tracks, 2, false, i, 1000, i, true);
	assert_int_equal(tracks_place(&tracks, 2, false, 999, 1001, &is_new), -EXFULL);
	assert_false(is_new);
	place(&tracks, 2, false, 1000, 1001, 0, false);
	tracks_done(&tracks);
}
