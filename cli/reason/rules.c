// SPDX-License-Identifier: MIT
/* The rules of rule_table.h. Each is a function that returns whether the rule applies, and sets its
 * sentence. The rules about one rank among others are in reason_ranks.c. */
#include "cli/reason/reason_judging.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output/table.h"
#include "proto/base/cleanup.h"

void reason_say(struct judging *j, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	/* a longer text may be cut */
	(void)vsnprintf(j->reason->text, sizeof(j->reason->text), format, args);
	va_end(args);
}

void reason_say_hint(struct judging *j, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	/* a longer text may be cut */
	(void)vsnprintf(j->reason->hint, sizeof(j->reason->hint), format, args);
	va_end(args);
}

double reason_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static uint64_t part_ns(const struct breakdown_row *row, enum part part)
{
	switch (part) {
	case PART_IDLE:
		return breakdown_idle_ns(row);
	case PART_COMM:
		return row->exposed_communication_ns;
	default:
		return row->exposed_copy_ns;
	}
}

static double part_pct(const struct breakdown_row *row, enum part part)
{
	return reason_percent(part_ns(row, part), row->wall_ns);
}

void reason_format_time(double ns, char ret[32])
{
	if (ns >= 1e9)
		snprintf(ret, 32, "%.1f s", ns / 1e9);
	else if (ns >= 1e6)
		snprintf(ret, 32, "%.1f ms", ns / 1e6);
	else
		snprintf(ret, 32, "%.1f us", ns / 1e3);
}

/* ---- names ---------------------------------------------------------------------------------- */

static bool has_others(const struct reason_figures *f, const struct reason_lane *lane)
{
	for (size_t i = 0; i < f->lane_count; i++)
		if (f->lanes + i != lane && f->lanes[i].process_id == lane->process_id)
			return true;
	return false;
}

/* Writes "rank 3", or "process 7" if its rank is unknown, with the GPU if the process has
 * several. */
void reason_name_rank(
	const struct reason_figures *f, const struct reason_lane *lane, char *ret, size_t bytes)
{
	char gpu[40] = "", replica[REPLICA_NAME_BYTES];

	replica_name(&lane->replica, replica);
	if (has_others(f, lane))
		snprintf(gpu, sizeof(gpu), " on GPU %" PRId64, lane->gpu_id);
	if (lane->has_rank)
		snprintf(ret, bytes, "rank %" PRId64 "%s", lane->rank, gpu);
	else if (lane->replica.replica)
		snprintf(ret, bytes, "%s%s", replica, gpu);
	else
		snprintf(ret, bytes, "process %" PRId64 "%s", lane->process_id, gpu);
}

/* Names the subject of a sentence about idle time: the only GPU, or all GPUs. */
static void name_gpus(const struct judging *j, char *ret, size_t bytes)
{
	const struct reason_figures *f = j->figures;

	if (f->lane_count == 1)
		snprintf(ret, bytes, "GPU %" PRId64 " idles", f->lanes->gpu_id);
	else
		snprintf(ret, bytes, "GPUs idle");
}

void reason_capitalize(char *text)
{
	text[0] = (char)toupper((unsigned char)text[0]);
}

/* ---- parts of the time ---------------------------------------------------------------------- */

static const char *time_word(const struct reason_figures *f)
{
	return f->has_steps ? "step" : "time";
}

/* Returns true if the part is large enough and no other part is larger. */
static bool is_main(const struct judging *j, enum part part)
{
	for (int i = 0; i < PARTS; i++)
		if (j->pct[i] > j->pct[part])
			return false;
	return j->pct[part] >= REASON_PART_PCT;
}

static void name_place(const struct reason_figures *f, struct reason_place place, char ret[64])
{
	ret[0] = '\0';
	for (size_t i = 0; i < f->lane_count; i++)
		if (f->lanes[i].process_id == place.process_id &&
			f->lanes[i].gpu_id == place.gpu_id)
			reason_name_rank(f, f->lanes + i, ret, 64);
}

void reason_say_link(const struct reason_figures *f, char *ret, size_t bytes)
{
	const struct reason_waiting *w = &f->waiting;
	char rank[64], other[64];

	ret[0] = '\0';
	if (!w->has_slow_link)
		return;
	name_place(f, w->link[0], rank);
	name_place(f, w->link[1], other);
	if (rank[0] && other[0])
		snprintf(ret, bytes, "sends between %s and %s take %.1fx the others", rank, other,
			w->link_ratio);
}

/* Explains waits between sends: the stages of a pipeline wait for each other. */
static void say_bubble(const struct reason_figures *f, char *ret, size_t bytes)
{
	const struct reason_waiting *w = &f->waiting;
	char rank[64] = "", link[160];

	snprintf(ret, bytes, "; %.0f %% is the bubble of a pipeline", w->pair_wait_pct);
	reason_say_link(f, link, sizeof(link));
	if (link[0]) {
		snprintf(ret + strlen(ret), bytes - strlen(ret), ", in which %s", link);
		return;
	}
	if (w->has_busiest)
		name_place(f, w->busiest, rank);
	if (rank[0] && w->busiest_ratio >= 1 + REASON_LATE_PCT / 100.0)
		snprintf(ret + strlen(ret), bytes - strlen(ret),
			", in which %s computes most (%.2fx the median)", rank, w->busiest_ratio);
}

static bool exposed_comm(struct judging *j)
{
	const struct breakdown_row *row = j->row;
	const struct reason_waiting *w = &j->figures->waiting;
	bool has_bubble = w->is_known && w->pair_wait_pct >= w->wait_pct &&
			  w->pair_wait_pct >= w->transfer_pct;
	char parts[320] = "";

	if (!is_main(j, PART_COMM))
		return false;
	if (has_bubble)
		say_bubble(j->figures, parts, sizeof(parts));
	else if (w->is_known && w->wait_pct + w->pair_wait_pct >= w->transfer_pct)
		snprintf(parts, sizeof(parts),
			"; ranks wait for each other %.0f %%, and transfer %.0f %%",
			w->wait_pct + w->pair_wait_pct, w->transfer_pct);
	else if (w->is_known)
		snprintf(parts, sizeof(parts),
			"; ranks transfer %.0f %%, and wait for each other %.0f %%",
			w->transfer_pct, w->wait_pct + w->pair_wait_pct);
	reason_say(j, "communication is %.0f %% of the %s, %.0f %% of it exposed%s",
		reason_percent(row->communication_ns, row->wall_ns), time_word(j->figures),
		reason_percent(row->exposed_communication_ns, row->communication_ns), parts);
	if (has_bubble)
		reason_say_hint(j, "more and smaller batches in flight make a bubble smaller");
	else
		reason_say_hint(j, "rtl collectives has each operation and communicator");
	return true;
}

static bool slow_copies(struct judging *j)
{
	const struct breakdown_row *row = j->row;
	const struct reason_copies *copies = &j->figures->copies;
	char rate[64] = "";

	if (!is_main(j, PART_COPY))
		return false;
	/* Bytes per nanosecond equal gigabytes per second. */
	if (copies->ns > 0)
		snprintf(rate, sizeof(rate), " (most of them %s, at %.3g GB/s)", copies->direction,
			copies->bytes / copies->ns);
	reason_say(j, "copies are %.0f %% of the %s, %.0f %% of it exposed%s",
		reason_percent(row->stream_ns[BREAKDOWN_COPY], row->wall_ns), time_word(j->figures),
		reason_percent(row->exposed_copy_ns, row->stream_ns[BREAKDOWN_COPY]), rate);
	reason_say_hint(
		j, "rtl summary lists them; pinned memory and a stream of their own hide them");
	return true;
}

/* Writes "GPU 2 idles 41 %" and the cause. */
__attribute__((format(printf, 2, 3))) static void say_idle(
	struct judging *j, const char *format, ...)
{
	char gpus[128], why[192];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(why, sizeof(why), format, args); /* a longer text may be cut */
	va_end(args);
	name_gpus(j, gpus, sizeof(gpus));
	j->reason->lane = j->figures->lane_count == 1 ? j->figures->lanes : NULL;
	reason_say(j, "%s %.0f %%: %s", gpus, j->pct[PART_IDLE], why);
}

/*
 * Applies if most of the idle time lies in short gaps with nothing queued: the host cannot launch
 * fast enough. The time that GPUs wait in collectives for such hosts of other ranks counts as idle.
 */
static bool launch_bound(struct judging *j)
{
	const struct breakdown_row *row = j->row;
	const struct reason_figures *f = j->figures;
	double waiting_pct = f->waiting.launch_wait_pct, idle_pct = j->pct[PART_IDLE] + waiting_pct;
	double waiting_ns = waiting_pct * (double)row->wall_ns / 100;
	double empty_ns = (double)row->short_empty_ns + waiting_ns;
	double idle_ns = (double)breakdown_idle_ns(row) + waiting_ns;
	struct reason_sum all = {0};
	char gpus[128], length[32], gap[32], more[96] = "";

	for (size_t i = 0; i < f->lane_count; i++)
		for (size_t k = 0; k < f->kind_count; k++) {
			struct reason_sum sum = reason_computation(f, f->lanes + i, k);

			all.calls += sum.calls;
			all.ns += sum.ns;
		}
	if (idle_pct < REASON_PART_PCT || idle_pct < j->pct[PART_COMM] - waiting_pct ||
		idle_pct < j->pct[PART_COPY] || !all.calls || !row->short_empty_gaps ||
		all.ns > (double)all.calls * REASON_SHORT_US * 1e3 ||
		empty_ns * 100 < idle_ns * REASON_GAPS_PCT)
		return false;
	name_gpus(j, gpus, sizeof(gpus));
	j->reason->lane = f->lane_count == 1 ? f->lanes : NULL;
	reason_format_time(all.ns / (double)all.calls, length);
	reason_format_time((double)row->short_empty_ns / (double)row->short_empty_gaps, gap);
	if (waiting_pct >= 1)
		snprintf(more, sizeof(more),
			", and %.0f %% more in collectives until others have launched",
			waiting_pct);
	reason_say(j,
		"%s %.0f %%%s: launch-bound, kernels are short (%s), and in %.0f %% of that time "
		"the "
		"next is not launched yet, %s each time",
		gpus, j->pct[PART_IDLE], more, length, 100 * empty_ns / idle_ns, gap);
	reason_say_hint(j, "graphs or larger kernels need fewer launches");
	return true;
}

static bool is_cause(const struct judging *j, uint64_t ns)
{
	return is_main(j, PART_IDLE) &&
	       reason_percent(ns, part_ns(j->row, PART_IDLE)) >= REASON_CAUSE_PCT;
}

static bool host_sync(struct judging *j)
{
	if (!is_cause(j, j->row->cause_ns[BREAKDOWN_SYNCHRONISATION]))
		return false;
	say_idle(j, "the host waits for it to end before it submits more");
	reason_say_hint(j, "rtl summary has the waiting calls among HOST CALLS");
	return true;
}

static bool late_host(struct judging *j)
{
	const uint64_t *cause_ns = j->row->cause_ns;

	if (!is_cause(j, cause_ns[BREAKDOWN_HOST_LATE] + cause_ns[BREAKDOWN_QUEUE_EMPTY]))
		return false;
	say_idle(j, "the host submits late");
	reason_say_hint(j, j->figures->has_calls
				   ? "rtl tree shows what it does meanwhile"
				   : "rtl run --mode hip records what it does meanwhile");
	return true;
}

static bool host_in_rccl(struct judging *j)
{
	if (!is_cause(j, j->row->cause_ns[BREAKDOWN_PEER]))
		return false;
	say_idle(j, "the host waits inside RCCL");
	reason_say_hint(j, "rtl collectives shows for which rank");
	return true;
}

static bool held_back(struct judging *j)
{
	const uint64_t *cause_ns = j->row->cause_ns;
	bool is_held = cause_ns[BREAKDOWN_DEPENDENCY] >= cause_ns[BREAKDOWN_LAUNCH];

	if (!is_cause(j, cause_ns[BREAKDOWN_DEPENDENCY] + cause_ns[BREAKDOWN_LAUNCH]))
		return false;
	say_idle(j, "%s", is_held ? "kernels are submitted and held back" : BREAKDOWN_LAUNCH_TEXT);
	if (j->figures->untimed_copies)
		reason_say_hint(j,
			"perhaps %s copies, of which %" PRIu64
			" have no times: rtl run --mode full",
			is_held ? "by" : "for", j->figures->untimed_copies);
	else
		reason_say_hint(j, "rtl timeline --json --segments shows before what");
	return true;
}

static bool idle(struct judging *j)
{
	const struct breakdown_row *row = j->row;
	enum breakdown_cause cause;

	if (!is_main(j, PART_IDLE))
		return false;
	/* There is one, because the causes add up to the idle time (breakdown_holds()). */
	cause = breakdown_main_cause(row);
	say_idle(j, "several causes, %s the most of them (%.0f %%)", breakdown_cause_words(cause),
		reason_percent(row->cause_ns[cause], breakdown_idle_ns(row)));
	reason_say_hint(j, j->figures->has_calls
				   ? "rtl timeline has each cause by step"
				   : "rtl run --mode hip records what the host does meanwhile");
	return true;
}

/* ---- no reason ------------------------------------------------------------------------------ */

static bool nothing(struct judging *j)
{
	if (j->figures->dispatched)
		return false;
	reason_say(j, "no kernel was dispatched");
	reason_say_hint(j, "rtl doctor and rtl diagnose say why");
	return true;
}

static bool untimed(struct judging *j)
{
	/* Copies alone make lanes. Kernels that take no time make none, but they are timed. */
	if (j->figures->lane_count || j->figures->timed)
		return false;
	if (!j->figures->rows) {
		reason_say(j, "no single cause: no kernel is stored");
		if (!j->figures->missing)
			reason_say_hint(j, "all were left out, as was asked");
		return true;
	}
	reason_say(j, "no single cause: no kernel has a time");
	reason_say_hint(j, "rtl run --mode standard records times");
	return true;
}

/* Repeats the sentence of rtl outstanding: which rank waits, is missing, or died, and in which
 * operation. */
static bool say_outstanding(struct judging *j)
{
	const struct reason_hang *found = &j->figures->hang;

	for (size_t i = 0; found->has_process && i < j->figures->lane_count; i++)
		if (j->figures->lanes[i].process_id == found->process_id && !j->reason->lane)
			j->reason->lane = j->figures->lanes + i;
	reason_say(j, "%s", found->text);
	reason_say_hint(j, "rtl outstanding shows every rank");
	return true;
}

static bool died(struct judging *j)
{
	return j->figures->hang.is_fault && say_outstanding(j);
}

static bool hang(struct judging *j)
{
	return j->figures->hang.is_hang && say_outstanding(j);
}

static bool filtered(struct judging *j)
{
	if (!j->figures->filtered)
		return false;
	reason_say(j,
		"no single cause: %" PRIu64 " kernels were not recorded, as was asked, so that no "
		"share of the time is known",
		j->figures->filtered);
	reason_say_hint(j, REASON_RECORD_ALL);
	return true;
}

static bool few(struct judging *j)
{
	if (j->figures->timed >= REASON_KERNELS)
		return false;
	reason_say(j, "no single cause: %" PRIu64 " %s too few to tell", j->figures->timed,
		j->figures->timed == 1 ? "kernel is" : "kernels are");
	reason_say_hint(j, "rtl summary lists them");
	return true;
}

static const struct reason_kind *find_main_kind(const struct reason_figures *f, double *ret_pct)
{
	const struct reason_kind *kind = NULL;
	double most = 0, all = 0;

	for (size_t k = 0; k < f->kind_count; k++) {
		double ns = 0;

		for (size_t i = 0; i < f->lane_count; i++)
			ns += reason_computation(f, f->lanes + i, k).ns;
		all += ns;
		if (ns > most) {
			most = ns;
			kind = f->kinds + k;
		}
	}
	*ret_pct = all > 0 ? 100.0 * most / all : 0;
	return kind;
}

static bool none(struct judging *j)
{
	const struct reason_figures *f = j->figures;
	double kind_pct;
	const struct reason_kind *kind = find_main_kind(f, &kind_pct);
	char buffer[48], most[96] = "", copies[16] = "unknown";

	if (!reason_lacks_copies(f, &f->total))
		snprintf(copies, sizeof(copies), "%.0f %%", part_pct(&f->total, PART_COPY));
	if (kind)
		snprintf(most, sizeof(most), " (%.0f %% of it %s)", kind_pct,
			reason_name_kind(kind, buffer));
	reason_say(j,
		"no single cause: computation is %.0f %% of the %s%s, exposed communication %.0f "
		"%%, "
		"exposed copies %s, idle time %.0f %%",
		reason_percent(f->total.stream_ns[BREAKDOWN_COMPUTE], f->total.wall_ns),
		time_word(f), most, part_pct(&f->total, PART_COMM), copies,
		part_pct(&f->total, PART_IDLE));
	if (f->untimed_copies)
		reason_say_hint(j, "%" PRIu64 " copies have no times (rtl run --mode full)",
			f->untimed_copies);
	else if (!f->has_steps)
		reason_say_hint(j, "rtl timeline and roctx ranges \"step N\" show it by step");
	else
		reason_say_hint(j, "rtl timeline shows it by step");
	return true;
}

/* ---- judgement ------------------------------------------------------------------------------ */

/* Adds since when all steps take longer to what is true of all ranks; a rank that the others wait
 * for, and an event, say it themselves. */
static void add_change(struct judging *j)
{
	const struct reason_waiting *w = &j->figures->waiting;
	size_t used = strlen(j->reason->text);

	if (j->reason->code < REASON_IS_LAUNCH_BOUND || !w->has_change || !w->is_change_of_all)
		return;
	snprintf(j->reason->text + used, sizeof(j->reason->text) - used,
		"; since step %" PRId64 " steps take %.2fx as long as before", w->change_number,
		w->change_ratio);
}

void reason_judge(struct reason *reason)
{
	static bool (*const rules[REASON_CODES])(struct judging *) = {
		[REASON_IS_NOTHING] = nothing,
		[REASON_IS_UNTIMED] = untimed,
		[REASON_IS_DIED] = died,
		[REASON_IS_HANG] = hang,
		[REASON_IS_FEW] = few,
		[REASON_IS_EVENT] = reason_event,
		[REASON_IS_SLOW_RANK] = reason_slow_rank,
		[REASON_IS_LATE_RANK] = reason_late_rank,
		[REASON_IS_FILTERED] = filtered,
		[REASON_IS_LAUNCH_BOUND] = launch_bound,
		[REASON_IS_EXPOSED_COMM] = exposed_comm,
		[REASON_IS_SLOW_COPIES] = slow_copies,
		[REASON_IS_HOST_SYNC] = host_sync,
		[REASON_IS_LATE_HOST] = late_host,
		[REASON_IS_HOST_IN_RCCL] = host_in_rccl,
		[REASON_IS_HELD_BACK] = held_back,
		[REASON_IS_IDLE] = idle,
		[REASON_IS_NONE] = none,
	};
	struct judging j = {.reason = reason, .figures = &reason->figures};

	j.row = &reason->figures.total;
	for (int i = 0; i < PARTS; i++)
		j.pct[i] = part_pct(j.row, (enum part)i);
	for (int i = 0; i < REASON_CODES; i++)
		if (rules[i](&j)) {
			reason->code = (enum reason_code)i;
			add_change(&j);
			return;
		}
}
