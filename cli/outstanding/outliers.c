// SPDX-License-Identifier: MIT
/*
 * Finds the rank that stands out. Ranks of a job behave alike: if most of them wait in one
 * operation, they wait for the rank that is not in it; if one rank waits and the others do not,
 * that rank stands out. A wait counts from OUTSTANDING_LONG_NS on. The sentence tells what was
 * observed, and never guesses the cause.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/outstanding/outstanding.h"
#include "cli/base/wrapping.h"
#include "proto/base/cleanup.h"

/* This many are named; of further ones only the number is printed. */
#define NAMED_MAX 3

struct group {
	const struct outstanding_wait *wait; /* of its first rank; NULL if there is none */
	size_t count;
};

/* ---- text ------------------------------------------------------------------------------ */

const char *outstanding_status(const struct outstanding_rank *rank)
{
	static char text[48];
	const char *name = rank->has_status && rank->status > 128 && rank->status < 128 + NSIG
				   ? sigabbrev_np((int)rank->status - 128)
				   : NULL;

	if (rank->ended && !strcmp(rank->ended, "killed") && name)
		snprintf(text, sizeof(text), "SIG%s", name);
	else if (rank->has_status)
		snprintf(text, sizeof(text), "exit status %" PRId64, rank->status);
	else
		snprintf(text, sizeof(text), "how is not known");
	return text;
}

static void put_count(FILE *to, int64_t count)
{
	CLEANUP(free_p) char *text = render_count(count);

	fputs(text ? text : "?", to);
}

static void put_name(FILE *to, const char *name)
{
	CLEANUP(free_p) char *safe = render_escape_cut(name, strlen(name), 60);

	fputs(safe ? safe : "", to);
}

#define ANONYMOUS "(anonymous namespace)"

void outstanding_put_kernel(FILE *to, const char *name)
{
	CLEANUP(free_p) char *brief = NULL;
	const char *base;
	size_t end = 0;

	if (!name) {
		fputs("a kernel without a name", to);
		return;
	}
	if (!strncmp(name, "void ", 5))
		name += 5;
	while (name[end] && name[end] != '<' && name[end] != '(')
		end += name[end + 1] && !strncmp(name + end + 1, ANONYMOUS, strlen(ANONYMOUS))
			       ? 1 + strlen(ANONYMOUS)
			       : 1;
	brief = end ? xstrndup(name, end) : NULL;
	if (!brief) {
		put_name(to, name);
		return;
	}
	base = brief;
	while (strstr(base, "::"))
		base = strstr(base, "::") + 2;
	put_name(to, *base ? base : name);
}

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/* ncclAllReduce becomes all_reduce; other names stay as they are. */
static void put_operation(FILE *to, const char *op)
{
	const char *at = op && !strncmp(op, "nccl", 4) ? op + 4 : NULL;
	bool is_word = at && !at[strspn(at, LETTERS)];

	if (!is_word) {
		put_name(to, op ? op : "?");
		return;
	}
	for (const char *c = at; *c; c++) {
		if (*c >= 'A' && *c <= 'Z' && c > at)
			fputc('_', to);
		fputc(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c, to);
	}
}

void outstanding_put_call(FILE *to, const char *op, int64_t seq)
{
	put_operation(to, op);
	fprintf(to, " #");
	put_count(to, seq);
}

void outstanding_put_unended(FILE *to, const struct outstanding_rank *rank)
{
	if (!rank->unended)
		return;
	fprintf(to, "; ");
	put_count(to, rank->unended);
	fprintf(to,
		rank->unended == 1 ? " dispatch not seen to end" : " dispatches not seen to end");
}

static const char *ordinal_end(int64_t n)
{
	if (n % 100 / 10 == 1)
		return "th";
	return n % 10 == 1 ? "st" : n % 10 == 2 ? "nd" : n % 10 == 3 ? "rd" : "th";
}

void outstanding_put_wait(FILE *to, const struct outstanding_wait *wait)
{
	if (wait->has_collective) {
		outstanding_put_call(to, wait->op, wait->comm_seq);
		fprintf(to, " of communicator %#" PRIx64, (uint64_t)wait->comm);
		return;
	}
	fprintf(to, "kernel ");
	outstanding_put_kernel(to, wait->kernel);
	if (!wait->communication)
		return;
	fprintf(to, " (its ");
	put_count(to, wait->nth);
	fprintf(to, "%s %s)", ordinal_end(wait->nth), wait->communication);
}

static void put_seconds(FILE *to, int64_t ns)
{
	fprintf(to, "%" PRId64 ".%" PRId64 " s", ns / 1000000000, ns / 100000000 % 10);
}

static void put_rank(FILE *to, const struct outstanding_rank *rank)
{
	if (rank->has_rank)
		fprintf(to, "rank %" PRId64, rank->rank);
	else
		fprintf(to, "process %" PRId64, rank->pid);
}

/* Prints "ranks 0-2,4-7" for the ranks that @is_in marks; ranks are sorted. */
static void put_ranks(FILE *to, const struct outstanding *o, const bool *is_in)
{
	size_t count = 0, nameless = 0, first = 0;

	for (size_t i = 0; i < o->count; i++) {
		if (is_in[i] && !count++)
			first = i;
		nameless += is_in[i] && !o->ranks[i].has_rank;
	}
	if (count == 1) {
		put_rank(to, o->ranks + first);
		return;
	}
	if (nameless) {
		fprintf(to, "%zu processes", count);
		return;
	}
	fprintf(to, "ranks ");
	for (size_t i = first; i < o->count; i++) {
		int64_t begin = o->ranks[i].rank, end = begin;

		if (!is_in[i])
			continue;
		while (i + 1 < o->count && is_in[i + 1] && o->ranks[i + 1].rank <= end + 1)
			end = o->ranks[++i].rank;
		fprintf(to, "%s%" PRId64, count ? "" : ",", begin);
		if (end > begin)
			fprintf(to, "-%" PRId64, end);
		count = 0;
	}
}

/* ---- what a rank does ------------------------------------------------------------------ */

static bool is_dead(const struct outstanding_rank *rank)
{
	return !rank->is_alive;
}

/* True if it ended by a signal, with a status other than 0, or in an unknown way. */
static bool died(const struct outstanding_rank *rank)
{
	if (rank->is_unseen)
		return true;
	return is_dead(rank) &&
	       (!strcmp(rank->ended, "killed") || !strcmp(rank->ended, "unknown") ||
		       (rank->has_status && rank->status != 0));
}

const struct outstanding_wait *outstanding_in(const struct outstanding_rank *rank)
{
	const struct outstanding_wait *wait = rank->wait_count ? rank->waits : NULL;

	/*
	 * It was in it when its shim checked last. Files from before schema 9 do not tell when it
	 * died.
	 */
	if (!wait || rank->is_alive || rank->is_unseen || !rank->as_of_ns)
		return wait;
	return wait->ran_ns >= OUTSTANDING_LONG_NS ? wait : NULL;
}

/* Returns what the rank waits in, if it has done so for long. */
static const struct outstanding_wait *long_wait(const struct outstanding_rank *rank)
{
	const struct outstanding_wait *wait = outstanding_in(rank);

	return wait && (wait->for_ns < 0 || wait->for_ns >= OUTSTANDING_LONG_NS) ? wait : NULL;
}

static bool is_communication(const struct outstanding_wait *wait)
{
	return wait->has_collective || wait->communication;
}

static bool is_same(const struct outstanding_wait *a, const struct outstanding_wait *b)
{
	if (a->has_collective != b->has_collective)
		return false;
	if (a->has_collective)
		return a->comm == b->comm && a->comm_seq == b->comm_seq && !strcmp(a->op, b->op);
	if (a->communication && b->communication)
		return a->nth == b->nth && !strcmp(a->communication, b->communication);
	if (a->communication || b->communication)
		return false;
	return a->kernel && b->kernel && !strcmp(a->kernel, b->kernel);
}

/* Prints what the rank does instead of waiting. */
static void put_doing(FILE *to, const struct outstanding_rank *rank)
{
	const struct outstanding_wait *wait = outstanding_in(rank);
	int64_t since_ns = 0; /* a rank that was active a moment ago is not idle */

	if (rank->is_unseen)
		fprintf(to, "is gone (no collector saw how)");
	else if (died(rank))
		fprintf(to, "died (%s)", outstanding_status(rank));
	else if (is_dead(rank))
		fprintf(to, "has ended (%s)", outstanding_status(rank));
	if (wait) {
		fprintf(to, is_dead(rank) ? " in " : "is in ");
		outstanding_put_wait(to, wait);
		if (wait->for_ns >= 0) {
			fprintf(to, is_dead(rank) ? ", submitted " : " for ");
			put_seconds(to, wait->for_ns);
			fprintf(to, "%s", is_dead(rank) ? " before" : "");
		}
		return;
	}
	if (!rank->has_last) {
		fprintf(to,
			is_dead(rank) ? ", having finished nothing" : "has finished nothing yet");
		outstanding_put_unended(to, rank);
		return;
	}
	fprintf(to, is_dead(rank) ? ", having finished " : "last finished ");
	outstanding_put_kernel(to, rank->last);
	if (rank->as_of_ns > rank->last_end_ns) {
		since_ns = wrap_minus(rank->as_of_ns, rank->last_end_ns);
		fprintf(to, " ");
		put_seconds(to, since_ns);
		fprintf(to, is_dead(rank) ? " before" : " ago");
	}
	if (is_dead(rank))
		fprintf(to, " as its last kernel");
	if (is_dead(rank))
		outstanding_put_unended(to, rank);
	else if (since_ns < 0 || since_ns >= OUTSTANDING_LONG_NS)
		fprintf(to, " and has submitted nothing since");
}

/* Prints how far it has come in the communicator of @wait, if that is known. */
static void put_behind(
	FILE *to, const struct outstanding_rank *rank, const struct outstanding_wait *wait)
{
	const struct outstanding_wait *own = rank->wait_count ? rank->waits : NULL;

	if (!wait->has_collective || (own && own->has_collective && own->comm == wait->comm))
		return;
	for (size_t i = 0; i < rank->called_count; i++) {
		const struct outstanding_collective *called = rank->called + i;

		if (called->comm != wait->comm)
			continue;
		fprintf(to, "; its last call in that communicator was ");
		outstanding_put_call(to, called->op, called->seq);
	}
}

/* ---- groups ---------------------------------------------------------------------------- */

/*
 * Returns the largest group of ranks that wait in the same operation; communication has priority.
 */
static struct group largest(const struct outstanding *o, const bool *is_of)
{
	struct group best = {0};

	for (size_t i = 0; i < o->count; i++) {
		const struct outstanding_wait *wait = is_of[i] ? long_wait(o->ranks + i) : NULL;
		struct group group = {.wait = wait};

		for (size_t j = 0; wait && j < o->count; j++) {
			const struct outstanding_wait *other =
				is_of[j] ? long_wait(o->ranks + j) : NULL;

			group.count += other && is_same(wait, other);
		}
		if (!wait)
			continue;
		if (!best.wait || is_communication(wait) > is_communication(best.wait) ||
			(is_communication(wait) == is_communication(best.wait) &&
				group.count > best.count))
			best = group;
	}
	return best;
}

/* Returns how many. Ranks that died before may stand out in their own way. */
static size_t mark_odd(struct outstanding *o, const bool *is_odd)
{
	size_t count = 0;

	for (size_t i = 0; i < o->count; i++) {
		o->is_odd[i] |= is_odd[i];
		count += is_odd[i];
	}
	return count;
}

/* "Rank 3 is not in X: it ...; ranks 0-2,4-7 wait in it" */
static void say_absent(FILE *to, struct outstanding *o, const bool *is_in, const bool *is_absent,
	const struct outstanding_wait *wait)
{
	size_t named = 0, odd = mark_odd(o, is_absent);

	put_ranks(to, o, is_absent);
	if (o->is_live)
		fprintf(to, odd == 1 ? " is not in " : " are not in ");
	else
		fprintf(to, odd == 1 ? " was not in " : " were not in ");
	outstanding_put_wait(to, wait);
	for (size_t i = 0; i < o->count && named < NAMED_MAX; i++) {
		if (!is_absent[i])
			continue;
		fprintf(to, named++ ? "; " : ": ");
		if (odd == 1)
			fprintf(to, "it");
		else
			put_rank(to, o->ranks + i);
		fprintf(to, " ");
		put_doing(to, o->ranks + i);
		put_behind(to, o->ranks + i, wait);
	}
	if (odd > named)
		fprintf(to, "; and %zu more", odd - named);
	fprintf(to, "; ");
	put_ranks(to, o, is_in);
	fprintf(to, o->is_live ? " wait in it" : " waited in it");
}

/*
 * Prints what the ranks of @is_absent do: together if it is the same, otherwise for the first of
 * them.
 */
static void put_others(FILE *to, const struct outstanding *o, const bool *is_absent)
{
	const struct outstanding_rank *first = NULL;
	bool are_idle = true;
	size_t count = 0;

	for (size_t i = 0; i < o->count; i++) {
		if (!is_absent[i])
			continue;
		first = first ? first : o->ranks + i;
		are_idle &= !o->ranks[i].wait_count;
		count++;
	}
	put_ranks(to, o, is_absent);
	if (are_idle && !o->is_live) {
		fprintf(to, " had nothing in flight");
		return;
	}
	if (are_idle)
		fprintf(to,
			count == 1 ? " has nothing in flight: it " : " have nothing in flight, ");
	else
		fprintf(to, count == 1 ? " " : ": ");
	if (count > 1) {
		put_rank(to, first);
		fprintf(to, " ");
	}
	put_doing(to, first);
}

/* "Rank 2 is the only one in X, for 8.1 s; ..." */
static void say_alone(FILE *to, struct outstanding *o, const bool *is_in, const bool *is_absent,
	const struct outstanding_wait *wait)
{
	size_t odd = mark_odd(o, is_in);

	put_ranks(to, o, is_in);
	if (o->is_live)
		fprintf(to, odd == 1 ? " is the only one in " : " are the only ones in ");
	else
		fprintf(to, odd == 1 ? " was the only one in " : " were the only ones in ");
	outstanding_put_wait(to, wait);
	if (wait->for_ns >= 0) {
		fprintf(to, ", for ");
		put_seconds(to, wait->for_ns);
	}
	fprintf(to, "; ");
	put_others(to, o, is_absent);
}

static void say_no_outlier(FILE *to, const struct outstanding *o, const struct group *group)
{
	fprintf(to, "no rank stands out: ");
	if (!group->wait) {
		fprintf(to, "nothing has been in flight for a second");
		return;
	}
	fprintf(to, "all %zu %s in ", group->count, o->is_live ? "wait" : "waited");
	outstanding_put_wait(to, group->wait);
	if (group->wait->for_ns >= 0) {
		fprintf(to, ", for ");
		put_seconds(to, group->wait->for_ns);
	}
}

static void say_single(FILE *to, const struct outstanding *o, const bool *is_in)
{
	for (size_t i = 0; i < o->count; i++) {
		if (!is_in[i])
			continue;
		fprintf(to, "there is only ");
		put_rank(to, o->ranks + i);
		fprintf(to, ", which ");
		put_doing(to, o->ranks + i);
	}
}

/* ---- hangs ----------------------------------------------------------------------------- */

/* True if nothing of a live rank has ended for @min_ns, as its collector saw a moment ago. */
static bool stands_still(const struct outstanding_rank *rank, int64_t min_ns)
{
	return !rank->is_stopped && wrap_minus(rank->as_of_ns, rank->waits->taken_ns) < min_ns &&
	       (!rank->has_last || wrap_minus(rank->as_of_ns, rank->last_end_ns) >= min_ns);
}

/* Returns what the rank has waited in for @min_ns. */
static const struct outstanding_wait *hangs_in(
	const struct outstanding *o, const struct outstanding_rank *rank, int64_t min_ns)
{
	const struct outstanding_wait *wait = outstanding_in(rank);

	if (!wait || wait->ran_ns < min_ns || rank->is_alive != o->is_live)
		return NULL;
	return !rank->is_alive || stands_still(rank, min_ns) ? wait : NULL;
}

static const struct outstanding_wait *find_longest(
	const struct outstanding *o, int64_t min_ns, bool is_odd_only)
{
	const struct outstanding_wait *longest = NULL;

	for (size_t i = 0; i < o->count; i++) {
		const struct outstanding_wait *wait = hangs_in(o, o->ranks + i, min_ns);

		if (wait && (o->is_odd[i] || !is_odd_only) &&
			(!longest || wait->ran_ns > longest->ran_ns))
			longest = wait;
	}
	return longest;
}

static char *wait_name(const struct outstanding_wait *wait)
{
	char *name = NULL;
	FILE *to = xmemstream(&name);

	if (wait->has_collective)
		outstanding_put_call(to, wait->op, wait->comm_seq);
	else
		outstanding_put_kernel(to, wait->kernel);
	xfclose(to);
	return name;
}

/* "ranks 0-2,4-7"; "12 ranks" where that is long. */
static char *ranks_name(const struct outstanding *o, const bool *is_in, size_t count)
{
	char *name = NULL;
	FILE *to = xmemstream(&name);

	put_ranks(to, o, is_in);
	xfclose(to);
	if (count == 1 || strlen(name) <= strlen("ranks 0-2,4-7"))
		return name;
	free(name);
	return xasprintf("%zu ranks", count);
}

static const char *say_not_in(bool is_live, size_t count)
{
	if (is_live)
		return count == 1 ? " is not in it" : " are not in it";
	return count == 1 ? " was not in it" : " were not in it";
}

/* The line is cut in the name of the kernel only. */
static char *hang_line(const struct outstanding *o, const struct outstanding_hang *hang,
	const struct outstanding_wait *wait, const bool *is_in, const bool *is_absent)
{
	size_t in = 0, absent = 0, others;
	CLEANUP(free_p) char *ranks = NULL;
	CLEANUP(free_p) char *what = wait_name(wait);
	CLEANUP(free_p) char *name = NULL;
	CLEANUP(free_p) char *missing = NULL;
	CLEANUP(free_p) char *end = NULL;
	bool is_live = false;

	for (size_t i = 0; i < o->count; i++) {
		in += is_in[i];
		absent += is_absent[i];
		is_live |= is_in[i] && o->ranks[i].is_alive;
	}
	ranks = ranks_name(o, is_in, in);
	if (*ranks >= 'a' && *ranks <= 'z')
		*ranks = (char)(*ranks - 'a' + 'A');
	missing = absent ? ranks_name(o, is_absent, absent) : NULL;
	end = xasprintf(" for %" PRId64 ".%" PRId64 " s%s%s%s", hang->for_ns / 1000000000,
		hang->for_ns / 100000000 % 10, missing ? "; " : "", missing ? missing : "",
		missing ? say_not_in(is_live, absent) : "");
	others = strlen(ranks) + strlen(" hangs in ") + strlen(end);
	name = render_escape_cut(what, strlen(what),
		others + 10 < OUTSTANDING_LINE_MAX ? OUTSTANDING_LINE_MAX - others : 10);
	return xasprintf("%s %s in %s%s", ranks,
		!is_live  ? "hung"
		: in == 1 ? "hangs"
			  : "hang",
		name, end);
}

static char *hang_text(const struct outstanding *o, const char *line,
	const struct outstanding_wait *wait, const bool *is_absent)
{
	const struct outstanding_rank *first = NULL;
	char *text = NULL;
	size_t absent = 0;
	FILE *to = xmemstream(&text);

	fputs(line, to);
	for (size_t i = 0; i < o->count; i++) {
		absent += is_absent[i];
		first = is_absent[i] && !first ? o->ranks + i : first;
	}
	if (first) {
		fputs(": ", to);
		if (absent == 1)
			fputs("it", to);
		else
			put_rank(to, first);
		fputc(' ', to);
		put_doing(to, first);
		put_behind(to, first, wait);
	}
	xfclose(to);
	return text;
}

/* Fills the ranks that hang in @wait, and those that are missing in it. */
static void divide(const struct outstanding *o, const struct outstanding_wait *wait, int64_t min_ns,
	bool *is_in, bool *is_absent)
{
	int64_t part = 0;

	for (size_t i = 0; i < o->count; i++) {
		const struct outstanding_wait *other = hangs_in(o, o->ranks + i, min_ns);

		is_in[i] = other && (other == wait || is_same(other, wait));
		is_absent[i] = is_communication(wait) && o->is_odd[i] && !is_in[i] &&
			       !long_wait(o->ranks + i);
		part += is_in[i] || is_absent[i];
	}
	if (wait->has_comm_size && part != wait->comm_size)
		memset(is_absent, 0, o->count * sizeof(*is_absent));
}

struct outstanding_hang *outstanding_find_hang(const struct outstanding *o, int64_t min_ns)
{
	const struct outstanding_wait *wait = find_longest(o, min_ns, true);
	CLEANUP(free_p) bool *is_in = xcalloc(o->count + 1, sizeof(bool));
	CLEANUP(free_p) bool *is_absent = xcalloc(o->count + 1, sizeof(bool));
	struct outstanding_hang *hang;

	wait = wait ? wait : find_longest(o, min_ns, false);
	if (!wait)
		return NULL;
	divide(o, wait, min_ns, is_in, is_absent);
	hang = xcalloc(1, sizeof(*hang));
	hang->for_ns = wait->ran_ns;
	hang->line = hang_line(o, hang, wait, is_in, is_absent);
	hang->text = hang_text(o, hang->line, wait, is_absent);
	return hang;
}

void outstanding_hang_free_p(struct outstanding_hang **hang)
{
	if (!*hang)
		return;
	free((*hang)->line);
	free((*hang)->text);
	free(*hang);
	*hang = NULL;
}

/* ---- judgement ------------------------------------------------------------------------- */

/* Considers the ranks of @is_of. */
static void judge_waits(FILE *to, struct outstanding *o, const bool *is_of)
{
	struct group group = largest(o, is_of);
	CLEANUP(free_p) bool *is_in = xcalloc(o->count + 1, sizeof(bool));
	CLEANUP(free_p) bool *is_absent = xcalloc(o->count + 1, sizeof(bool));
	size_t absent = 0;

	for (size_t i = 0; i < o->count; i++) {
		const struct outstanding_wait *wait = is_of[i] ? long_wait(o->ranks + i) : NULL;

		is_in[i] = wait && group.wait && is_same(wait, group.wait);
		is_absent[i] = is_of[i] && !is_in[i];
		absent += is_absent[i];
	}
	if (!group.wait || (!absent && group.count > 1)) {
		say_no_outlier(to, o, &group);
	} else if (!absent) {
		say_single(to, o, is_in);
	} else if (is_communication(group.wait) ? absent <= group.count : absent < group.count) {
		say_absent(to, o, is_in, is_absent, group.wait);
	} else if (group.count <= absent) {
		say_alone(to, o, is_in, is_absent, group.wait);
	}
}

/* "Rank 2 died (SIGKILL) in kernel foo; of the others, ..." */
static void say_died(FILE *to, struct outstanding *o, const bool *is_odd, const bool *is_other)
{
	size_t named = 0, odd = mark_odd(o, is_odd);

	for (size_t i = 0; i < o->count && named < NAMED_MAX; i++) {
		if (!is_odd[i])
			continue;
		if (named++)
			fprintf(to, "; ");
		put_rank(to, o->ranks + i);
		fprintf(to, " ");
		put_doing(to, o->ranks + i);
	}
	if (odd > named)
		fprintf(to, "; and %zu more", odd - named);
	fprintf(to, "; ");
	if (largest(o, is_other).wait) {
		fprintf(to, "of the others, ");
		judge_waits(to, o, is_other);
		return;
	}
	put_ranks(to, o, is_other);
	fprintf(to, o->is_live ? " had nothing in flight for a second" : " ended otherwise");
}

static size_t mark(const struct outstanding *o, bool (*is)(const struct outstanding_rank *rank),
	bool *in, bool *out)
{
	size_t count = 0;

	for (size_t i = 0; i < o->count; i++) {
		in[i] = is(o->ranks + i);
		out[i] = !in[i];
		count += in[i];
	}
	return count;
}

static bool has_waits(const struct outstanding_rank *rank)
{
	return rank->wait_count > 0;
}

/*
 * When all ranks are dead: the rank that ended in another way than most, since the rank that fails
 * first often makes the others fail, too.
 */
static size_t mark_other_status(const struct outstanding *o, bool *in, bool *out)
{
	size_t best = 0, most = 0, count = 0;

	for (size_t i = 0; i < o->count; i++) {
		size_t same = 0;

		for (size_t j = 0; j < o->count; j++)
			same += o->ranks[j].status == o->ranks[i].status;
		if (same > most) {
			most = same;
			best = i;
		}
	}
	for (size_t i = 0; i < o->count; i++) {
		in[i] = o->ranks[i].status != o->ranks[best].status;
		out[i] = !in[i];
		count += in[i];
	}
	return count;
}

static void judge(FILE *to, struct outstanding *o)
{
	CLEANUP(free_p) bool *in = xcalloc(o->count + 1, sizeof(bool));
	CLEANUP(free_p) bool *out = xcalloc(o->count + 1, sizeof(bool));
	size_t count;

	if (!o->count) {
		fprintf(to, "nothing was dispatched");
		return;
	}
	count = mark(o, died, in, out);
	if (count && count < o->count) {
		say_died(to, o, in, out);
		return;
	}
	if (!o->is_live && !mark(o, has_waits, in, out)) {
		fprintf(to, "nothing is outstanding");
		return;
	}
	if (count == o->count && mark_other_status(o, in, out)) {
		say_died(to, o, in, out);
		return;
	}
	memset(in, true, o->count);
	judge_waits(to, o, in);
}

void outstanding_judge(struct outstanding *o)
{
	FILE *to = xmemstream(&o->sentence);

	o->is_odd = xcalloc(o->count + 1, sizeof(*o->is_odd));
	judge(to, o);
	xfclose(to);
	if (o->sentence[0] >= 'a' && o->sentence[0] <= 'z')
		o->sentence[0] = (char)(o->sentence[0] - 'a' + 'A');
}
