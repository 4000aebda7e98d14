// SPDX-License-Identifier: MIT
#include "cli/trace/breakdown.h"

#include <string.h>

#include "cli/base/array.h"

#define BIT(stream) (1u << (stream))
#define COMMUNICATION                                                                              \
	(BIT(BREAKDOWN_ALLREDUCE) | BIT(BREAKDOWN_REDUCESCATTER) | BIT(BREAKDOWN_COMMUNICATION))

/* Times of a damaged file may have any value; lengths are then wrong, but nothing breaks. */
static uint64_t length(int64_t from, int64_t to)
{
	return (uint64_t)to - (uint64_t)from;
}

void breakdown_begin(struct breakdown *breakdown, int64_t start_ns)
{
	breakdown->now_ns = start_ns;
	for (int i = 0; i < BREAKDOWN_STREAMS; i++)
		breakdown->reach_ns[i] = INT64_MIN;
	breakdown->row_at = breakdown->gap_count = breakdown->cause_at = 0;
	breakdown->segment_row = NULL;
	breakdown->error = 0;
}

/* Returns the window at @from and its end, at most @to. */
static struct breakdown_row *find_row(
	struct breakdown *s, int64_t from, int64_t to, int64_t *ret_end)
{
	struct breakdown_row *row;

	while (s->row_at < s->count && s->rows[s->row_at].end_ns <= from)
		s->row_at++;
	row = s->row_at < s->count ? s->rows + s->row_at : NULL;
	if (row && row->start_ns <= from) {
		*ret_end = row->end_ns < to ? row->end_ns : to;
		return row;
	}
	*ret_end = row && row->start_ns < to ? row->start_ns : to;
	return s->outside;
}

static void end_segment(struct breakdown *s)
{
	if (!s->segment_row)
		return;
	s->segment_row->active_segments++;
	if (s->take && !s->error)
		s->error = s->take(s->taker, s->segment_row, &s->segment);
	s->segment_row = NULL;
}

static void note_segment(
	struct breakdown *s, struct breakdown_row *row, int64_t from, int64_t to, unsigned streams)
{
	if (s->segment_row != row || s->segment.streams != streams || s->segment.end_ns != from) {
		end_segment(s);
		s->segment_row = row;
		s->segment = (struct breakdown_segment){from, to, streams};
	}
	s->segment.end_ns = to;
}

static void add_busy(struct breakdown_row *row, uint64_t ns, unsigned streams)
{
	bool computes = streams & BIT(BREAKDOWN_COMPUTE), communicates = streams & COMMUNICATION;

	for (int i = 0; i < BREAKDOWN_STREAMS; i++)
		if (streams & BIT(i))
			row->stream_ns[i] += ns;
	if (communicates)
		row->communication_ns += ns;
	if (communicates && !computes)
		row->exposed_communication_ns += ns;
	if (streams == BIT(BREAKDOWN_COPY))
		row->exposed_copy_ns += ns;
	if (!computes)
		return;
	if (communicates)
		row->with_communication_ns += ns;
	if (streams & BIT(BREAKDOWN_ALLREDUCE))
		row->with_allreduce_ns += ns;
	if (streams & BIT(BREAKDOWN_REDUCESCATTER))
		row->with_reducescatter_ns += ns;
}

static void account_busy(struct breakdown *s, int64_t from, int64_t to, unsigned streams)
{
	while (from < to) {
		int64_t end;
		struct breakdown_row *row = find_row(s, from, to, &end);

		add_busy(row, length(from, end), streams);
		note_segment(s, row, from, end, streams);
		from = end;
	}
}

static void account_idle(struct breakdown *s, int64_t from, int64_t to)
{
	bool is_micro = length(from, to) < (uint64_t)s->micro_idle_ns;

	while (from < to) {
		int64_t end;
		struct breakdown_row *row = find_row(s, from, to, &end);

		*(is_micro ? &row->micro_idle_ns : &row->macro_idle_ns) += length(from, end);
		from = end;
	}
}

/* ---- causes of idle time --------------------------------------------------------------- */

static bool is_first_after(const struct breakdown *s, size_t row, int64_t at)
{
	return row < s->count && s->rows[row].end_ns > at &&
	       (!row || s->rows[row - 1].end_ns <= at);
}

/*
 * Returns the first window that ends after @at. Causes are reported later than idle time, and not
 * in order.
 */
static size_t search_row(const struct breakdown *s, int64_t at)
{
	return PARTITION_POINT(s->row_at < s->count ? s->row_at + 1 : s->count, i,
		s->rows[i].end_ns <= at);
}

static size_t find_cause_row(struct breakdown *s, int64_t at)
{
	if (!is_first_after(s, s->cause_at, at))
		s->cause_at = is_first_after(s, s->cause_at + 1, at) ? s->cause_at + 1
								     : search_row(s, at);
	return s->cause_at;
}

static void account_cause(struct breakdown *s, int64_t from, int64_t to, enum breakdown_cause cause)
{
	for (size_t i = from < to ? find_cause_row(s, from) : 0; from < to;) {
		struct breakdown_row *row =
			i < s->count && s->rows[i].start_ns < to ? s->rows + i : NULL;
		int64_t end = !row		     ? to
			      : row->start_ns > from ? row->start_ns
			      : row->end_ns < to     ? row->end_ns
						     : to;

		if (row && row->start_ns <= from)
			i++;
		else
			row = s->outside;
		row->cause_ns[cause] += length(from, end);
		from = end;
	}
}

static size_t search_wait(const struct breakdown *s, int64_t at)
{
	return PARTITION_POINT(s->wait_count, i, s->waits[i].end_ns <= at);
}

/* The queues were empty: finds out what the host did meanwhile. */
static void account_empty(struct breakdown *s, int64_t from, int64_t to)
{
	enum breakdown_cause own = s->has_calls ? BREAKDOWN_HOST_LATE : BREAKDOWN_QUEUE_EMPTY;

	for (size_t i = search_wait(s, from); i < s->wait_count && from < to; i++) {
		const struct breakdown_wait *wait = s->waits + i;
		int64_t start = wait->start_ns > from ? wait->start_ns : from;
		int64_t end = wait->end_ns < to ? wait->end_ns : to;

		if (start >= to)
			break;
		account_cause(s, from, start, own);
		account_cause(
			s, start, end, wait->is_peer ? BREAKDOWN_PEER : BREAKDOWN_SYNCHRONISATION);
		from = end > from ? end : from;
	}
	account_cause(s, from, to, own);
}

/* It is counted in the window in which it ends. */
static void note_short(struct breakdown *s, const struct breakdown_gap *gap)
{
	size_t wait = search_wait(s, gap->start_ns);
	size_t at = find_cause_row(s, gap->queued_ns - 1);
	struct breakdown_row *row =
		at < s->count && s->rows[at].start_ns < gap->queued_ns ? s->rows + at : s->outside;

	if (wait < s->wait_count && s->waits[wait].start_ns < gap->queued_ns)
		return;
	row->short_empty_ns += length(gap->start_ns, gap->queued_ns);
	row->short_empty_gaps++;
}

static void settle(struct breakdown *s, const struct breakdown_gap *gap)
{
	if (length(gap->start_ns, gap->end_ns) < BREAKDOWN_SHORT_NS &&
		gap->queued_ns > gap->start_ns)
		note_short(s, gap);
	account_empty(s, gap->start_ns, gap->queued_ns);
	account_cause(s, gap->queued_ns, gap->end_ns,
		length(gap->queued_ns, gap->end_ns) <= BREAKDOWN_LAUNCH_NS ? BREAKDOWN_LAUNCH
									   : BREAKDOWN_DEPENDENCY);
}

static void settle_first(struct breakdown *s, size_t count)
{
	for (size_t i = 0; i < count; i++)
		settle(s, s->gaps + i);
	s->gap_count -= count;
	memmove(s->gaps, s->gaps + count, s->gap_count * sizeof(*s->gaps));
}

static void account_gap(
	struct breakdown *s, int64_t from, int64_t to, const struct breakdown_event *next)
{
	int64_t queued = next ? next->submit_ns : to, row_end;

	if (next)
		find_row(s, from, to, &row_end)->gaps++;
	account_idle(s, from, to);
	if (next && queued == BREAKDOWN_NO_SUBMIT) {
		account_cause(s, from, to, BREAKDOWN_UNKNOWN);
		return;
	}
	if (s->gap_count == BREAKDOWN_GAPS_HELD)
		settle_first(s, BREAKDOWN_GAPS_HELD / 2);
	s->gaps[s->gap_count++] = (struct breakdown_gap){from,
		queued < from ? from
		: queued > to ? to
			      : queued,
		to};
}

/*
 * Something was in a queue from @submit_ns until now, when it starts. That holds not only for the
 * event that ends a gap, but for each event that starts later and was submitted earlier. A gap in
 * which the queues were never empty is settled, so that each gap but the last is examined once.
 */
static void note_queued(struct breakdown *s, int64_t submit_ns)
{
	while (s->gap_count) {
		struct breakdown_gap *last = s->gaps + s->gap_count - 1;

		if (submit_ns < last->queued_ns)
			last->queued_ns = submit_ns > last->start_ns ? submit_ns : last->start_ns;
		if (last->queued_ns > last->start_ns)
			return;
		settle(s, last);
		s->gap_count--;
	}
}

static void advance(struct breakdown *s, int64_t to, const struct breakdown_event *next)
{
	while (s->now_ns < to) {
		unsigned streams = 0;
		int64_t until = to;

		for (int i = 0; i < BREAKDOWN_STREAMS; i++) {
			if (s->reach_ns[i] <= s->now_ns)
				continue;
			streams |= BIT(i);
			if (s->reach_ns[i] < until)
				until = s->reach_ns[i];
		}
		if (streams)
			account_busy(s, s->now_ns, until, streams);
		else
			account_gap(s, s->now_ns, until, next);
		s->now_ns = until;
	}
}

int breakdown_add(struct breakdown *breakdown, const struct breakdown_event *event)
{
	/* An event without a length neither works nor ends an idle time. */
	if (event->end_ns <= event->start_ns)
		return breakdown->error;
	advance(breakdown, event->start_ns, event);
	if (event->submit_ns != BREAKDOWN_NO_SUBMIT)
		note_queued(breakdown, event->submit_ns);
	if (event->end_ns > breakdown->reach_ns[event->stream])
		breakdown->reach_ns[event->stream] = event->end_ns;
	return breakdown->error;
}

int breakdown_finish(struct breakdown *breakdown, int64_t end_ns)
{
	advance(breakdown, end_ns, NULL);
	settle_first(breakdown, breakdown->gap_count);
	end_segment(breakdown);
	return breakdown->error;
}

uint64_t breakdown_idle_ns(const struct breakdown_row *row)
{
	return row->micro_idle_ns + row->macro_idle_ns;
}

bool breakdown_holds(const struct breakdown_row *row)
{
	uint64_t causes = 0;

	for (int i = 0; i < BREAKDOWN_CAUSES; i++)
		causes += row->cause_ns[i];
	return causes == breakdown_idle_ns(row) && row->stream_ns[BREAKDOWN_COMPUTE] +
								   row->exposed_communication_ns +
								   row->exposed_copy_ns + causes ==
							   row->wall_ns;
}

void breakdown_sum(struct breakdown_row *to, const struct breakdown_row *from)
{
	to->wall_ns += from->wall_ns;
	for (int i = 0; i < BREAKDOWN_STREAMS; i++)
		to->stream_ns[i] += from->stream_ns[i];
	to->communication_ns += from->communication_ns;
	to->exposed_communication_ns += from->exposed_communication_ns;
	to->exposed_copy_ns += from->exposed_copy_ns;
	to->with_allreduce_ns += from->with_allreduce_ns;
	to->with_reducescatter_ns += from->with_reducescatter_ns;
	to->with_communication_ns += from->with_communication_ns;
	to->micro_idle_ns += from->micro_idle_ns;
	to->macro_idle_ns += from->macro_idle_ns;
	for (int i = 0; i < BREAKDOWN_CAUSES; i++)
		to->cause_ns[i] += from->cause_ns[i];
	to->short_empty_ns += from->short_empty_ns;
	to->short_empty_gaps += from->short_empty_gaps;
	to->gaps += from->gaps;
	to->active_segments += from->active_segments;
	to->kernels += from->kernels;
	to->copies += from->copies;
	to->untimed += from->untimed;
}

enum breakdown_cause breakdown_main_cause(const struct breakdown_row *row)
{
	int main = 0;

	for (int i = 1; i < BREAKDOWN_CAUSES; i++)
		if (row->cause_ns[i] > row->cause_ns[main])
			main = i;
	return row->cause_ns[main] ? (enum breakdown_cause)main : BREAKDOWN_CAUSES;
}

const char *breakdown_stream_name(enum breakdown_stream stream)
{
	static const char *const names[BREAKDOWN_STREAMS] = {
		"compute", "allreduce", "reducescatter", "communication", "copy"};

	return names[stream];
}

const char *breakdown_cause_name(enum breakdown_cause cause)
{
	static const char *const names[BREAKDOWN_CAUSES] = {"host_late", "queue_empty",
		"synchronisation", "waiting_for_peer", "launch", "dependency", "unknown"};

	return names[cause];
}

const char *breakdown_cause_words(enum breakdown_cause cause)
{
	static const char *const words[BREAKDOWN_CAUSES + 1] = {
		"host late", "queue empty", "sync", "peer", "launch", "held back", "unknown", ""};

	return words[cause];
}
