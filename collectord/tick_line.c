/* SPDX-License-Identifier: MIT */
#include "collectord/tick_line.h"

#include <errno.h>
#include <string.h>

#define NS_PER_S 1000000000u

/* Hostile ticks and anchors are 64 bits wide; no product of two of them overflows this. */
typedef __int128 wide;

void tick_line_init(struct tick_line *line, uint64_t hz)
{
	*line = (struct tick_line){.hz = hz};
}

/* Old anchors lose every other of the older half; the last seconds stay as dense as they came. */
static void thin(struct tick_line *line)
{
	unsigned half = PROCESS_ANCHORS_MAX / 2, kept = 0;

	for (unsigned i = 0; i < half; i += 2)
		line->anchor[kept++] = line->anchor[i];
	memmove(line->anchor + kept, line->anchor + half,
		(line->count - half) * sizeof(line->anchor[0]));
	line->count -= half - kept;
}

/* The first anchor with a tick above @tick; anchors come in order, so from the end. */
static unsigned place_of(const struct tick_line *line, uint64_t tick)
{
	unsigned i = line->count;

	while (i > 0 && line->anchor[i - 1].tick > tick)
		i--;
	return i;
}

int tick_line_add(struct tick_line *line, const struct tick_anchor *anchor)
{
	unsigned i = place_of(line, anchor->tick);

	if (i > 0 && line->anchor[i - 1].tick == anchor->tick)
		return line->anchor[i - 1].boottime_ns == anchor->boottime_ns ? 0 : -EINVAL;
	if (i > 0 && line->anchor[i - 1].boottime_ns >= anchor->boottime_ns)
		return -EINVAL;
	if (i < line->count && line->anchor[i].boottime_ns <= anchor->boottime_ns)
		return -EINVAL;
	if (line->count == PROCESS_ANCHORS_MAX) {
		thin(line);
		i = place_of(line, anchor->tick);
	}
	memmove(line->anchor + i + 1, line->anchor + i,
		(line->count - i) * sizeof(line->anchor[0]));
	line->anchor[i] = *anchor;
	line->count++;
	return 1;
}

static int fit(wide ns, int64_t *ret_ns)
{
	if (ns < 0 || ns > INT64_MAX)
		return -ERANGE;
	*ret_ns = (int64_t)ns;
	return 0;
}

/* Rounded down for both signs, so that the line stays monotone through its anchors. */
static wide scaled(wide ticks, uint64_t ns, uint64_t per)
{
	wide product = ticks * (wide)ns;
	wide quotient = product / (wide)per;

	return quotient - (product % (wide)per < 0);
}

int tick_line_convert(const struct tick_line *line, uint64_t tick, int64_t *ret_ns)
{
	const struct tick_anchor *a, *b;
	uint64_t ns = NS_PER_S, per = line->hz;
	unsigned i;

	if (!line->hz || !line->count)
		return -ENODATA;
	i = place_of(line, tick);
	a = &line->anchor[i ? i - 1 : 0];
	if (i > 0 && i < line->count) {
		b = &line->anchor[i];
		ns = b->boottime_ns - a->boottime_ns;
		per = b->tick - a->tick;
	}
	return fit((wide)a->boottime_ns + scaled((wide)tick - (wide)a->tick, ns, per), ret_ns);
}

int tick_line_duration(const struct tick_line *line, uint64_t ticks, int64_t *ret_ns)
{
	if (!line->hz)
		return -ENODATA;
	return fit((wide)ticks * NS_PER_S / line->hz, ret_ns);
}
