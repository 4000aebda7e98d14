// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "cli/collectives/show.h"
#include "proto/names/collectives.h"

#define NOTE_BYTES 320

struct notes {
	char (*at)[NOTE_BYTES];
	size_t count, max;
};

__attribute__((format(printf, 2, 3))) static void note(struct notes *notes, const char *format, ...)
{
	va_list args;

	if (notes->count == notes->max)
		return;
	va_start(args, format);
	/* a longer note may be cut */
	(void)vsnprintf(notes->at[notes->count++], NOTE_BYTES, format, args);
	va_end(args);
}

static void note_order(struct notes *notes, const struct collectives *c)
{
	if (c->by_kernels)
		note(notes,
			"MATCHED BY KERNELS: %" PRIu64 " operations of %u groups whose kernels run "
			"together; sizes and types are unknown",
			c->by_kernels, c->kernel_groups);
	else if (c->matched == COLLECTIVES_BY_ORDER && c->comm_kernels)
		note(notes, "MATCHED BY ORDER: RCCL's calls were not recorded; sizes and types are "
			    "unknown");
	else if (c->has_blind_graphs)
		note(notes,
			"MATCHED BY ORDER: %" PRIu64 " operations; RCCL calls were captured into "
			"graphs, whose launches modes hip and full record; sizes and types are "
			"unknown",
			c->by_order);
	else if (c->ordered_execs)
		note(notes,
			"MATCHED BY ORDER, within each replay: %" PRIu64 " operations of %" PRIu64
			" executable graphs, in which nothing tells which kernel is whose",
			c->by_order, c->ordered_execs);
	else
		return;
	if (c->stopped[0])
		note(notes, "the match stops after %" PRIu64 " of %" PRIu64 ": %s",
			c->matched_until, c->order_longest, c->stopped);
}

static void note_left_out(struct notes *notes, const struct collectives *c)
{
	if (c->replays_left_out)
		note(notes,
			"LEFT OUT: the last %" PRIu64
			" launches of graphs; there are more than %" PRIu64 " parts",
			c->replays_left_out, COLLECTIVES_REPLAYED_MAX);
}

static void note_missing(struct notes *notes, const struct collectives *c)
{
	const struct collectives_missing *m = c->missing;
	char process[32];

	if (!c->missing_count)
		return;
	collectives_name_process(c, m->process, process, sizeof(process));
	note(notes,
		"MISSING: %" PRIu64 " parts; the first: %s (%s), %s number %" PRId64 " of %" PRIx64,
		c->missing_total, process, c->processes[m->process].state,
		m->op < RTL_COLLECTIVE_COUNT ? collective_name(m->op) : "other", m->seq,
		(uint64_t)c->comms[m->comm].id);
}

static void note_elsewhere(struct notes *notes, const struct collectives *c)
{
	uint64_t partial = 0;
	const struct collectives_comm *first = NULL;

	for (size_t i = 0; i < c->comm_count; i++)
		/* A communicator without members had all its calls captured, and none was
		 * replayed. */
		if (c->comms[i].members && c->comms[i].members < c->comms[i].size) {
			first = first ? first : c->comms + i;
			partial++;
		}
	if (first && c->matched == COLLECTIVES_BY_SEQUENCE)
		note(notes,
			"%" PRIu64 " of %zu communicators have ranks that are not in here (%" PRIx64
			": %u of %u)",
			partial, c->comm_count, (uint64_t)first->id, first->members, first->size);
}

static void note_times(struct notes *notes, const struct collectives_view *view)
{
	const struct collectives *c = view->c;
	uint64_t untimed = c->operation_count - view->report->timed - c->impossible;

	if (untimed)
		note(notes, "%" PRIu64 " of %zu have no times on some rank: in no figure of time",
			untimed, c->operation_count);
	if (c->impossible)
		note(notes,
			"IMPOSSIBLE: %" PRIu64
			" of %zu were left by a rank before the last one came: in "
			"no figure of time",
			c->impossible, c->operation_count);
	if (c->mismatched)
		note(notes, "MISMATCHED: %" PRIu64 " are not the same on all ranks", c->mismatched);
	if (c->failed)
		note(notes, "%" PRIu64 " calls failed", c->failed);
	if (c->unnumbered)
		note(notes, "%" PRIu64 " calls have no communicator or number: not matched",
			c->unnumbered);
	if (c->matched == COLLECTIVES_BY_SEQUENCE && c->unlinked)
		note(notes,
			"%" PRIu64 " of %" PRIu64
			" communication kernels belong to no call that was recorded",
			c->unlinked, c->comm_kernels);
}

static void note_clocks(struct notes *notes, const struct collectives *c)
{
	int64_t error = -1;

	for (size_t i = 0; i < c->lane_count; i++)
		if (c->lanes[i].error_ns > error)
			error = c->lanes[i].error_ns;
	if (error >= 0 && c->event_count)
		note(notes, "clocks: each GPU's is known to %.1f us; lateness below is not counted",
			(double)error / 1e3);
	if (c->nodes.count < 2 || !c->event_count)
		return;
	if (c->nodes.bound_ns < 0)
		note(notes,
			"%u NODES: nothing says how far their clocks are apart; skew between them "
			"means nothing",
			c->nodes.count);
	else
		note(notes, "%u NODES: their clocks are known to %.1f us, from their wall clocks%s",
			c->nodes.count, (double)c->nodes.bound_ns / 1e3,
			c->nodes.is_shifted ? ", which the collectives correct" : "");
}

size_t collectives_notes(const struct collectives_view *view, char (*ret)[NOTE_BYTES], size_t max)
{
	struct notes notes = {.at = ret, .max = max};

	note_order(&notes, view->c);
	note_left_out(&notes, view->c);
	note_missing(&notes, view->c);
	note_times(&notes, view);
	note_elsewhere(&notes, view->c);
	note_clocks(&notes, view->c);
	return notes.count;
}
