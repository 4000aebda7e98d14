/* SPDX-License-Identifier: MIT */
#include "proto/names/completeness.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define FILTER "skipped_filter"

struct line {
	char *at;
	size_t left; /* the NUL's byte included */
};

__attribute__((format(printf, 2, 3))) static void put(struct line *line, const char *format, ...)
{
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(line->at, line->left, format, arguments);
	va_end(arguments);
	if (n < 0)
		return;
	if ((size_t)n >= line->left)
		n = (int)line->left - 1;
	line->at += n;
	line->left -= (size_t)n;
}

void completeness_add(struct completeness_reasons *reasons, const char *name, uint64_t count)
{
	unsigned i;

	if (!count)
		return;
	for (i = 0; i < reasons->count; i++)
		if (!strcmp(reasons->at[i].name, name))
			break;
	if (i == COMPLETENESS_REASONS_MAX)
		return;
	if (i == reasons->count)
		reasons->at[reasons->count++] = (struct completeness_reason){.name = name};
	reasons->at[i].count += count;
}

static void locate(struct completeness_reasons *reasons, const char *name,
	const struct completeness_place *place)
{
	for (unsigned i = 0; i < reasons->count; i++)
		if (!strcmp(reasons->at[i].name, name))
			reasons->at[i].place = *place;
}

void completeness_locate(
	struct completeness *c, const char *reason, const struct completeness_place *place)
{
	if (!strcmp(reason, "torn"))
		c->torn_place = *place;
	else if (!strcmp(reason, "unknown_tail"))
		c->tails_place = *place;
	locate(&c->dropped_by, reason, place);
	locate(&c->untimed_by, reason, place);
}

static uint64_t count_of(const struct completeness_reasons *reasons, const char *name)
{
	for (unsigned i = 0; i < reasons->count; i++)
		if (!strcmp(reasons->at[i].name, name))
			return reasons->at[i].count;
	return 0;
}

/* Decimal; what is none counts as 0. */
static uint64_t number_of(const char *text)
{
	uint64_t value = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		value = value * 10 + (uint64_t)(*text - '0');
	return value;
}

uint64_t *completeness_own_loss(struct completeness *c, const char *reason)
{
	const struct {
		const char *reason;
		uint64_t *count;
	} own[] = {
		{"dropped_markers", &c->markers_dropped},
		{"dropped_calls", &c->calls_dropped},
		{"dropped_copies", &c->copies_dropped},
		{"quota_markers", &c->markers_dropped},
		{"quota_calls", &c->calls_dropped},
		{"quota_copies", &c->copies_dropped},
		{"queues_coop", &c->queues_coop},
		{"queues_ineligible", &c->queues_ineligible},
		{"copy_queues_unseen", &c->copy_queues_unseen},
		{"runtimes_ignored", &c->runtimes_ignored},
		{"databases_set_aside", &c->databases_set_aside},
		{"missing_frames", &c->frames_missing},
		{"logs_cut", &c->logs_cut},
		{"rows_missing", &c->rows_missing},
		{"names_left_out", &c->names_left_out},
		{"names_overflowed", &c->names_left_out},
		{"shapes_coarse", &c->shapes_coarse},
		{"unwrapped_roctx", &c->unwrapped_roctx},
		{"unwrapped_rccl", &c->unwrapped_rccl},
		{"unwrapped_hip", &c->unwrapped_hip},
		{"processes_unseen", &c->processes_unseen},
		{"unwatched", &c->unwatched},
	};

	if (!strncmp(reason, COMPLETENESS_UNSEEN_OF, strlen(COMPLETENESS_UNSEEN_OF))) {
		uint64_t uid = number_of(reason + strlen(COMPLETENESS_UNSEEN_OF));

		c->unseen_uid = c->unseen_of_users && c->unseen_uid != uid ? UINT64_MAX : uid;
		return &c->unseen_of_users;
	}
	for (unsigned i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!strcmp(reason, own[i].reason))
			return own[i].count;
	return NULL;
}

/* Counters and rows travel apart: while it is live, either may be ahead. */
static uint64_t untimed_lost(const struct completeness *c)
{
	return c->untimed > c->untimed_by_mode ? c->untimed - c->untimed_by_mode : 0;
}

bool completeness_is_missing(const struct completeness *c)
{
	return completeness_lost(c) || c->markers_dropped || c->calls_dropped ||
	       c->copies_dropped || c->queues_coop || c->queues_ineligible || c->runtimes_ignored ||
	       c->tails_unknown || c->copy_queues_unseen || c->databases_set_aside || c->logs_cut ||
	       c->rows_missing || c->names_left_out || c->shapes_coarse || c->processes_unseen ||
	       c->unseen_of_users || c->frames_missing || c->unwatched || c->unwrapped_roctx ||
	       c->unwrapped_rccl || c->unwrapped_hip || c->other_losses;
}

/* Tells whether the session is complete as far as the ledger shows. */
static bool is_complete(const struct completeness *c)
{
	return !c->live && !completeness_is_missing(c) && !c->pending && !c->undrained &&
	       c->skipped == count_of(&c->skipped_by, FILTER);
}

bool completeness_is_running(const struct completeness *c)
{
	return c->live && c->written && !completeness_is_missing(c) &&
	       c->skipped == count_of(&c->skipped_by, FILTER);
}

bool completeness_is_unknown(const struct completeness *c)
{
	return c->imported && (c->imported_all || is_complete(c));
}

bool completeness_is_complete(const struct completeness *c)
{
	return !c->imported && is_complete(c);
}

/* A tenth of a second is as close as losses are known. */
static void put_time(struct line *line, int64_t realtime_ns)
{
	time_t seconds = (time_t)(realtime_ns / 1000000000);
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		put(line, "%02d:%02d:%02d.%d", tm.tm_hour, tm.tm_min, tm.tm_sec,
			(int)(realtime_ns / 100000000 % 10));
}

static void put_times(struct line *line, const struct completeness_place *place)
{
	put_time(line, place->from_ns);
	put(line, "-");
	put_time(line, place->to_ns);
	put(line, " UTC");
}

static bool has_times(const struct completeness_place *place)
{
	return place->from_ns > 0 && place->to_ns >= place->from_ns;
}

static void put_place(struct line *line, const struct completeness_place *place, const char *before)
{
	if (!place->processes)
		return;
	put(line, "%s", before);
	if (place->processes > 1)
		put(line, "%" PRIu64 " processes", place->processes);
	else if (place->has_rank)
		put(line, "rank %" PRId64, place->rank);
	else
		put(line, "one process");
	if (place->has_queue)
		put(line, " queue %" PRId64, place->queue);
	if (!has_times(place))
		return;
	put(line, ", ");
	put_times(line, place);
}

/* " (recorder_full 3, quota 1)": the prefix of a reason is said by the word before it. */
static void put_reasons(struct line *line, const struct completeness_reasons *reasons)
{
	for (unsigned i = 0; i < reasons->count; i++) {
		const char *name = strchr(reasons->at[i].name, '_');

		put(line, "%s%s %" PRIu64, i ? ", " : " (", name ? name + 1 : reasons->at[i].name,
			reasons->at[i].count);
		put_place(line, &reasons->at[i].place, ": ");
	}
	if (reasons->count)
		put(line, ")");
}

static void put_skipped(struct line *line, const struct completeness *c)
{
	if (!c->skipped)
		return;
	put(line, ", %" PRIu64 " skipped", c->skipped);
	put_reasons(line, &c->skipped_by);
}

/* @what with its plural's ending cut out: "marker", "s", " dropped". */
static void put_if(
	struct line *line, uint64_t count, const char *what, const char *plural, const char *after)
{
	if (count)
		put(line, ", %" PRIu64 " %s%s%s", count, what, count == 1 ? "" : plural, after);
}

/* Recording was requested of @processes, but the shim did not wrap their calls. */
static void put_unwrapped(struct line *line, const char *what, uint64_t processes)
{
	if (processes)
		put(line, ", %s of %" PRIu64 " process%s not recorded", what, processes,
			processes == 1 ? "" : "es");
}

static void put_torn(struct line *line, const struct completeness *c)
{
	put_if(line, c->torn, "torn", "", "");
	if (!c->torn || !c->torn_place.processes)
		return;
	put_place(line, &c->torn_place, " (");
	put(line, ")");
}

/* How many processes has been said. */
static void put_tails(struct line *line, const struct completeness *c)
{
	const struct completeness_place *place = &c->tails_place;
	bool has_rank = place->processes == 1 && place->has_rank;

	put_if(line, c->tails_unknown, "process", "es", " with an unknown tail");
	if (!c->tails_unknown || (!has_rank && !has_times(place)))
		return;
	put(line, " (");
	if (has_rank)
		put(line, "rank %" PRId64 "%s", place->rank, has_times(place) ? ", " : "");
	if (has_times(place))
		put_times(line, place);
	put(line, ")");
}

uint64_t completeness_lost(const struct completeness *c)
{
	uint64_t by_mode = c->untimed_by_mode < c->untimed ? c->untimed_by_mode : c->untimed;

	return c->dropped + c->torn + c->outstanding + c->untimed - by_mode;
}

static void put_imported(struct line *line, const struct completeness *c)
{
	if (c->imported)
		put(line, "imported: %" PRIu64 " kernel%s; what %s lost is unknown",
			c->imported_stored, c->imported_stored == 1 ? "" : "s",
			c->imported_from[0] ? c->imported_from : "the tools that recorded them");
}

char *completeness_format(const struct completeness *c, char *line, size_t bytes)
{
	struct line out = {line, bytes};
	bool is_running = completeness_is_running(c), has_losses = !is_complete(c) && !is_running;

	line[0] = 0;
	put(&out, "%s", c->simulated ? "SIMULATED " : "");
	put_imported(&out, c);
	if (c->imported && c->imported_all && !completeness_is_missing(c))
		return line;
	put(&out, "%s%s: %" PRIu64 " dispatched, %" PRIu64 " stored%s", c->imported ? "; " : "",
		is_running   ? "RUNNING"
		: has_losses ? "INCOMPLETE"
			     : "complete",
		c->dispatched, c->stored - c->imported_stored, is_running ? " so far" : "");
	if (c->untimed_by_mode)
		put(&out, " (lite: %" PRIu64 " timed)", c->stored - c->untimed);
	if (has_losses) {
		put(&out, ", %" PRIu64 " dropped", c->dropped);
		put_reasons(&out, &c->dropped_by);
		put(&out, ", %" PRIu64 " untimed", untimed_lost(c));
		put_reasons(&out, &c->untimed_by);
		put(&out, ", %" PRIu64 " outstanding", c->outstanding);
	}
	put_skipped(&out, c);
	put_torn(&out, c);
	if (!is_running)
		put_if(&out, c->pending, "pending", "", "");
	put_if(&out, c->markers_dropped, "marker", "s", " dropped");
	put_if(&out, c->calls_dropped, "call", "s", " dropped");
	put_if(&out, c->copies_dropped, c->copies_dropped == 1 ? "copy" : "copies", "", " dropped");
	put_if(&out, c->queues_coop, "cooperative queue", "s", " not recorded");
	put_if(&out, c->queues_ineligible, "queue", "s", " not followed");
	put_if(&out, c->runtimes_ignored, "HSA runtime", "s", " not followed");
	put_if(&out, c->copy_queues_unseen, "copy queue", "s", " not recorded");
	put_tails(&out, c);
	/* Those are the same ones mostly; while it is live it goes without saying. */
	if (!c->live && c->undrained > c->tails_unknown)
		put_if(&out, c->undrained - c->tails_unknown, "process", "es",
			" not read to the end");
	put_if(&out, c->processes_unseen, "process", "es", " not recorded");
	put_if(&out, c->unseen_of_users, "process", "es", "");
	if (c->unseen_of_users && c->unseen_uid != UINT64_MAX)
		put(&out, " of uid %" PRIu64 " not recorded", c->unseen_uid);
	else if (c->unseen_of_users)
		put(&out, " of other users not recorded");
	put_unwrapped(&out, "roctx ranges", c->unwrapped_roctx);
	put_unwrapped(&out, "RCCL calls", c->unwrapped_rccl);
	put_unwrapped(&out, "HIP calls", c->unwrapped_hip);
	if (c->unwatched)
		put(&out, ", not watched all the time");
	if (c->live && !is_running)
		put(&out, ", not closed");
	put_if(&out, c->rows_missing, "row", "s", " missing");
	put_if(&out, c->names_left_out, "name", "s", " not kept");
	put_if(&out, c->shapes_coarse, "shape", "s", " not kept");
	put_if(&out, c->frames_missing, "frame", "s", " missing");
	put_if(&out, c->logs_cut, "log", "s", " cut short");
	put_if(&out, c->databases_set_aside, "damaged database", "s", " set aside");
	put_if(&out, c->other_losses, "other loss", "es", "");
	return line;
}
