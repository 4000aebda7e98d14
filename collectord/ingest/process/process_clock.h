/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The clock of one GPU as one process reads it: the line through its anchors, and the counts of
 * what did not fit. Store thread. The line and the counts that belong to it survive a ROLLBACK; the
 * counts that belong to rows are read back from the database, as the rows are.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collectord/ingest/process/tick_conversion.h"

struct process;
struct writer;

struct process_clock {
	struct tick_line line;
	uint64_t saved_ns;	/* boottime of the last row of rtl_clock; 0: none */
	uint64_t rows;		/* rows written by this collector ... */
	uint64_t rows_since_ns; /* ... since this time, CLOCK_MONOTONIC */
	uint64_t anchors;
	uint64_t error_max_ns;
	uint64_t steps;
	uint64_t regressions;
	uint64_t refused;
	uint64_t early;
	uint64_t early_max_ns;
	bool is_dirty;
};

/* @hz 0: unknown until process_clock_set_rate() is called. */
void process_clock_init(struct process_clock *clock, uint64_t hz);
void process_clock_set_rate(struct process_clock *clock, uint64_t hz);

/*
 * Adds an anchor to the line of GPU @gpu and, at most once a second, to rtl_clock. It is not added
 * to rtl_clock if the tenant exceeds its disk quota, or if the process has sent more than a clock
 * needs.
 */
int process_clock_take(struct process *process, struct writer *writer, unsigned gpu,
	const struct tick_anchor *anchor);

/*
 * Checks a row that starts at @start_ns: counts it if that is before @submit_ns by more than the
 * error.
 */
void process_clock_check(
	struct process_clock *clock, uint64_t tick, uint64_t submit_ns, uint64_t start_ns);

/* Reads the anchors and counts of a process that has reconnected. Called once. database_errno(). */
int process_clock_load(struct process *process, struct writer *writer);

/* Called after a ROLLBACK: reads the counts whose rows are gone. */
int process_clock_reload(struct process *process, struct writer *writer);

/* Saves the counts in the open transaction and puts them into the counters of the ledger. */
int process_clock_save(struct process *process, struct writer *writer);
