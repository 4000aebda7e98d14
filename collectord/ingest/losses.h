/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What is missing of one process: per queue and reason how much, and when it went. Who counts
 * gives sums that only rise; what is new of a sum is put into an interval of time in which it was
 * lost. Intervals that adjoin become one, and of too many the two that are closest do, so that no
 * process makes them grow without bounds. Rows: rtl_loss_interval, and in rtl_loss one a reason.
 * Store thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectord/db/statements.h"
#include "proto/base/limits.h"

/* rtl_loss_interval_base.queueId of what is lost of a whole process. */
#define LOSSES_NO_QUEUE (-1)

/* When, and among which dispatches of the queue. */
struct loss_span {
	uint64_t from_ns; /* CLOCK_BOOTTIME; 0: unknown */
	uint64_t to_ns;
	bool has_seq;
	uint64_t first_seq; /* none before it */
	uint64_t last_seq;  /* none behind it */
};

struct loss_entry;
struct loss_sum;

struct losses {
	struct loss_entry *entries; /* by queue and reason */
	struct loss_sum *sums;	    /* by reason */
};

/* What one reason of one queue takes, at most. */
size_t losses_entry_bytes(void);

void losses_done(struct losses *losses);

/*
 * Of @reason (a literal: it is kept) @total were lost in @queue so far. -ENOMEM: nothing was
 * noted; with the next sum it is.
 */
int losses_note(struct losses *losses, int64_t queue, const char *reason, uint64_t total,
	const struct loss_span *span);

/* What was noted of it so far. */
uint64_t losses_total(const struct losses *losses, int64_t queue, const char *reason);

/*
 * Reads back the rows of a process; @known finds the literal of a reason, NULL: not one of ours.
 * @losses must be empty. -ENOMEM, database_errno().
 */
int losses_load(struct losses *losses, int64_t process_id, struct statements *statements,
	const char *(*known)(const char *reason));

/*
 * Writes what is new, as long as *@rows are left: 1 where more is. @uncounted: the reason whose
 * count nobody knows. database_errno().
 */
int losses_save(struct losses *losses, int64_t process_id, struct statements *statements,
	const char *uncounted, uint64_t *rows);
