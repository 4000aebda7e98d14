// SPDX-License-Identifier: MIT
#include "cli/diagnose/diagnose.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "cli/base/memory.h"
#include "cli/diagnose/diagnose_private.h"
#include "cli/base/array.h"
#include "cli/base/wrapping.h"
#include "proto/base/cleanup.h"

static void shares_done(struct diagnose_shares *shares)
{
	free(shares->at);
}

void diagnose_free_p(struct diagnose **diagnose)
{
	if (!*diagnose)
		return;
	for (size_t i = 0; i < (*diagnose)->count; i++)
		free((*diagnose)->findings[i].text);
	free((*diagnose)->findings);
	for (size_t i = 0; i < (*diagnose)->process_count; i++)
		free((*diagnose)->processes[i].gpus);
	free((*diagnose)->processes);
	free(*diagnose);
	*diagnose = NULL;
}

const char *diagnose_level_name(enum diagnose_level level)
{
	static const char *const names[] = {"NOTE", "LOW", "MISSING"};

	return names[level];
}

void diagnose_add(struct diagnose *d, enum diagnose_level level, const struct diagnose_share *share,
	const char *format, ...)
{
	struct diagnose_finding finding = {.level = level};
	va_list args;
	int n;

	if (share) {
		finding.has_process = true;
		finding.has_rank = share->first->has_rank;
		finding.rank = share->first->rank;
		finding.pid = share->first->pid;
		finding.process_id = share->first->process_id;
		finding.kernels = share->kernels;
	}
	va_start(args, format);
	n = vasprintf(&finding.text, format, args);
	va_end(args);
	if (n < 0)
		memory_fail();
	d->findings = grow_by_one(d->findings, d->count, sizeof(*d->findings));
	d->findings[d->count++] = finding;
}

static void add_extent(struct diagnose_share *share, const struct measure_lane *lane)
{
	if (!share->has_times || lane->first_ns < share->first_ns)
		share->first_ns = lane->first_ns;
	if (!share->has_times || lane->last_ns > share->last_ns)
		share->last_ns = lane->last_ns;
	share->has_times = true;
}

/* Only ranks count, because helpers start and end at any time. */
static void add_to_all(struct diagnose_shares *all, const struct diagnose_share *share)
{
	if (!share->has_times || !share->first->has_rank || !share->leads)
		return;
	if (!all->has_times || share->first_ns < all->first_ns)
		all->first_ns = share->first_ns;
	if (!all->has_times || share->last_ns > all->last_ns)
		all->last_ns = share->last_ns;
	all->has_times = true;
}

/* True if it leads a rank and ran about as many kernels as any other. */
static bool is_comparable(const struct diagnose_share *share, uint64_t most)
{
	return share->leads && share->first->has_rank && share->kernels &&
	       (double)share->kernels * 100 >= (double)most * DIAGNOSE_LIKE_PCT;
}

/* Some processes may have been recorded longer than others: by a filter, by steps, by hand. */
static double recorded_part(const struct diagnose_share *share)
{
	return share->skipped < share->kernels
		       ? (double)(share->kernels - share->skipped) / (double)share->kernels
		       : 0;
}

static void expect_rows(struct diagnose_shares *all)
{
	double longest = 0;

	for (size_t i = 0; i < all->count; i++)
		if (is_comparable(all->at + i, all->most))
			longest = fmax(longest, recorded_part(all->at + i));
	for (size_t i = 0; i < all->count; i++)
		all->at[i].expected = (double)all->at[i].kernels * longest;
}

/* The processes of a rank are adjacent, and may be many. */
static void find_working_ranks(struct diagnose_shares *all)
{
	size_t end;

	for (size_t i = 0; i < all->count; i = end) {
		const struct summary_rank *rank = all->at[i].first;
		bool works = false;

		for (end = i; end < all->count && all->at[end].first->has_rank == rank->has_rank &&
			      all->at[end].first->rank == rank->rank;
			end++)
			works |= all->at[end].kernels > 0;
		for (size_t k = i; k < end; k++)
			all->at[k].rank_works = works && rank->has_rank;
	}
}

/* The rows of a process are adjacent. */
static void collect(
	const struct summary *s, const struct leaders *leaders, struct diagnose_shares *ret)
{
	ret->at = xcalloc(s->rank_count + 1, sizeof(*ret->at));
	for (size_t i = 0; i < s->rank_count; i++) {
		const struct summary_rank *rank = s->ranks + i;
		struct diagnose_share *last = ret->at + ret->count - 1;

		if (!ret->count || last->first->process_id != rank->process_id) {
			last = ret->at + ret->count++;
			last->first = rank;
			last->leads = leaders_leads(leaders, rank->process_id);
		}
		last->rows++;
		last->kernels += rank->dispatched;
		last->stored += rank->stored;
		last->untimed += rank->untimed;
		last->dropped += rank->dropped;
		last->skipped += rank->skipped;
		last->outstanding += rank->outstanding;
		last->busy_ns += rank->has_measure ? rank->lane.busy_ns : 0;
		last->work_ns += rank->has_measure ? rank->lane.work_ns : 0;
		if (rank->has_measure)
			add_extent(last, &rank->lane);
		if (last->leads && last->kernels > ret->most)
			ret->most = last->kernels;
	}
	for (size_t i = 0; i < ret->count; i++)
		add_to_all(ret, ret->at + i);
	expect_rows(ret);
	find_working_ranks(ret);
}

static void format_time(double ns, char ret[32])
{
	if (ns >= 1e9)
		snprintf(ret, 32, "%.1f s", ns / 1e9);
	else
		snprintf(ret, 32, "%.1f ms", ns / 1e6);
}

/*
 * Appends the reason for fewer kernels, as far as the file tells it, such as "; its first kernel
 * began 3.2 s after the others'".
 */
static void explain_few(const struct diagnose_shares *all, const struct diagnose_share *share,
	char *ret, size_t bytes)
{
	double wall = (double)all->last_ns - (double)all->first_ns;
	double late = (double)share->first_ns - (double)all->first_ns;
	double early = (double)all->last_ns - (double)share->last_ns;
	char time[32];

	format_time(early > late ? early : late, time);
	ret[0] = '\0';
	if (!share->has_times)
		snprintf(ret, bytes, "; none has a time");
	else if (early > late && early * 100 > wall * DIAGNOSE_EXTENT_PCT)
		snprintf(ret, bytes, "; its last kernel ended %s before the others'", time);
	else if (late * 100 > wall * DIAGNOSE_EXTENT_PCT)
		snprintf(ret, bytes, "; its first kernel began %s after the others'", time);
	else
		snprintf(ret, bytes,
			"; over the same time: other work, or a queue that was not followed?");
}

/*
 * A launcher or a data loader dispatches nothing and has no rank, or that of its parent: this is
 * normal.
 */
static void add_no_kernels(struct diagnose *d, const struct diagnose_share *share)
{
	const char *note = share->first->note ? share->first->note : "dispatched nothing";

	if (!share->first->has_rank || share->rank_works) {
		diagnose_add(
			d, DIAGNOSE_NOTE, share, "no kernels: %s; a launcher or a helper?", note);
		return;
	}
	diagnose_add(d, DIAGNOSE_MISSING, share,
		"no kernels: %s; did it work on the CPU, die early, or use another runtime?", note);
}

/* Compares the number of kernels. */
static bool is_alike(const struct diagnose_share *share, uint64_t most)
{
	return (double)share->kernels * 100 >= (double)most * (100 - DIAGNOSE_ALIKE_PCT);
}

static void judge(
	struct diagnose *d, const struct diagnose_share *share, const struct diagnose_shares *all)
{
	char why[96];
	uint64_t most = all->most;
	uint64_t percent = most ? (uint64_t)((double)share->kernels * 100 / (double)most) : 0;

	if (!share->kernels) {
		add_no_kernels(d, share);
		return;
	}
	if (!share->leads || !share->first->has_rank || is_alike(share, most))
		return;
	explain_few(all, share, why, sizeof(why));
	diagnose_add(d, percent < DIAGNOSE_LOW_PCT ? DIAGNOSE_LOW : DIAGNOSE_NOTE, share,
		"%" PRIu64 " kernels, %" PRIu64 " %% of the rank with most (%" PRIu64
		"); state: %s%s",
		share->kernels, percent, most, share->first->state, why);
}

/* True if @count is about all of them. */
static bool is_known(uint64_t count, const struct diagnose_share *share)
{
	return (double)count * 100 >= share->expected * DIAGNOSE_KNOWN_PCT;
}

/* Dispatches without a row or a time are misleading if only one rank has them. */
static void judge_losses(struct diagnose *d, const struct diagnose_share *share, uint64_t most)
{

	if (share->skipped && is_comparable(share, most) &&
		!is_known(share->kernels - share->skipped, share))
		diagnose_add(d, DIAGNOSE_NOTE, share,
			"%" PRIu64 " of its %" PRIu64 " kernels were not recorded, more than of "
			"others: neither its work nor its kernels are held against theirs",
			share->skipped, share->kernels);
	if (share->dropped)
		diagnose_add(d, DIAGNOSE_NOTE, share,
			"%" PRIu64 " of its kernels were dropped; rtl summary says why",
			share->dropped);
	if (share->outstanding)
		diagnose_add(d, DIAGNOSE_NOTE, share,
			"%" PRIu64 " of its kernels had not ended; rtl outstanding says which",
			share->outstanding);
	if (share->untimed && share->untimed * 2 > share->stored)
		diagnose_add(d, DIAGNOSE_NOTE, share,
			"%" PRIu64 " of its %" PRIu64 " kernels have no times: signals of the "
			"program's own, in --mode lite or shared?",
			share->untimed, share->stored);
}

bool diagnose_has_rows(const struct diagnose_share *share, uint64_t most)
{
	return is_comparable(share, most) && is_known(share->stored, share);
}

/* Kernels that were dropped, not recorded, or have no times do not mean that time was saved. */
static bool has_work(const struct diagnose_share *share, uint64_t most)
{
	return diagnose_has_rows(share, most) && share->stored >= share->untimed &&
	       is_known(share->stored - share->untimed, share);
}

static int compare_work(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* @percent: deviation from the rank in the middle. */
static void judge_work(
	struct diagnose *d, const struct diagnose_share *share, double percent, uint64_t most)
{
	if (percent >= DIAGNOSE_ALIKE_PCT) {
		diagnose_add(d, DIAGNOSE_NOTE, share,
			"straggler? its GPU worked %.0f %% longer than that of the rank in the "
			"middle (communication not counted)",
			percent);
		return;
	}
	/* Fewer kernels are less work, which was reported already. */
	if (percent <= -DIAGNOSE_ALIKE_PCT && is_alike(share, most)) {
		diagnose_add(d, DIAGNOSE_NOTE, share,
			"its GPU worked %.0f %% less than that of the rank in the middle "
			"(communication not counted): less work, or a faster GPU?",
			-percent);
		return;
	}
}

/*
 * The rank runs as many kernels as the rank in the middle, but works longer, so the others wait for
 * it. They wait inside of collectives and look as busy as it is, so communication does not count as
 * work.
 */
static void find_stragglers(struct diagnose *d, const struct diagnose_shares *shares)
{
	CLEANUP(free_p) uint64_t *work = xcalloc(shares->count + 1, sizeof(*work));
	size_t count = 0;
	uint64_t middle;

	for (size_t i = 0; i < shares->count; i++)
		if (has_work(shares->at + i, shares->most))
			work[count++] = shares->at[i].work_ns;
	d->ranks_with_work = count;
	if (count < 2)
		return;
	qsort(work, count, sizeof(*work), compare_work);
	middle = work[(count - 1) / 2];
	for (size_t i = 0; i < shares->count && middle; i++) {
		const struct diagnose_share *share = shares->at + i;

		if (has_work(share, shares->most))
			judge_work(d, share, (double)share->work_ns * 100 / (double)middle - 100,
				shares->most);
	}
}

/* Finds missing ranks between those that are here, which is typical if a shim was not loaded. */
static void find_holes(struct diagnose *d, const struct diagnose_shares *shares)
{
	int64_t expected = -1;

	for (size_t i = 0; i < shares->count; i++) {
		const struct summary_rank *rank = shares->at[i].first;

		if (!rank->has_rank)
			continue;
		if (expected >= 0 && rank->rank > expected)
			diagnose_add(d, DIAGNOSE_MISSING, NULL,
				"%" PRId64 " ranks from %" PRId64
				" on never said hello, though rank %" PRId64
				" did; is HSA_TOOLS_LIB inherited there?",
				wrap_minus(rank->rank, expected), expected, rank->rank);
		expected = wrap_plus(rank->rank, 1);
	}
}

/* Compares with the number of ranks that the launcher set. Others may be on another node. */
static void find_others(struct diagnose *d, const struct diagnose_shares *shares)
{
	int64_t world = 0, here = 0;

	for (size_t i = 0; i < shares->count; i++) {
		const struct summary_rank *rank = shares->at[i].first;

		/* A rank's processes are adjacent, because they are sorted by rank. */
		here += rank->has_rank && (!i || rank->rank != shares->at[i - 1].first->rank);
		/* A preflight may have belonged to another job. */
		if ((shares->at[i].leads || !shares->at[i].rank_works) && rank->world_size > world)
			world = rank->world_size;
	}
	if (!here || here >= world)
		return;
	diagnose_add(d, DIAGNOSE_NOTE, NULL,
		"%" PRId64 " of %" PRId64
		" ranks are in here; the others are on other nodes, or never said hello",
		here, world);
}

static char *list_gpus(const struct diagnose_share *share)
{
	char *text = xstrdup("");

	for (size_t i = 0; i < share->rows; i++) {
		char *longer;

		if (!share->first[i].has_gpu)
			continue;
		longer =
			xasprintf("%s%s%" PRId64, text, text[0] ? "," : "", share->first[i].gpu_id);
		free(text);
		text = longer;
	}
	return text;
}

static void list_processes(struct diagnose *d, const struct diagnose_shares *shares)
{
	d->processes = xcalloc(shares->count + 1, sizeof(*d->processes));
	for (size_t i = 0; i < shares->count; i++) {
		const struct diagnose_share *share = shares->at + i;

		d->processes[i] = (struct diagnose_process){.first = share->first,
			.gpus = list_gpus(share),
			.leads = share->leads,
			.kernels = share->kernels,
			.untimed = share->untimed,
			.busy_ns = share->busy_ns,
			.work_ns = share->work_ns};
		d->process_count++;
		d->ranks += share->leads && share->first->has_rank;
		d->others += !share->leads && share->kernels;
	}
}

static void judge_all(
	struct diagnose *d, const struct summary *s, const struct diagnose_shares *shares)
{

	if (!shares->count) {
		diagnose_add(d, DIAGNOSE_MISSING, NULL,
			s->verdict->counts.unseen_of_users
				? "no process could be recorded: they have another uid than the "
				  "collector, "
				  "which only root's takes; start rtl run as that user, or as root"
			: s->verdict->counts.processes_unseen
				? "no process could be recorded: they had no room for it, or a "
				  "sandbox keeps "
				  "them from it; their first line on stderr says which"
			: s->verdict->counts.unwatched ? "no process said hello, but the collector "
							 "was not there all the time"
						       : "no process said hello: no HSA used; "
							 "HSA_TOOLS_LIB not inherited (env -i, "
							 "sudo, ssh, a batch system's own "
							 "environment); a container without the "
							 "files of rtl, or with a network "
							 "namespace of its own and another uid; a "
							 "program that is setuid, or has a static "
							 "runtime; see rtl doctor");
		return;
	}
	if (!shares->most)
		diagnose_add(d, DIAGNOSE_MISSING, NULL,
			"no process dispatched anything; see rtl doctor");
	for (size_t i = 0; i < shares->count; i++)
		judge(d, shares->at + i, shares);
	find_stragglers(d, shares);
	diagnose_kernels(d, s, shares);
	for (size_t i = 0; i < shares->count; i++)
		judge_losses(d, shares->at + i, shares->most);
	find_holes(d, shares);
	find_others(d, shares);
	if (!s->verdict->is_complete && !s->verdict->is_unknown && !s->verdict->counts.live)
		diagnose_add(d, DIAGNOSE_NOTE, NULL,
			"something is missing; rtl summary says what and why");
}

struct diagnose *diagnose_new(const struct summary *summary, const struct leaders *leaders)
{
	struct diagnose *d = xcalloc(1, sizeof(*d));
	CLEANUP(shares_done) struct diagnose_shares shares = {0};

	collect(summary, leaders, &shares);
	list_processes(d, &shares);
	judge_all(d, summary, &shares);
	return d;
}
