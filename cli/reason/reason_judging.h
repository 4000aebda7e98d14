/* SPDX-License-Identifier: MIT */
#pragma once
/* What the rules of a reason share (rules.c, reason_ranks.c). Pure; one thread. */
#include "cli/reason/reason.h"

enum part { PART_IDLE, PART_COMM, PART_COPY, PARTS };

/* What every rule looks at: the reason to be, and the shares of the three parts that are not
 * computation. */
struct judging {
	struct reason *reason;
	const struct reason_figures *figures;
	const struct breakdown_row *row; /* of all */
	double pct[PARTS];
};

__attribute__((format(printf, 2, 3))) void reason_say(struct judging *j, const char *format, ...);
__attribute__((format(printf, 2, 3))) void reason_say_hint(
	struct judging *j, const char *format, ...);
double reason_percent(uint64_t part, uint64_t whole);
/* "9.8 ms" */
void reason_format_time(double ns, char ret[32]);
/* "rank 3", "process 7" where nobody knows the rank; with its GPU where the process has several. */
void reason_name_rank(
	const struct reason_figures *f, const struct reason_lane *lane, char *ret, size_t bytes);
void reason_capitalize(char *text);

/* A lane's kernels of one kind; none where they do not compute. */
struct reason_sum reason_computation(
	const struct reason_figures *f, const struct reason_lane *lane, size_t kind);
/* For people; in @buffer or of the kind itself. */
const char *reason_name_kind(const struct reason_kind *kind, char buffer[48]);

/* The rules: does it apply? Then it has said so. */
bool reason_event(struct judging *j);
bool reason_slow_rank(struct judging *j);
bool reason_late_rank(struct judging *j);
