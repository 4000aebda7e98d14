// SPDX-License-Identifier: MIT
#include "cli/export/rows/tracks.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/base/array.h"

struct lane {
	int64_t last_start_ns;
	size_t open; /* number of ends */
	int64_t ends[TRACK_DEPTH];
};

struct track {
	struct lane *lanes;
	size_t count;
};

void tracks_done(struct tracks *tracks)
{
	for (size_t i = 0; i < tracks->count; i++)
		free(tracks->items[i].lanes);
	free(tracks->items);
	idmap_done(&tracks->index);
	*tracks = (struct tracks){0};
}

static struct track *find_track(struct tracks *tracks, int64_t key)
{
	uint32_t *at = idmap_at(&tracks->index, key);
	struct track *grown;

	if (!at)
		return NULL;
	if (*at != IDMAP_NONE)
		return tracks->items + *at;
	grown = grow_by_one(tracks->items, tracks->count, sizeof(*grown));
	if (!grown)
		return NULL;
	tracks->items = grown;
	*at = (uint32_t)tracks->count;
	grown[tracks->count] = (struct track){0};
	return grown + tracks->count++;
}

/* Forgets what has ended by the lane's last start; no event may start before that. */
static bool fits(struct lane *lane, size_t depth, int64_t start_ns, int64_t end_ns)
{
	size_t open = lane->open;

	if (open && start_ns < lane->last_start_ns)
		return false;
	while (open && lane->ends[open - 1] <= start_ns)
		open--;
	if (open == depth || (open && end_ns > lane->ends[open - 1]))
		return false;
	lane->last_start_ns = start_ns;
	lane->ends[open] = end_ns;
	lane->open = open + 1;
	return true;
}

int tracks_place(struct tracks *tracks, int64_t key, bool may_nest, int64_t start_ns,
	int64_t end_ns, bool *ret_is_new)
{
	struct track *track = find_track(tracks, key);
	struct lane *grown;

	*ret_is_new = false;
	if (!track)
		return -ENOMEM;
	for (size_t i = 0; i < track->count; i++)
		if (fits(track->lanes + i, may_nest ? TRACK_DEPTH : 1, start_ns, end_ns))
			return (int)i;
	if (track->count == TRACK_LANES)
		return -EXFULL;
	grown = grow_by_one(track->lanes, track->count, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	track->lanes = grown;
	grown[track->count] = (struct lane){.last_start_ns = start_ns, .open = 1, .ends = {end_ns}};
	*ret_is_new = true;
	return (int)track->count++;
}
