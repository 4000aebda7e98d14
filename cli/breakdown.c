// SPDX-License-Identifier: MIT
#include "cli/breakdown.h"

#define BIT(stream) (1u << (stream))
#define COMMUNICATION                                                                              \
	(BIT(BREAKDOWN_ALLREDUCE) | BIT(BREAKDOWN_REDUCESCATTER) | BIT(BREAKDOWN_COMMUNICATION))

/* Times of a damaged file may be anything; lengths are then wrong, but nothing breaks. */
static uint64_t length(int64_t from, int64_t to)
{
	return (uint64_t)to - (uint64_t)from;
}

void breakdown_begin(struct breakdown *breakdown, int64_t start_ns)
{
	breakdown->now_ns = start_ns;
	for (int i = 0; i < BREAKDOWN_STREAMS; i++)
		breakdown->reach_ns[i] = INT64_MIN;
	breakdown->row_at = breakdown->wait_at = 0;
	breakdown->segment_row = NULL;
	breakdown->error = 0;
}

/* The window at @from, and until when it lasts, at most @to. */
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

static void account_idle(
	struct breakdown *s, int64_t from, int64_t to, enum breakdown_cause cause, bool is_micro)
{
	while (from < to) {
		int64_t end;
		struct breakdown_row *row = find_row(s, from, to, &end);

		*(is_micro ? &row->micro_idle_ns : &row->macro_idle_ns) += length(from, end);
		row->cause_ns[cause] += length(from, end);
		from = end;
	}
}

/* Nothing was submitted: what did the host do meanwhile? */
static void account_empty(struct breakdown *s, int64_t from, int64_t to, bool is_micro)
{
	enum breakdown_cause own = s->has_calls ? BREAKDOWN_HOST_LATE : BREAKDOWN_QUEUE_EMPTY;

	while (s->wait_at < s->wait_count && s->waits[s->wait_at].end_ns <= from)
		s->wait_at++;
	for (size_t i = s->wait_at; i < s->wait_count && from < to; i++) {
		const struct breakdown_wait *wait = s->waits + i;
		int64_t start = wait->start_ns > from ? wait->start_ns : from;
		int64_t end = wait->end_ns < to ? wait->end_ns : to;

		if (start >= to)
			break;
		account_idle(s, from, start, own, is_micro);
		account_idle(s, start, end,
			wait->is_peer ? BREAKDOWN_PEER : BREAKDOWN_SYNCHRONISATION, is_micro);
		from = end > from ? end : from;
	}
	account_idle(s, from, to, own, is_micro);
}

/*
 * What ended the gap is what it waited for: another that was submitted earlier and starts later
 * was held back by something else, as a rule by this one.
 */
static void account_gap(
	struct breakdown *s, int64_t from, int64_t to, const struct breakdown_event *next)
{
	bool is_micro = length(from, to) < (uint64_t)s->micro_idle_ns;
	int64_t submit = next ? next->submit_ns : to, row_end;

	if (next)
		find_row(s, from, to, &row_end)->gaps++;
	if (next && submit == BREAKDOWN_NO_SUBMIT) {
		account_idle(s, from, to, BREAKDOWN_UNKNOWN, is_micro);
		return;
	}
	submit = submit < from ? from : submit > to ? to : submit;
	account_empty(s, from, submit, is_micro);
	account_idle(s, submit, to,
		length(submit, to) <= BREAKDOWN_LAUNCH_NS ? BREAKDOWN_LAUNCH : BREAKDOWN_DEPENDENCY,
		is_micro);
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
	/* What takes no time neither works nor ends an idle time. */
	if (event->end_ns <= event->start_ns)
		return breakdown->error;
	advance(breakdown, event->start_ns, event);
	if (event->end_ns > breakdown->reach_ns[event->stream])
		breakdown->reach_ns[event->stream] = event->end_ns;
	return breakdown->error;
}

int breakdown_finish(struct breakdown *breakdown, int64_t end_ns)
{
	advance(breakdown, end_ns, NULL);
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
