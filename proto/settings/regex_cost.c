// SPDX-License-Identifier: MIT
#include "proto/settings/regex_cost.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Of a pattern that is written out: what a variable of the environment can hold (128 KiB, 0.06 s
 * and 55 MB as 1,400 names); of all that is repeated in it, for regcomp() takes time and memory by
 * the square of that (1,024: 0.1 s, 16 MB); of alternatives, likewise (2,048: 17 MB); of what is
 * copied, and that times what is repeated (2^18: some 60 MB); of brackets within each other. */
#define PARTS_MAX	    (128u << 10)
#define REPEATED_MAX	    1024u
#define ALTERNATIVES_MAX    2048u
#define COPIED_MAX	    2048u
#define COPIED_REPEATED_MAX (1u << 18)
#define DEPTH_MAX	    32u
#define SET_NAME_MAX	    32u /* glibc's BRACKET_NAME_BUF_SIZE */
/* Number of times that one may go through a loop and match nothing. */
#define LOOP_TURNS	    3u

/* A sign, a set or a bracket, with what repeats it. */
struct item {
	uint64_t parts; /* written out */
	uint64_t bars;	/* of these, "|": regcomp() goes through, and nothing is matched */
	uint64_t head;	/* of these, what is met before anything is matched */
	/* One, and one for each way through anchors next to each other; regcomp() copies all that
	 * an anchor leads to, for each way to it. */
	uint64_t ways, copied;
	bool may_be_empty;
	bool is_bracket;
};

/* A quantifier, such as "+" or "{2,5}". */
struct quantifier {
	uint64_t times;		/* as often it is written out; 0: "{0}", or a brace that is none */
	uint64_t empty_matches; /* so many in a row may match nothing */
	bool may_be_none;
	bool is_endless;
};

/* A bracket, or the whole pattern, as far as it was read. */
struct bracket {
	struct item all; /* its alternatives before this one */
	uint64_t head, ways, most_ways;
	bool is_matching; /* something was */
};

static uint64_t at_most(uint64_t value, uint64_t most)
{
	return value < most ? value : most;
}

/* ---- what is repeated --------------------------------------------------------------------- */

/* Behind the name of "[:alpha:]", "[.x.]" or "[=x=]", @at, if it ends as far on as libc looks for
 * that (else it refuses the pattern); NULL. */
static const char *skip_name(const char *at)
{
	char kind = *at++;

	for (const char *end = at + strnlen(at, SET_NAME_MAX + 1); at < end; at++)
		if (at[0] == kind && at[1] == ']')
			return at + 2;
	return NULL;
}

/* Skips a set: @at is behind its opening bracket, the result behind its closing one. */
static const char *skip_set(const char *at)
{
	at += *at == '^';
	at += *at == ']';
	while (*at && *at != ']') {
		const char *end =
			at[0] == '[' && at[1] && strchr(":.=", at[1]) ? skip_name(at + 1) : NULL;

		at = end ? end : at + 1;
	}
	return *at ? at + 1 : at;
}

static uint64_t take_times(const char **at)
{
	uint64_t value = 0;

	for (; **at >= '0' && **at <= '9'; ++*at)
		value = at_most(value * 10 + (uint64_t)(**at - '0'), PARTS_MAX + 1);
	return value;
}

/* Reads a quantifier such as "{2,5}" after its brace. Returns how often at most its item is written
 * out. */
static uint64_t times_of(const char *at, struct quantifier *q)
{
	uint64_t first = take_times(&at), last = 0;

	q->may_be_none = !first;
	if (*at == ',' && at++) {
		q->is_endless = *at == '}';
		last = take_times(&at);
	}
	return first > last ? first : last;
}

static struct quantifier quantifier_of(char sign, const char *behind)
{
	struct quantifier q = {
		.times = 2,
		.empty_matches = sign == '?' ? 1 : LOOP_TURNS,
		.may_be_none = sign != '+',
		.is_endless = sign != '?',
	};

	if (sign == '{') {
		q.is_endless = false;
		q.times = q.empty_matches = times_of(behind, &q);
	}
	return q;
}

/* One @item after the other: what is copied, and the ways through. */
static void follow(struct item *before, const struct item *item)
{
	before->copied += item->copied + (before->ways - 1) * (item->head + item->copied);
	before->ways = item->may_be_empty ? before->ways * item->ways : item->ways;
	before->ways = at_most(before->ways, COPIED_MAX + 2);
}

static void repeat(struct item *item, const struct quantifier *q)
{
	const struct item one = *item;

	for (uint64_t i = 1; one.ways > 1 && i < q->empty_matches && item->copied <= COPIED_MAX;
		i++)
		follow(item, &one);
	item->may_be_empty |= q->may_be_none;
	if (!q->times)
		return;
	if (one.ways == 1)
		item->copied *= q->times;
	item->parts *= q->times;
	item->bars *= q->times;
	item->head *= q->times;
	/* "x?{0,9}": from each that may be left out an anchor leads through all behind it anew. */
	if (one.may_be_empty && q->times > 2)
		item->head *= q->times / 2;
}

/* ---- brackets ----------------------------------------------------------------------------- */

static void begin(struct bracket *bracket)
{
	*bracket = (struct bracket){.all.ways = 1, .ways = 1, .most_ways = 1};
}

static void add(struct bracket *bracket, const struct item *item)
{
	struct item before = {.ways = bracket->ways, .copied = bracket->all.copied};

	follow(&before, item);
	bracket->all.copied = before.copied;
	bracket->ways = before.ways;
	if (bracket->most_ways < before.ways)
		bracket->most_ways = before.ways;
	bracket->all.parts += item->parts;
	bracket->all.bars += item->bars;
	bracket->head += bracket->is_matching ? 0 : item->head;
	bracket->is_matching |= !item->may_be_empty;
}

static void end_alternative(struct bracket *bracket)
{
	bracket->all.head += bracket->head + !bracket->is_matching;
	bracket->all.ways += bracket->most_ways - 1;
	bracket->all.may_be_empty |= !bracket->is_matching;
	bracket->head = 0;
	bracket->ways = bracket->most_ways = 1;
	bracket->is_matching = false;
}

static struct item end(struct bracket *bracket)
{
	struct item item;

	end_alternative(bracket);
	item = bracket->all;
	item.parts++;
	item.is_bracket = true;
	/* A way around it is copied as well. */
	item.head *= item.may_be_empty ? 2 : 1;
	return item;
}

/* ---- a pattern ----------------------------------------------------------------------------- */

static struct item item_of(char sign, const char *behind)
{
	bool is_anchor = sign == '^' || sign == '$' ||
			 (sign == '\\' && *behind && strchr("bB<>`'", *behind));

	return (struct item){
		.parts = 1, .head = 1, .ways = is_anchor ? 2 : 1, .may_be_empty = is_anchor};
}

/* The part of the pattern that was read. */
struct pattern {
	struct bracket open[DEPTH_MAX + 1];
	unsigned depth;
	struct item last; /* in no bracket yet: what comes may repeat it */
	uint64_t repeated;
	bool goes_round; /* "(a*)*": something may be empty time after time */
	bool counts_empty;
};

static void count_empty_way(struct pattern *pattern)
{
	struct item *last = &pattern->last;

	if (pattern->counts_empty && last->may_be_empty && last->parts && last->ways == 1)
		last->ways = 2;
}

static void put_last(struct pattern *pattern)
{
	count_empty_way(pattern);
	add(&pattern->open[pattern->depth], &pattern->last);
	pattern->last = (struct item){.ways = 1, .may_be_empty = true};
}

static const char *trouble_of(const struct pattern *pattern)
{
	const struct item *all = &pattern->open[pattern->depth].all, *last = &pattern->last;
	uint64_t copied = all->copied + last->copied;

	if (last->is_bracket && last->parts <= last->bars + 1)
		return "brackets around nothing";
	if (pattern->repeated > REPEATED_MAX)
		return "too many repetitions within each other";
	if (all->parts + last->parts > PARTS_MAX)
		return "too long";
	if (all->bars + last->bars > ALTERNATIVES_MAX)
		return "too many alternatives";
	if (copied > COPIED_MAX || copied * pattern->repeated > COPIED_REPEATED_MAX)
		return "too much that may be empty next to each other, or of ^, $, \\b";
	return NULL;
}

/* Each of these returns a pointer behind what it took. */
static const char *take_quantifier(struct pattern *pattern, char sign, const char *at)
{
	struct quantifier q = quantifier_of(sign, at);
	bool is_more = sign != '?' && sign != '*' && q.times;

	count_empty_way(pattern);
	pattern->goes_round |= q.is_endless && pattern->last.may_be_empty;
	pattern->repeated += pattern->last.parts * (is_more ? q.times : 1);
	repeat(&pattern->last, &q);
	at += sign == '{' && q.times ? strcspn(at, "}") : 0;
	return at + (sign == '{' && *at == '}');
}

static void take_bracket(struct pattern *pattern)
{
	pattern->last = end(&pattern->open[pattern->depth--]);
	if (pattern->last.may_be_empty)
		pattern->repeated += pattern->last.parts;
}

static void take_bar(struct pattern *pattern)
{
	struct bracket *bracket = &pattern->open[pattern->depth];

	end_alternative(bracket);
	bracket->all.parts++;
	bracket->all.bars++;
}

/* With UTF-8 a quantifier repeats all bytes of a character; with single bytes it repeats less. */
static const char *take_character(struct pattern *pattern, const char *at)
{
	for (; ((uint8_t)*at & 0xc0) == 0x80; at++)
		pattern->last.parts++;
	return at;
}

static const char *take_sign(struct pattern *pattern, char sign, const char *at)
{
	pattern->last = item_of(sign, at);
	return sign == '[' ? skip_set(at) : take_character(pattern, at + (sign == '\\' && *at));
}

/*
 * regcomp() writes "x+" out as "xx*" and "x{9}" nine times, each within the next: thirty signs in a
 * row are more memory than there is. What may be empty it walks through anew for all that is
 * written out around it ("x?????????++++++": 16 s), so there it counts as if written twice. What an
 * anchor leads to it copies, and for the next one the copies: a hundred of "\b" are gigabytes. And
 * if anything may be empty time after time, like "(a*)*", it goes every way through all that may be
 * empty, as if these were anchors.
 */
static const char *measure(struct pattern *pattern, const char *text)
{
	const char *why = NULL;

	begin(&pattern->open[0]);
	pattern->last = (struct item){.ways = 1, .may_be_empty = true};
	while (*text && !why) {
		char sign = *text++;

		if (strchr("+{*?", sign)) {
			text = take_quantifier(pattern, sign, text);
			why = trouble_of(pattern);
			continue;
		}
		put_last(pattern);
		if (sign == '(' && pattern->depth == DEPTH_MAX)
			return "too many brackets within each other";
		if (sign == '(')
			begin(&pattern->open[++pattern->depth]);
		else if (sign == ')' && pattern->depth)
			take_bracket(pattern);
		else if (sign == '|')
			take_bar(pattern);
		else
			text = take_sign(pattern, sign, text);
		why = trouble_of(pattern);
	}
	put_last(pattern);
	return why ? why : trouble_of(pattern);
}

static const char *is_too_large(const char *text)
{
	struct pattern pattern = {0}, again = {.counts_empty = true};
	const char *why = measure(&pattern, text);

	return why || !pattern.goes_round ? why : measure(&again, text);
}

/* GNU's \1 to \9: matching may take for ever, in the program that dispatches. */
static bool refers_back(const char *text)
{
	while (*text) {
		char sign = *text++;

		if (sign == '\\' && *text >= '1' && *text <= '9')
			return true;
		text = sign == '[' ? skip_set(text) : text + (sign == '\\' && *text);
	}
	return false;
}

const char *pattern_trouble(const char *text)
{
	const char *why = is_too_large(text);

	return why ? why : refers_back(text) ? "refers back to what it has matched" : NULL;
}
