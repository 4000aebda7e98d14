/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The clock of one GPU as one process reads it: the line through its anchors, and the books on
 * what did not fit it. Store thread. The line and what is counted with it survive a ROLLBACK;
 * what is counted with rows is read back from the database, as the rows are.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collectord/ingest/tick_conversion.h"

struct process;
struct writer;

struct process_clock {
	struct tick_line line;
	uint64_t saved_ns; /* boottime of the last row of rtl_clock; 0: none */
	uint64_t rows;		/* of it, in this life of the collector ... */
	uint64_t rows_since_ns; /* ... by its own CLOCK_MONOTONIC */
	uint64_t anchors;
	uint64_t error_max_ns;
	uint64_t steps;
	uint64_t regressions;
	uint64_t refused;
	uint64_t early;
	uint64_t early_max_ns;
	bool is_dirty;
};

/* @hz 0: not known yet; process_clock_set_rate() or an anchor brings it. */
void process_clock_init(struct process_clock *clock, uint64_t hz);
void process_clock_set_rate(struct process_clock *clock, uint64_t hz);

/* Adds an anchor to the line of GPU @gpu and, at most once a second, to rtl_clock: not to that where
 * its tenant has more on the disk than it may, or the process has sent more than a clock needs. */
int process_clock_take(struct process *process, struct writer *writer, unsigned gpu,
	const struct tick_anchor *anchor);

/* A row was placed at @start_ns: counted when that is before @submit_ns by more than the error. */
void process_clock_check(
	struct process_clock *clock, uint64_t tick, uint64_t submit_ns, uint64_t start_ns);

/* Once: anchors and books of a process that came back. database_errno(). */
int process_clock_load(struct process *process, struct writer *writer);

/* After a ROLLBACK: what was counted with rows that are gone. */
int process_clock_reload(struct process *process, struct writer *writer);

/* The books, in the open transaction; into the counters of the ledger too. */
int process_clock_save(struct process *process, struct writer *writer);
