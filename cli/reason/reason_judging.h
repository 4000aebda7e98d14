/* SPDX-License-Identifier: MIT */
#pragma once
/* Shared by the rules of a reason (rules.c, reason_ranks.c). Pure computation on one thread. */
#include "cli/reason/reason.h"

/* A hint where kernels were left out by choice. */
#define REASON_RECORD_ALL "rtl run without a choice of kernels and GPUs records all of them"

enum part { PART_IDLE, PART_COMM, PART_COPY, PARTS };

/* The state that every rule reads and writes: the reason under construction, and the shares of the
 * three parts other than computation. */
struct judging {
	struct reason *reason;
	const struct reason_figures *figures;
	const struct breakdown_row *row; /* sum over all lanes */
	double pct[PARTS];
};

__attribute__((format(printf, 2, 3))) void reason_say(struct judging *j, const char *format, ...);
__attribute__((format(printf, 2, 3))) void reason_say_hint(
	struct judging *j, const char *format, ...);
double reason_percent(uint64_t part, uint64_t whole);
/* Writes "9.8 ms". */
void reason_format_time(double ns, char ret[32]);
/* Writes "rank 3", or "process 7" if its rank is unknown, with the GPU if the process has
 * several. */
void reason_name_rank(
	const struct reason_figures *f, const struct reason_lane *lane, char *ret, size_t bytes);
void reason_capitalize(char *text);
/* Writes "sends between rank 1 and rank 2 take 4.0x the others", or nothing. */
void reason_say_link(const struct reason_figures *f, char *ret, size_t bytes);

/* Returns a lane's kernels of one kind; none unless the kind is computation. */
struct reason_sum reason_computation(
	const struct reason_figures *f, const struct reason_lane *lane, size_t kind);
/* Returns the kind's name for a sentence, written to @buffer or a constant. */
const char *reason_name_kind(const struct reason_kind *kind, char buffer[48]);

/* Rules: each returns true if it applies, after setting the text. */
bool reason_event(struct judging *j);
bool reason_slow_rank(struct judging *j);
bool reason_late_rank(struct judging *j);
