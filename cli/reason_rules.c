// SPDX-License-Identifier: MIT
/* The rules of reason_table.h, each a function that says whether it applies, and its sentence. */
#include "cli/reason.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/render.h"
#include "proto/cleanup.h"

enum part { PART_IDLE, PART_COMM, PART_COPY, PARTS };

/* What every rule looks at: the reason to be, and the three parts that are not computation. */
struct judging {
	struct reason *reason;
	const struct reason_figures *figures;
	const struct reason_lane *lane[PARTS]; /* the one that stands out; NULL: all are alike */
	const struct breakdown_row *row[PARTS];
	double pct[PARTS];
};

__attribute__((format(printf, 2, 3))) static void say_text(
	struct judging *j, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(j->reason->text, sizeof(j->reason->text), format, args); /* cut is fine */
	va_end(args);
}

__attribute__((format(printf, 2, 3))) static void say_hint(
	struct judging *j, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(j->reason->hint, sizeof(j->reason->hint), format, args); /* cut is fine */
	va_end(args);
}

static double percent(uint64_t part, uint64_t whole)
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
	return percent(part_ns(row, part), row->wall_ns);
}

static void format_time(double ns, char ret[32])
{
	if (ns >= 1e9)
		snprintf(ret, 32, "%.1f s", ns / 1e9);
	else if (ns >= 1e6)
		snprintf(ret, 32, "%.1f ms", ns / 1e6);
	else
		snprintf(ret, 32, "%.1f us", ns / 1e3);
}

/* ---- who ------------------------------------------------------------------------------------ */

static bool has_others(const struct reason_figures *f, const struct reason_lane *lane)
{
	for (size_t i = 0; i < f->lane_count; i++)
		if (f->lanes + i != lane && f->lanes[i].process_id == lane->process_id)
			return true;
	return false;
}

/* "Rank 3", "Process 7" where nobody knows the rank; with its GPU where the process has several. */
static void name_rank(
	const struct reason_figures *f, const struct reason_lane *lane, char *ret, size_t bytes)
{
	char gpu[40] = "";

	if (has_others(f, lane))
		snprintf(gpu, sizeof(gpu), " on GPU %" PRId64, lane->gpu_id);
	if (lane->has_rank)
		snprintf(ret, bytes, "rank %" PRId64 "%s", lane->rank, gpu);
	else
		snprintf(ret, bytes, "process %" PRId64 "%s", lane->process_id, gpu);
}

/* Of whom the sentence about a part is: the GPU that stands out, the only one, or all. */
static void name_gpus(const struct judging *j, enum part part, char *ret, size_t bytes)
{
	const struct reason_figures *f = j->figures;
	const struct reason_lane *lane = j->lane[part];
	char rank[64] = "";

	if (!lane && f->lane_count > 1) {
		snprintf(ret, bytes, "GPUs idle");
		return;
	}
	if (!lane)
		lane = f->lanes;
	if (f->lane_count > 1)
		name_rank(f, lane, rank, sizeof(rank));
	snprintf(ret, bytes, "GPU %" PRId64 "%s%s%s idles", lane->gpu_id, rank[0] ? " (" : "", rank,
		rank[0] ? ")" : "");
}

static void capitalize(char *text)
{
	text[0] = (char)toupper((unsigned char)text[0]);
}

/* ---- computation ---------------------------------------------------------------------------- */

/* Of the kernels that compute, of all or of one kind. */
static struct reason_sum computation(
	const struct reason_figures *f, const struct reason_lane *lane, size_t kind)
{
	struct reason_sum sum = {0};

	for (size_t i = 0; i < f->kind_count; i++)
		if (f->kinds[i].class == CATEGORY_COMPUTATION && (kind == SIZE_MAX || kind == i)) {
			sum.calls += lane->kinds[i].calls;
			sum.ns += lane->kinds[i].ns;
		}
	return sum;
}

static int compare_reals(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of the other lanes' mean kernel, the lower of two; 0: there is none. */
static double median_of_others(
	const struct reason_figures *f, const struct reason_lane *lane, size_t kind)
{
	CLEANUP(free_p) double *means = calloc(f->lane_count + 1, sizeof(*means));
	size_t count = 0;

	for (size_t i = 0; means && i < f->lane_count; i++) {
		struct reason_sum sum = computation(f, f->lanes + i, kind);

		if (f->lanes + i != lane && sum.calls)
			means[count++] = sum.ns / (double)sum.calls;
	}
	if (!count)
		return 0;
	qsort(means, count, sizeof(*means), compare_reals);
	return means[(count - 1) / 2];
}

static const char *name_kind(const struct reason_kind *kind, char buffer[48])
{
	if (!strcmp(kind->name, "gemm"))
		return "GEMMs";
	snprintf(buffer, 48, "%s kernels", kind->name);
	return buffer;
}

/* ", GEMMs 1.31x the median rank's": the kind that costs the lane most; none where none is slow. */
static void name_slow_kind(
	const struct reason_figures *f, const struct reason_lane *lane, char *ret, size_t bytes)
{
	double most = 0;
	char buffer[48];

	ret[0] = '\0';
	for (size_t i = 0; i < f->kind_count; i++) {
		struct reason_sum sum = computation(f, lane, i);
		double median = median_of_others(f, lane, i);
		double extra = sum.ns - median * (double)sum.calls;

		if (median <= 0 || extra <= most || sum.ns * 100 < median * (double)sum.calls * 102)
			continue;
		most = extra;
		snprintf(ret, bytes, "%s %.2fx the median rank's", name_kind(f->kinds + i, buffer),
			sum.ns / (double)sum.calls / median);
	}
}

/* ---- ranks ---------------------------------------------------------------------------------- */

static const struct reason_lane *find_straggler(const struct reason_figures *f)
{
	const struct reason_straggler *s = &f->straggler;

	for (size_t i = 0; s->is_found && i < f->lane_count; i++)
		if (f->lanes[i].process_id == s->process_id && f->lanes[i].gpu_id == s->gpu_id)
			return f->lanes + i;
	return NULL;
}

static void say_late(struct judging *j, const struct reason_lane *lane, const char *why)
{
	const struct reason_straggler *s = &j->figures->straggler;
	char who[64], late[32];

	name_rank(j->figures, lane, who, sizeof(who));
	capitalize(who);
	format_time(s->late_ns, late);
	j->reason->lane = lane;
	say_text(j, "%s arrives last in %.0f %% of collectives, %s late, because %s", who,
		percent(s->last, s->count), late, why);
}

static bool arrives_late(const struct judging *j)
{
	return find_straggler(j->figures) && j->figures->straggler.late_pct >= REASON_LATE_PCT;
}

static bool is_late_by_computation(struct judging *j)
{
	const struct reason_straggler *s = &j->figures->straggler;
	const struct reason_lane *lane = find_straggler(j->figures);
	char why[160], kind[96];

	if (!arrives_late(j) || s->cause != COLLECTIVES_COMPUTE)
		return false;
	name_slow_kind(j->figures, lane, kind, sizeof(kind));
	if (kind[0])
		snprintf(why, sizeof(why), "its compute is slower (%s)", kind);
	else
		snprintf(
			why, sizeof(why), "it computes %.2fx as long as the median rank", s->ratio);
	say_late(j, lane, why);
	return true;
}

/* Do all ranks do the same, as far as their numbers of kernels tell? */
static bool are_alike(const struct reason_figures *f)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (size_t i = 0; i < f->lane_count; i++) {
		if (f->lanes[i].stored < least)
			least = f->lanes[i].stored;
		if (f->lanes[i].stored > most)
			most = f->lanes[i].stored;
	}
	return f->lane_count > 1 && (double)(most - least) * 100 <= (double)most * REASON_ALIKE_PCT;
}

static double mean_kernel(const struct reason_figures *f, const struct reason_lane *lane)
{
	struct reason_sum sum = computation(f, lane, SIZE_MAX);

	return sum.calls ? sum.ns / (double)sum.calls : 0;
}

/* Who takes longest for the same kernels, and what that costs of its time in percent. */
static const struct reason_lane *find_slowest(
	const struct reason_figures *f, double *ret_ratio, double *ret_cost_pct)
{
	const struct reason_lane *slowest = f->lanes;
	double median;

	for (size_t i = 1; i < f->lane_count; i++)
		if (mean_kernel(f, f->lanes + i) > mean_kernel(f, slowest))
			slowest = f->lanes + i;
	median = median_of_others(f, slowest, SIZE_MAX);
	if (median <= 0)
		return NULL;
	*ret_ratio = mean_kernel(f, slowest) / median;
	*ret_cost_pct = 100.0 * (1 - 1 / *ret_ratio) * computation(f, slowest, SIZE_MAX).ns /
			(double)slowest->total.wall_ns;
	return slowest;
}

static bool is_slow_by_kernels(struct judging *j)
{
	const struct reason_figures *f = j->figures;
	const struct reason_lane *lane;
	double ratio, cost_pct;
	char who[64], kind[96];

	if (!are_alike(f))
		return false;
	lane = find_slowest(f, &ratio, &cost_pct);
	if (!lane || ratio * 100 < REASON_SLOW_PCT || cost_pct < REASON_LATE_PCT)
		return false;
	name_rank(f, lane, who, sizeof(who));
	capitalize(who);
	name_slow_kind(f, lane, kind, sizeof(kind));
	j->reason->lane = lane;
	say_text(j, "%s is slow: its kernels take %.2fx as long as the median rank's%s%s%s", who,
		ratio, kind[0] ? " (" : "", kind, kind[0] ? ")" : "");
	return true;
}

static bool slow_rank(struct judging *j)
{
	return is_late_by_computation(j) || is_slow_by_kernels(j);
}

static bool late_rank(struct judging *j)
{
	static const char *const why[] = {[COLLECTIVES_COPY] = "its copies take longer",
		[COLLECTIVES_HOST] = "its host submits late",
		[COLLECTIVES_WAIT] = "its GPU idles with work submitted",
		[COLLECTIVES_CAUSES] = "of several things"};
	const struct reason_straggler *s = &j->figures->straggler;
	char text[96], each[32];

	/* What an earlier collective did has a reason of its own. */
	if (!arrives_late(j) || !why[s->cause])
		return false;
	format_time(s->cause_ns, each);
	if (s->cause < COLLECTIVES_CAUSES)
		snprintf(text, sizeof(text), "%s (%s each time)", why[s->cause], each);
	else
		snprintf(text, sizeof(text), "%s", why[s->cause]);
	say_late(j, find_straggler(j->figures), text);
	if (s->cause == COLLECTIVES_HOST && !j->figures->has_calls)
		say_hint(j, "rtl run --mode hip records what its host does then");
	return true;
}

/* ---- parts of the time ---------------------------------------------------------------------- */

static const char *time_word(const struct reason_figures *f)
{
	return f->has_steps ? "step" : "time";
}

/* That part is large enough, and larger than the others. */
static bool is_main(const struct judging *j, enum part part)
{
	for (int i = 0; i < PARTS; i++)
		if (j->pct[i] > j->pct[part])
			return false;
	return j->pct[part] >= REASON_PART_PCT;
}

static void name_lane(struct judging *j, enum part part, char *ret, size_t bytes)
{
	char who[64];

	ret[0] = '\0';
	j->reason->lane = j->lane[part];
	if (!j->lane[part])
		return;
	name_rank(j->figures, j->lane[part], who, sizeof(who));
	snprintf(
		ret, bytes, " on %s (%.0f %% on average)", who, part_pct(&j->figures->total, part));
}

static bool exposed_comm(struct judging *j)
{
	const struct breakdown_row *row = j->row[PART_COMM];
	char where[96];

	if (!is_main(j, PART_COMM))
		return false;
	name_lane(j, PART_COMM, where, sizeof(where));
	say_text(j, "communication is %.0f %% of the %s%s, %.0f %% of it exposed",
		percent(row->communication_ns, row->wall_ns), time_word(j->figures), where,
		percent(row->exposed_communication_ns, row->communication_ns));
	return true;
}

static bool slow_copies(struct judging *j)
{
	const struct breakdown_row *row = j->row[PART_COPY];
	const struct reason_copies *copies = &j->figures->copies;
	char where[96], rate[64] = "";

	if (!is_main(j, PART_COPY))
		return false;
	name_lane(j, PART_COPY, where, sizeof(where));
	/* Bytes a nanosecond are GB a second. */
	if (copies->ns > 0)
		snprintf(rate, sizeof(rate), " (most of them %s, at %.3g GB/s)", copies->direction,
			copies->bytes / copies->ns);
	say_text(j, "copies are %.0f %% of the %s%s, %.0f %% of it exposed%s",
		percent(row->stream_ns[BREAKDOWN_COPY], row->wall_ns), time_word(j->figures), where,
		percent(row->exposed_copy_ns, row->stream_ns[BREAKDOWN_COPY]), rate);
	return true;
}

/* "GPU 2 idles 41 %" and why. */
__attribute__((format(printf, 2, 3))) static void say_idle(
	struct judging *j, const char *format, ...)
{
	char who[128], why[192];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(why, sizeof(why), format, args); /* cut is fine */
	va_end(args);
	name_gpus(j, PART_IDLE, who, sizeof(who));
	capitalize(who);
	j->reason->lane = j->lane[PART_IDLE];
	if (!j->reason->lane && j->figures->lane_count == 1)
		j->reason->lane = j->figures->lanes;
	say_text(j, "%s %.0f %%: %s", who, j->pct[PART_IDLE], why);
}

static bool launch_bound(struct judging *j)
{
	const struct breakdown_row *row = j->row[PART_IDLE];
	const struct reason_figures *f = j->figures;
	struct reason_sum all = {0};
	char length[32], gap[32];

	for (size_t i = 0; i < f->lane_count; i++)
		for (size_t k = 0; k < f->kind_count; k++)
			if (!j->lane[PART_IDLE] || j->lane[PART_IDLE] == f->lanes + i) {
				all.calls += f->lanes[i].kinds[k].calls;
				all.ns += f->lanes[i].kinds[k].ns;
			}
	if (!is_main(j, PART_IDLE) || !all.calls || !row->gaps ||
		all.ns > (double)all.calls * REASON_SHORT_US * 1e3 ||
		row->gaps * 100 < row->kernels * REASON_GAPS_PCT)
		return false;
	format_time(all.ns / (double)all.calls, length);
	format_time((double)breakdown_idle_ns(row) / (double)row->gaps, gap);
	say_idle(j,
		"launch-bound, kernels are short (%s) and %.0f %% of them begin after %s of "
		"nothing",
		length, percent(row->gaps, row->kernels), gap);
	say_hint(j, "graphs or larger kernels need fewer launches");
	return true;
}

static bool is_cause(const struct judging *j, uint64_t ns)
{
	return is_main(j, PART_IDLE) &&
	       percent(ns, part_ns(j->row[PART_IDLE], PART_IDLE)) >= REASON_CAUSE_PCT;
}

static bool host_sync(struct judging *j)
{
	if (!is_cause(j, j->row[PART_IDLE]->cause_ns[BREAKDOWN_SYNCHRONISATION]))
		return false;
	say_idle(j, "the host waits for it to end before it submits more");
	say_hint(j, "rtl summary has the waiting calls among HOST CALLS");
	return true;
}

static bool late_host(struct judging *j)
{
	const uint64_t *cause_ns = j->row[PART_IDLE]->cause_ns;

	if (!is_cause(j, cause_ns[BREAKDOWN_HOST_LATE] + cause_ns[BREAKDOWN_QUEUE_EMPTY]))
		return false;
	say_idle(j, "the host submits late");
	if (!j->figures->has_calls)
		say_hint(j, "rtl run --mode hip records what it does meanwhile");
	return true;
}

static bool host_in_rccl(struct judging *j)
{
	if (!is_cause(j, j->row[PART_IDLE]->cause_ns[BREAKDOWN_PEER]))
		return false;
	say_idle(j, "the host waits inside RCCL");
	say_hint(j, "rtl collectives says for whom");
	return true;
}

static bool held_back(struct judging *j)
{
	const uint64_t *cause_ns = j->row[PART_IDLE]->cause_ns;

	if (!is_cause(j, cause_ns[BREAKDOWN_DEPENDENCY] + cause_ns[BREAKDOWN_LAUNCH]))
		return false;
	say_idle(j, "kernels are submitted and held back");
	if (j->figures->untimed_copies)
		say_hint(j,
			"perhaps by copies, of which %" PRIu64
			" have no times: rtl run --mode full",
			j->figures->untimed_copies);
	return true;
}

static bool idle(struct judging *j)
{
	const struct breakdown_row *row = j->row[PART_IDLE];
	enum breakdown_cause cause;

	if (!is_main(j, PART_IDLE))
		return false;
	/* There is one: causes sum to the idle time (breakdown_holds()). */
	cause = breakdown_main_cause(row);
	say_idle(j, "several causes, %s the most of them (%.0f %%)", breakdown_cause_words(cause),
		percent(row->cause_ns[cause], breakdown_idle_ns(row)));
	if (!j->figures->has_calls)
		say_hint(j, "rtl run --mode hip records what the host does meanwhile");
	return true;
}

/* ---- no reason ------------------------------------------------------------------------------ */

static bool nothing(struct judging *j)
{
	if (j->figures->dispatched)
		return false;
	say_text(j, "no kernel was dispatched");
	say_hint(j, "rtl doctor and rtl diagnose say why");
	return true;
}

static bool untimed(struct judging *j)
{
	if (j->figures->lane_count)
		return false;
	say_text(j, "no single cause: no kernel has a time");
	say_hint(j, "rtl run --mode standard records times");
	return true;
}

static bool few(struct judging *j)
{
	if (j->figures->timed >= REASON_KERNELS)
		return false;
	say_text(j, "no single cause: %" PRIu64 " %s too few to tell", j->figures->timed,
		j->figures->timed == 1 ? "kernel is" : "kernels are");
	return true;
}

static const struct reason_kind *find_main_kind(const struct reason_figures *f, double *ret_pct)
{
	const struct reason_kind *kind = NULL;
	double most = 0, all = 0;

	for (size_t k = 0; k < f->kind_count; k++) {
		double ns = 0;

		for (size_t i = 0; i < f->lane_count; i++)
			ns += computation(f, f->lanes + i, k).ns;
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
	char buffer[48], most[96] = "";

	if (kind)
		snprintf(most, sizeof(most), " (%.0f %% of it %s)", kind_pct,
			name_kind(kind, buffer));
	say_text(j,
		"no single cause: computation is %.0f %% of the %s%s, exposed communication %.0f "
		"%%, "
		"exposed copies %.0f %%, idle time %.0f %%",
		percent(f->total.stream_ns[BREAKDOWN_COMPUTE], f->total.wall_ns), time_word(f),
		most, part_pct(&f->total, PART_COMM), part_pct(&f->total, PART_COPY),
		part_pct(&f->total, PART_IDLE));
	if (f->untimed_copies)
		say_hint(j, "%" PRIu64 " copies have no times (rtl run --mode full)",
			f->untimed_copies);
	else if (!f->has_steps)
		say_hint(j, "rtl timeline and roctx ranges \"step N\" show it by step");
	else
		say_hint(j, "rtl timeline shows it by step");
	return true;
}

/* ---- all ------------------------------------------------------------------------------------ */

static uint64_t most_kernels(const struct reason_figures *f)
{
	uint64_t most = 0;

	for (size_t i = 0; i < f->lane_count; i++)
		if (f->lanes[i].total.kernels > most)
			most = f->lanes[i].total.kernels;
	return most;
}

static void look_at_part(struct judging *j, enum part part)
{
	const struct reason_figures *f = j->figures;
	double mean = part_pct(&f->total, part), most = mean + REASON_APART_PCT;
	uint64_t kernels = most_kernels(f);

	j->row[part] = &f->total;
	j->pct[part] = mean;
	for (size_t i = 0; f->lane_count > 1 && i < f->lane_count; i++) {
		double pct = part_pct(&f->lanes[i].total, part);

		/* A GPU on which next to nothing ran says nothing of the others. */
		if (pct < most || f->lanes[i].total.kernels * 100 < kernels * REASON_GROUP_PCT)
			continue;
		most = pct;
		j->lane[part] = f->lanes + i;
		j->row[part] = &f->lanes[i].total;
		j->pct[part] = pct;
	}
}

void reason_judge(struct reason *reason)
{
	static bool (*const rules[REASON_CODES])(struct judging *) = {
		[REASON_IS_NOTHING] = nothing,
		[REASON_IS_UNTIMED] = untimed,
		[REASON_IS_FEW] = few,
		[REASON_IS_SLOW_RANK] = slow_rank,
		[REASON_IS_LATE_RANK] = late_rank,
		[REASON_IS_EXPOSED_COMM] = exposed_comm,
		[REASON_IS_SLOW_COPIES] = slow_copies,
		[REASON_IS_LAUNCH_BOUND] = launch_bound,
		[REASON_IS_HOST_SYNC] = host_sync,
		[REASON_IS_LATE_HOST] = late_host,
		[REASON_IS_HOST_IN_RCCL] = host_in_rccl,
		[REASON_IS_HELD_BACK] = held_back,
		[REASON_IS_IDLE] = idle,
		[REASON_IS_NONE] = none,
	};
	struct judging j = {.reason = reason, .figures = &reason->figures};

	for (int i = 0; i < PARTS; i++)
		look_at_part(&j, (enum part)i);
	for (int i = 0; i < REASON_CODES; i++)
		if (rules[i](&j)) {
			reason->code = (enum reason_code)i;
			return;
		}
}
