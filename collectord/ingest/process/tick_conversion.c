/* SPDX-License-Identifier: MIT */
#include "collectord/ingest/process/tick_conversion.h"

#include <errno.h>
#include <string.h>

#define NS_PER_S	 TICK_LINE_NS_PER_S
/* Crystals are accurate to 50 ppm; a deviation of ten times that is not drift. */
#define RATE_PART	 2000u
/* The error of an anchor that does not state one. */
#define ERROR_UNKNOWN_NS 20000u

/* Untrusted ticks and anchors have 64 bits; the product of two of them fits in this type. */
typedef __int128 wide;

void tick_line_init(struct tick_line *line, uint64_t hz)
{
	*line = (struct tick_line){0};
	tick_line_set_rate(line, hz);
}

void tick_line_set_rate(struct tick_line *line, uint64_t hz)
{
	line->hz = hz;
	line->tick_ns = hz && NS_PER_S % hz == 0 ? NS_PER_S / hz : 0;
}

/* Drops every other anchor of the older half; the newer half stays as dense as it came. */
static void thin(struct tick_line *line)
{
	unsigned half = PROCESS_ANCHORS_MAX / 2, kept = 0;

	for (unsigned i = 0; i < half; i += 2)
		line->anchor[kept++] = line->anchor[i];
	memmove(line->anchor + kept, line->anchor + half,
		(line->count - half) * sizeof(line->anchor[0]));
	line->count -= half - kept;
}

/*
 * Returns the first anchor with a tick above @tick. Searches from the end, because anchors come in
 * order.
 */
static unsigned place_of(const struct tick_line *line, uint64_t tick)
{
	unsigned i = line->count;

	while (i > 0 && line->anchor[i - 1].tick > tick)
		i--;
	return i;
}

/* How far two anchors may disagree, at the nominal rate. */
static wide allowed_ns(
	const struct tick_line *line, const struct tick_anchor *a, const struct tick_anchor *b)
{
	wide error_ns = (wide)(a->error_ns ? a->error_ns : ERROR_UNKNOWN_NS) +
			(b->error_ns ? b->error_ns : ERROR_UNKNOWN_NS);

	return error_ns + NS_PER_S / line->hz + (b->boottime_ns - a->boottime_ns) / RATE_PART;
}

/*
 * Returns 1 if there are fewer ticks between @a and @b than their time implies, -1 if there are
 * more, 0 if they fit.
 */
static int compare_with_rate(
	const struct tick_line *line, const struct tick_anchor *a, const struct tick_anchor *b)
{
	wide ns = b->boottime_ns - a->boottime_ns, allowed, of_ticks;
	wide ticks = (wide)(b->tick - a->tick) * NS_PER_S;

	if (!line->hz)
		return 0;
	allowed = allowed_ns(line, a, b);
	of_ticks = ticks / line->hz; /* multiplied by a false rate, even this type would overflow */
	if (ns - allowed > of_ticks)
		return 1;
	return ns + allowed < of_ticks + (ticks % line->hz > 0) ? -1 : 0;
}

static bool has_place(const struct tick_line *line, unsigned i, const struct tick_anchor *anchor)
{
	if (i > 0 && (line->anchor[i - 1].tick == anchor->tick ||
			     line->anchor[i - 1].boottime_ns >= anchor->boottime_ns))
		return false;
	return i == line->count || line->anchor[i].boottime_ns > anchor->boottime_ns;
}

/*
 * Called when the anchor has no place: checks whether it is the first one of a counter that
 * restarted.
 */
static int restart(struct tick_line *line, const struct tick_anchor *anchor)
{
	const struct tick_anchor *last = &line->anchor[line->count - 1];

	if (anchor->tick >= last->tick || anchor->boottime_ns <= last->boottime_ns)
		return -EINVAL;
	line->before = *last;
	line->anchor[0] = *anchor;
	line->count = 1;
	line->since_ns = anchor->boottime_ns;
	return TICK_LINE_RESTARTED;
}

int tick_line_add(struct tick_line *line, const struct tick_anchor *anchor)
{
	unsigned i = place_of(line, anchor->tick);

	line->span = (struct tick_span){0};
	if (anchor->boottime_ns < line->since_ns)
		return TICK_LINE_KNOWN;
	if (i > 0 && line->anchor[i - 1].tick == anchor->tick &&
		line->anchor[i - 1].boottime_ns == anchor->boottime_ns)
		return TICK_LINE_KNOWN;
	if (!has_place(line, i, anchor))
		return restart(line, anchor);
	if (line->count == PROCESS_ANCHORS_MAX) {
		thin(line);
		i = place_of(line, anchor->tick);
	}
	memmove(line->anchor + i + 1, line->anchor + i,
		(line->count - i) * sizeof(line->anchor[0]));
	line->anchor[i] = *anchor;
	line->count++;
	if (i > 0 && i + 1 == line->count && compare_with_rate(line, &line->anchor[i - 1], anchor))
		return TICK_LINE_STEPPED;
	return TICK_LINE_ADDED;
}

static int fit(wide ns, int64_t *ret_ns)
{
	if (ns < 0 || ns > INT64_MAX)
		return -ERANGE;
	*ret_ns = (int64_t)ns;
	return 0;
}

/* Rounds down for both signs, so that the line stays monotone through its anchors. */
static wide scaled(wide ticks, uint64_t ns, uint64_t per)
{
	wide product = ticks * (wide)ns;
	wide quotient = product / (wide)per;

	return quotient - (product % (wide)per < 0);
}

static wide from(const struct tick_line *line, const struct tick_anchor *anchor, uint64_t tick)
{
	return (wide)anchor->boottime_ns +
	       scaled((wide)tick - (wide)anchor->tick, NS_PER_S, line->hz);
}

/*
 * True for a kernel that ended before the counter restarted and was read after it. The same ticks
 * come again, so the interpretation nearer to the last anchor counts.
 */
static bool is_of_before(const struct tick_line *line, uint64_t tick, int64_t *ret_ns)
{
	const struct tick_anchor *last = &line->anchor[line->count - 1];
	wide now = last->boottime_ns, ns;

	if (!line->since_ns || tick <= last->tick)
		return false;
	ns = from(line, &line->before, tick);
	return ns <= (wide)line->since_ns && now - ns < from(line, last, tick) - now &&
	       !fit(ns, ret_ns);
}

/* Caches the conversion that holds from anchor @a to @b; with NULL, as far as it can. */
static void set_span(struct tick_line *line, const struct tick_anchor *a,
	const struct tick_anchor *b, uint64_t ns, uint64_t per)
{
	uint64_t ticks = UINT64_MAX / ns;

	if (b && b->tick - a->tick < ticks)
		ticks = b->tick - a->tick;
	if (a->boottime_ns > INT64_MAX || ticks * ns / per > INT64_MAX - a->boottime_ns)
		return;
	line->span = (struct tick_span){a->tick, ticks, a->boottime_ns, ns, per};
}

int tick_line_find(struct tick_line *line, uint64_t tick, int64_t *ret_ns)
{
	const struct tick_anchor *a, *b = NULL;
	uint64_t ns = NS_PER_S, per = line->hz;
	unsigned i;

	if (!line->hz || !line->count)
		return -ENODATA;
	if (is_of_before(line, tick, ret_ns))
		return 0;
	i = place_of(line, tick);
	a = &line->anchor[i ? i - 1 : 0];
	if (i > 0 && i < line->count) {
		b = &line->anchor[i];
		if (compare_with_rate(line, a, b) <= 0) {
			ns = b->boottime_ns - a->boottime_ns;
			per = b->tick - a->tick;
		} else {
			/* The nearer anchor counts, so no single span holds here. */
			if (tick - a->tick > b->tick - tick)
				a = b;
			i = 0;
		}
	}
	if (i > 0 && !line->since_ns)
		set_span(line, a, b, ns, per);
	return fit((wide)a->boottime_ns + scaled((wide)tick - (wide)a->tick, ns, per), ret_ns);
}

int tick_line_long_duration(const struct tick_line *line, uint64_t ticks, int64_t *ret_ns)
{
	if (!line->hz)
		return -ENODATA;
	return fit((wide)ticks * NS_PER_S / line->hz, ret_ns);
}

uint64_t tick_line_error(const struct tick_line *line, uint64_t tick)
{
	unsigned i = place_of(line, tick);
	const struct tick_anchor *near = &line->anchor[i ? i - 1 : 0];
	uint64_t away;
	wide error_ns;

	if (!line->hz || !line->count)
		return UINT64_MAX;
	if (i > 0 && i < line->count) {
		error_ns = allowed_ns(line, near, &line->anchor[i]);
	} else {
		away = tick > near->tick ? tick - near->tick : near->tick - tick;
		error_ns = (wide)(near->error_ns ? near->error_ns : ERROR_UNKNOWN_NS) +
			   NS_PER_S / line->hz + (wide)away * NS_PER_S / line->hz / RATE_PART;
	}
	return error_ns < UINT64_MAX ? (uint64_t)error_ns : UINT64_MAX;
}
