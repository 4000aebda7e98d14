// SPDX-License-Identifier: MIT
#include "cli/summary/summary.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/database/session/exit_text.h"
#include "cli/base/array.h"
#include "proto/base/cleanup.h"

/* The columns of the query processes. */
enum {
	P_ID,
	P_RANK,
	P_WORLD_SIZE = 3,
	P_PID,
	P_EXE = 7,
	P_ENDED = 10,
	P_EXIT_STATUS,
	P_FRONT_END = 14,
	P_QUEUES_CREATED = 22,
	P_DISPATCHED,
};

/* One row of the query ledger. The rows are kept, sorted by process, because each process looks for
 * its own. */
struct account {
	int64_t process_id, gpu_id;
	bool has_gpu;
	uint64_t dispatched, skipped, stored, untimed, outstanding, dropped;
};

struct accounts {
	struct account *at;
	size_t count;
	const struct trace *trace;
};

static void accounts_done(struct accounts *accounts)
{
	free(accounts->at);
}

void summary_free_p(struct summary **summary)
{
	struct summary *s = *summary;

	if (!s)
		return;
	for (size_t i = 0; i < s->rank_count; i++)
		free(s->ranks[i].exe);
	for (size_t i = 0; i < s->loss_count; i++)
		free(s->losses[i].reason);
	free(s->ranks);
	free(s->losses);
	free(s->copies);
	for (size_t i = 0; i < s->metric_count; i++)
		free(s->metrics[i].name);
	free(s->metrics);
	free(s->collectives);
	cost_done(&s->cost);
	summary_groups_free_p(&s->groups);
	summary_groups_free_p(&s->categories);
	free(s->name);
	free(s->command);
	free(s->host);
	measure_free_p(&s->measure);
	verdict_free_p(&s->verdict);
	reason_free_p(&s->reason);
	free(s);
	*summary = NULL;
}

static int load_accounts(struct query *query, struct accounts *ret)
{
	int r = 0;

	QUERY_EACH (r, query, "ledger", rows) {
		struct account *grown = grow_by_one(ret->at, ret->count, sizeof(*grown));

		ret->at = grown;
		grown[ret->count++] = (struct account){
			.process_id = query_integer(rows, 0),
			.has_gpu = !query_is_null(rows, 1),
			.gpu_id = query_integer(rows, 1),
			/* An imported recording has no count of dispatches, only of what it
			 * stored. */
			.dispatched = (uint64_t)query_integer(rows, query_is_null(rows, 2) ? 4 : 2),
			.skipped = (uint64_t)query_integer(rows, 3),
			.stored = (uint64_t)query_integer(rows, 4),
			.untimed = (uint64_t)query_integer(rows, 5),
			.outstanding = (uint64_t)query_integer(rows, 6),
			/* A torn dispatch counts as dropped. */
			.dropped =
				(uint64_t)query_integer(rows, 7) + (uint64_t)query_integer(rows, 8),
		};
	}
	return r;
}

/* A process that recorded nothing must say why, or it looks like a bug of the profiler. */
static const char *explain_nothing(const struct query_rows *rows)
{
	const char *front_end = query_text(rows, P_FRONT_END);

	if (query_integer(rows, P_DISPATCHED))
		return NULL;
	if (front_end && !strncmp(front_end, "none", strlen("none")))
		return "initialised HSA, not followed (no front end; see rtl info)";
	if (!query_integer(rows, P_QUEUES_CREATED))
		return "initialised HSA, dispatched nothing (no queue)";
	return "initialised HSA, dispatched nothing";
}

static int add_rank(struct summary *s, const struct query_rows *rows, const struct account *account,
	const struct trace_process *process)
{
	struct summary_rank *grown = grow_by_one(s->ranks, s->rank_count, sizeof(*grown));
	struct summary_rank *rank;
	const struct measure_lane *lane;

	s->ranks = grown;
	rank = grown + s->rank_count;
	*rank = (struct summary_rank){
		.process_id = query_integer(rows, P_ID),
		.pid = query_integer(rows, P_PID),
		.has_rank = !query_is_null(rows, P_RANK),
		.rank = query_integer(rows, P_RANK),
		.world_size = query_integer(rows, P_WORLD_SIZE),
		.exe = xstrdup(query_text(rows, P_EXE) ? query_text(rows, P_EXE) : ""),
		.note = explain_nothing(rows),
	};
	s->rank_count++;
	if (process && process->replica.replica)
		replica_name(&process->replica, rank->replica);
	ended_describe(query_text(rows, P_ENDED), !query_is_null(rows, P_EXIT_STATUS),
		query_integer(rows, P_EXIT_STATUS), s->is_in_use, rank->state);
	if (!account)
		return 0;
	rank->has_gpu = account->has_gpu;
	rank->gpu_id = account->gpu_id;
	rank->dispatched = account->dispatched;
	rank->stored = account->stored;
	rank->untimed = account->untimed;
	rank->outstanding = account->outstanding;
	rank->dropped = account->dropped;
	rank->skipped = account->skipped;
	lane = account->has_gpu ? measure_find_lane(s->measure, rank->process_id, rank->gpu_id)
				: NULL;
	if (lane) {
		rank->lane = *lane;
		rank->has_measure = lane->timed > 0;
	}
	return 0;
}

/* Returns the index of the first account of @process_id or, if it has none, of the next process. */
static size_t find_accounts(const struct accounts *accounts, int64_t process_id)
{
	return PARTITION_POINT(accounts->count, i, accounts->at[i].process_id < process_id);
}

static int add_process(
	struct summary *s, const struct query_rows *rows, const struct accounts *accounts)
{
	int64_t id = query_integer(rows, P_ID);
	size_t first = find_accounts(accounts, id), i = first;
	const struct trace_process *process = trace_process(accounts->trace, id);
	int r = 0;

	for (; i < accounts->count && accounts->at[i].process_id == id && !r; i++)
		r = add_rank(s, rows, accounts->at + i, process);
	return r || i > first ? r : add_rank(s, rows, NULL, process);
}

static int load_ranks(const struct trace *trace, struct summary *s)
{
	CLEANUP(accounts_done) struct accounts accounts = {.trace = trace};
	int r = load_accounts(trace->query, &accounts);

	QUERY_EACH (r, trace->query, "processes", rows)
		r = add_process(s, rows, &accounts);
	return r;
}

static int load_losses(struct query *query, struct summary *s)
{
	int r = 0;

	QUERY_EACH (r, query, "losses", rows) {
		s->losses = grow_by_one(s->losses, s->loss_count, sizeof(*s->losses));
		s->losses[s->loss_count++] = (struct summary_loss){
			.process_id = query_integer(rows, 0),
			.has_rank = !query_is_null(rows, 1),
			.rank = query_integer(rows, 1),
			.reason = xstrdup(query_text(rows, 3) ? query_text(rows, 3) : ""),
			.has_count = !query_is_null(rows, 4),
			.count = query_integer(rows, 4),
		};
	}
	return r;
}

static char *copy_text(const struct query_rows *rows, int column)
{
	const char *text = query_text(rows, column);

	return text ? xstrdup(text) : NULL;
}

static int load_metrics(struct query *query, struct summary *s)
{
	int r = 0;

	QUERY_EACH (r, query, "metrics", rows) {
		struct summary_metric *grown =
			grow_by_one(s->metrics, s->metric_count, sizeof(*grown));
		struct summary_metric *metric;

		s->metrics = grown;
		metric = &grown[s->metric_count];
		*metric = (struct summary_metric){
			.process_id = query_integer(rows, 0),
			.has_rank = !query_is_null(rows, 1),
			.rank = query_integer(rows, 1),
			.name = copy_text(rows, 2),
			.count = (uint64_t)query_integer(rows, 3),
			.last = query_real(rows, 4),
			.least = query_real(rows, 5),
			.most = query_real(rows, 6),
		};
		s->metric_count++;
	}
	return r;
}

static int load_copies(struct query *query, struct summary *s)
{
	int r = 0;

	QUERY_EACH (r, query, "copies", rows) {
		struct summary_copies *grown =
			grow_by_one(s->copies, s->copy_count, sizeof(*grown));
		struct summary_copies *copies;

		s->copies = grown;
		copies = &grown[s->copy_count++];
		*copies = (struct summary_copies){
			.calls = (uint64_t)query_integer(rows, 1),
			.bytes = (uint64_t)query_integer(rows, 2),
			.timed = (uint64_t)query_integer(rows, 3),
			.timed_bytes = (uint64_t)query_integer(rows, 4),
			.total_ns = query_integer(rows, 5),
			.min_ns = query_integer(rows, 6),
			.max_ns = query_integer(rows, 7),
		};
		snprintf(copies->direction, sizeof(copies->direction), "%s",
			query_text(rows, 0) ? query_text(rows, 0) : "");
	}
	return r;
}

static int load_session(struct query *query, struct summary *s)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(query, "sessions", &rows);

	s->wall_ns = -1;
	while (!r && (r = query_next(rows)) > 0) {
		r = 0;
		if (s->sessions++)
			continue;
		s->name = copy_text(rows, 0);
		s->command = copy_text(rows, 3);
		s->host = copy_text(rows, 4);
		s->start_realtime_ns = query_integer(rows, 6);
		if (!query_is_null(rows, 7))
			s->wall_ns = (int64_t)((uint64_t)query_integer(rows, 7) -
					       (uint64_t)query_integer(rows, 5));
	}
	return r;
}

static void add_groups(const struct trace *trace, const struct summary_wishes *w, struct summary *s)
{
	s->is_chosen = summary_choice_is_set(&w->choice);
	if (s->is_chosen || w->choice.sort != SUMMARY_SORT_TOTAL)
		summary_choose(&w->choice, trace->categories, s);
	if (w->by != SUMMARY_BY_NOTHING)
		s->groups = summary_groups_new(trace, s->measure, w->by);
	if (w->categories)
		s->categories = summary_groups_new(trace, s->measure, SUMMARY_BY_CATEGORY);
}

/* A missing reason does not fail the summary: a damaged file may still have usable tables. */
static void add_reason(const struct trace *trace, struct summary *s)
{
	char error[QUERY_ERROR_BYTES];

	if (!reason_new(trace, s->verdict, error, &s->reason))
		return;
	snprintf(s->no_reason, sizeof(s->no_reason), "unknown (%.*s)",
		(int)sizeof(s->no_reason) - 16, error[0] ? error : query_error(trace->query));
}

int summary_new(
	const struct trace *trace, const struct summary_wishes *wishes, struct summary **ret)
{
	CLEANUP(summary_free_p) struct summary *s = xcalloc(1, sizeof(*s));
	struct query *query = trace->query;
	int r;

	s->is_in_use = query_is_in_use(query);
	r = measure_new(trace, &wishes->measure, &s->measure);
	if (!r)
		r = verdict_new(query, s->measure ? &s->measure->rows : NULL, &s->verdict);
	if (!r)
		r = load_session(query, s);
	if (!r)
		r = load_ranks(trace, s);
	if (!r)
		r = load_losses(query, s);
	if (!r)
		r = load_copies(query, s);
	if (!r)
		r = load_metrics(query, s);
	if (!r)
		r = cost_load(query, &s->cost);
	if (!r)
		r = summary_load_calls(trace, s);
	if (r)
		return r;
	add_groups(trace, wishes, s);
	if (wishes->reason)
		add_reason(trace, s);
	*ret = TAKE(s);
	return 0;
}
