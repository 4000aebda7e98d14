// SPDX-License-Identifier: MIT
/* The rules about one rank among others, which is slow or late. */
#include "cli/reason/reason_judging.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/reason/pace.h"

/* ---- computation ---------------------------------------------------------------------------- */

struct reason_sum reason_computation(
	const struct reason_figures *f, const struct reason_lane *lane, size_t kind)
{
	return f->kinds[kind].class == CATEGORY_COMPUTATION ? lane->kinds[kind]
							    : (struct reason_sum){0};
}

const char *reason_name_kind(const struct reason_kind *kind, char buffer[48])
{
	if (!strcmp(kind->name, "gemm"))
		return "GEMMs";
	snprintf(buffer, 48, "%s kernels", kind->name);
	return buffer;
}

/* ---- ranks ---------------------------------------------------------------------------------- */

static const struct reason_lane *lane_at(const struct reason_figures *f, struct reason_place place)
{
	for (size_t i = 0; i < f->lane_count; i++)
		if (f->lanes[i].process_id == place.process_id &&
			f->lanes[i].gpu_id == place.gpu_id)
			return f->lanes + i;
	return NULL;
}

static void name_place(
	const struct reason_figures *f, struct reason_place place, char *ret, size_t bytes)
{
	const struct reason_lane *lane = lane_at(f, place);

	if (lane)
		reason_name_rank(f, lane, ret, bytes);
	else
		snprintf(ret, bytes, "process %" PRId64, place.process_id);
}

/* "Rank 5", "Ranks 2 and 3", "Ranks 0, 1, 2 and 5 others". */
static void name_stragglers(const struct reason_figures *f, char *ret, size_t bytes)
{
	const struct reason_straggler *s = &f->straggler;
	size_t named = s->count < REASON_NAMED_MAX ? s->count : REASON_NAMED_MAX, at = 0;
	char one[64];

	name_place(f, s->at[0], one, sizeof(one));
	reason_capitalize(one);
	if (s->count == 1) {
		snprintf(ret, bytes, "%s", one);
		return;
	}
	for (size_t i = 0; i < named && at < bytes; i++) {
		const struct reason_lane *lane = lane_at(f, s->at[i]);
		const char *before = !i ? "" : i + 1 == s->count ? " and " : ", ";
		int n;

		if (lane && lane->has_rank && strchr(one, ' ') == strrchr(one, ' '))
			n = snprintf(ret + at, bytes - at, "%s%s%" PRId64, i ? "" : "Ranks ",
				before, lane->rank);
		else {
			name_place(f, s->at[i], one, sizeof(one));
			if (!i)
				reason_capitalize(one);
			n = snprintf(ret + at, bytes - at, "%s%s", before, one);
		}
		at += n > 0 ? (size_t)n : 0;
	}
	if (named < s->count && at < bytes)
		snprintf(ret + at, bytes - at, " and %zu others", s->count - named);
}

static const char *unit_of(const struct reason_figures *f)
{
	return f->has_steps ? "step" : "time";
}

/* Says of each of several ranks what it does, where that is not the same of all. */
static void say_each(const struct reason_figures *f, char *ret, size_t bytes)
{
	static const char *const does[] = {[STRAGGLER_COMPUTE] = "computes longer",
		[STRAGGLER_COPY] = "copies longer",
		[STRAGGLER_TRANSFER] = "transfers longer",
		[STRAGGLER_HOST] = "idles, for its host submits late",
		[STRAGGLER_HELD] = "idles with work submitted",
		[STRAGGLER_IDLE] = "idles",
		[STRAGGLER_SEVERAL] = "is late for several things"};
	const struct reason_straggler *s = &f->straggler;
	size_t named = s->count < REASON_NAMED_MAX ? s->count : REASON_NAMED_MAX, at = 0;

	for (size_t i = 0; i < named && at < bytes; i++) {
		char rank[64];
		int n;

		name_place(f, s->at[i], rank, sizeof(rank));
		n = snprintf(
			ret + at, bytes - at, "%s%s %s", i ? ", " : "", rank, does[s->causes[i]]);
		at += n > 0 ? (size_t)n : 0;
	}
}

static bool have_known_causes(const struct reason_straggler *s)
{
	for (size_t i = 0; i < s->count && i < REASON_NAMED_MAX; i++)
		if (s->causes[i] == STRAGGLER_SEVERAL)
			return false;
	return s->count > 1 && s->count <= REASON_NAMED_MAX;
}

/* Says whether its GPU is slow or it has more work. */
static void say_compute(const struct reason_figures *f, char *ret, size_t bytes)
{
	const struct reason_straggler *s = &f->straggler;
	char reference[64];

	name_place(f, s->reference, reference, sizeof(reference));
	if (s->pace > 0 && s->pace_names < PACE_NAMES &&
		s->pace_kernel_ratio >= PACE_SLOW_FEW / 1e3)
		snprintf(ret, bytes, "%.40s takes %.2fx: more work in it, or a slow GPU",
			s->pace_kernel, s->pace_kernel_ratio);
	else if (s->is_pace_slow)
		snprintf(ret, bytes, "a slow GPU, the same kernels take %.2fx the median GPU's",
			s->pace);
	else if (s->pace > 0 && s->compute_ratio > 0)
		snprintf(ret, bytes,
			"more work, it computes %.2fx as long as %s and the same kernels take "
			"%.2fx",
			s->compute_ratio, reference, s->pace);
	else if (s->compute_ratio > 0)
		snprintf(
			ret, bytes, "it computes %.2fx as long as %s", s->compute_ratio, reference);
	else
		snprintf(ret, bytes, "it computes longer than %s", reference);
}

static void say_why(const struct reason_figures *f, char *ret, size_t bytes)
{
	static const char *const why[][2] = {
		[STRAGGLER_COPY] = {"its copies take longer", "their copies take longer"},
		[STRAGGLER_TRANSFER] = {"its transfers take longer", "their transfers take longer"},
		[STRAGGLER_HOST] = {"its host submits late", "their hosts submit late"},
		[STRAGGLER_HELD] = {"its GPU idles with work submitted",
			"their GPUs idle with work submitted"},
		[STRAGGLER_IDLE] = {"its GPU idles", "their GPUs idle"}};
	const struct reason_straggler *s = &f->straggler;
	char each[32], link[192], comm[200] = "";

	if (s->cause == STRAGGLER_COMPUTE) {
		say_compute(f, ret, bytes);
		return;
	}
	if (s->cause == STRAGGLER_SEVERAL && have_known_causes(s)) {
		say_each(f, ret, bytes);
		return;
	}
	if (s->cause == STRAGGLER_SEVERAL) {
		snprintf(ret, bytes, "%s",
			f->filtered ? "why is not known, for not all kernels were recorded, as was "
				      "asked"
				    : "several things");
		return;
	}
	reason_format_time(s->part_ns[s->cause] / (double)s->windows, each);
	if (s->has_comm)
		snprintf(comm, sizeof(comm), ", communicator %" PRIx64 " takes %.1fx the others",
			(uint64_t)s->comm, s->comm_ratio);
	reason_say_link(f, link, sizeof(link));
	if (!comm[0] && link[0] && s->cause == STRAGGLER_TRANSFER)
		snprintf(comm, sizeof(comm), ", %s", link);
	snprintf(ret, bytes, "%s (%s each time%s)", why[s->cause][s->count > 1], each, comm);
}

/* Names the kind of steps that has most of the cost although it does not take most of the time. */
static void say_kind(const struct reason_figures *f, char *ret, size_t bytes)
{
	ret[0] = '\0';
	for (size_t i = 0; i < f->step_kinds && f->step_kinds > 1; i++) {
		const struct reason_steps *steps = f->steps + i;

		if (steps->gain_pct < REASON_KIND_PCT || steps->window_pct > REASON_KIND_TIME_PCT)
			continue;
		if (steps->name[0])
			snprintf(ret, bytes, ", %.0f %% of it in \"%.32s\"", steps->gain_pct,
				steps->name);
		else
			snprintf(ret, bytes, ", %.0f %% of it in steps of kind %c", steps->gain_pct,
				step_kinds_letter(i));
	}
}

static bool say_straggler(struct judging *j)
{
	const struct reason_figures *f = j->figures;
	const struct reason_straggler *s = &f->straggler;
	char ranks[160], why[256], since[64] = "", kind[80];

	name_stragglers(f, ranks, sizeof(ranks));
	say_why(f, why, sizeof(why));
	say_kind(f, kind, sizeof(kind));
	if (f->waiting.has_change)
		snprintf(since, sizeof(since), ", since step %" PRId64 " (%.2fx)",
			f->waiting.change_number, f->waiting.change_ratio);
	j->reason->lane = lane_at(f, s->at[0]);
	reason_say(j, "%s %s%s waited for, which costs %s%.0f %% of the %s%s%s: %s", ranks,
		s->count > 1 ? "are" : "is", s->is_in_turn ? " in turn" : "",
		s->is_at_most ? "at most "
		: s->is_about ? "about "
			      : "",
		s->cost_pct, unit_of(f), since, kind, why);
	if (kind[0])
		reason_say_hint(j, "rtl timeline --by kind shows each");
	return true;
}

static bool has_straggler(const struct judging *j)
{
	return j->figures->straggler.is_found && j->figures->straggler.cost_pct >= REASON_LATE_PCT;
}

/*
 * Where it was recorded what waits for what the gain can be predicted, and the cost is an upper
 * bound of it.
 */
static void add_whatif(struct judging *j)
{
	const struct reason_lane *lane = j->reason->lane;
	char hint[REASON_HINT_BYTES];

	if (!j->figures->has_edges || !lane || !lane->has_rank)
		return;
	memcpy(hint, j->reason->hint, sizeof(hint));
	reason_say_hint(j,
		"%.160s, and rtl whatif --rank %" PRId64 " what it would gain as the others", hint,
		lane->rank);
}

bool reason_slow_rank(struct judging *j)
{
	const struct reason_straggler *s = &j->figures->straggler;

	if (!has_straggler(j) || s->cause != STRAGGLER_COMPUTE || !say_straggler(j))
		return false;
	if (!j->reason->hint[0])
		reason_say_hint(j, "rtl diagnose compares its kernels with the others'");
	add_whatif(j);
	return true;
}

bool reason_late_rank(struct judging *j)
{
	if (!has_straggler(j) || !say_straggler(j))
		return false;
	if (j->figures->straggler.cause == STRAGGLER_HOST && !j->figures->has_calls)
		reason_say_hint(j, "rtl run --mode hip records what its host does then");
	else if (j->figures->straggler.cause == STRAGGLER_HOST && !j->reason->hint[0])
		reason_say_hint(j, "rtl tree --by rank shows what its host does then");
	else if (j->figures->filtered)
		reason_say_hint(j, REASON_RECORD_ALL);
	else if (!j->reason->hint[0])
		reason_say_hint(j, "rtl collectives has each rank and communicator");
	add_whatif(j);
	return true;
}

bool reason_event(struct judging *j)
{
	static const char *const what[] = {[STRAGGLER_COMPUTE] = "computes",
		[STRAGGLER_COPY] = "copies",
		[STRAGGLER_TRANSFER] = "transfers",
		[STRAGGLER_HOST] = "idles, its host submits nothing",
		[STRAGGLER_HELD] = "idles with work submitted",
		[STRAGGLER_IDLE] = "idles",
		[STRAGGLER_SEVERAL] = "is late for several things"};
	static const char *const all[] = {[STRAGGLER_COMPUTE] = "compute",
		[STRAGGLER_COPY] = "copy",
		[STRAGGLER_TRANSFER] = "transfer",
		[STRAGGLER_HOST] = "idle, their hosts submit nothing",
		[STRAGGLER_HELD] = "idle with work submitted",
		[STRAGGLER_IDLE] = "idle",
		[STRAGGLER_SEVERAL] = "do several things"};
	const struct reason_figures *f = j->figures;
	const struct reason_event *event = &f->event;
	bool is_unknown = f->filtered && event->cause == STRAGGLER_SEVERAL;
	const char *does = is_unknown ? "did what was not recorded, as was asked"
			   : event->is_first_meeting && !event->has_place
				   ? "wait in the first collective until the last one comes"
				   : (event->has_place ? what : all)[event->cause];
	char longest[32], median[32], place[96], which[64];

	/* Where all GPUs compute longer a step has more work, which is no less a reason to name a
	 * rank in the other steps. */
	if (!event->is_found || event->cost_pct < REASON_PART_PCT ||
		(has_straggler(j) &&
			(f->straggler.cost_pct > event->cost_pct ||
				(!event->has_place && event->cause == STRAGGLER_COMPUTE))))
		return false;
	reason_format_time(event->longest_ns, longest);
	reason_format_time(event->median_ns, median);
	if (event->has_place && f->lane_count == 1 && !f->lanes->has_rank)
		snprintf(place, sizeof(place), "GPU %" PRId64, f->lanes->gpu_id);
	else if (event->has_place)
		name_place(f, event->place, place, sizeof(place));
	else
		snprintf(place, sizeof(place), "all GPUs");
	if (event->is_step)
		snprintf(which, sizeof(which), "step %" PRId64, event->number);
	else
		snprintf(which, sizeof(which), "one time between collectives");
	j->reason->lane = event->has_place ? lane_at(f, event->place) : NULL;
	if (event->count == 1)
		reason_say(j, "%s takes %s (the median is %s), %.0f %% of the time: %s %s", which,
			longest, median, event->cost_pct, place, does);
	else
		reason_say(j,
			"%" PRIu64 " %s take up to %s (the median is %s), %.0f %% of the time: in "
			"%s %s %s",
			event->count, event->is_step ? "steps" : "times between collectives",
			longest, median, event->cost_pct, event->is_step ? which : "the longest",
			place, does);
	reason_say_hint(j, "rtl timeline has every step");
	return true;
}
